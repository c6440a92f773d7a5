## A function of each 8-bit element: its 256 values lie in a table, looked up by vectors where there are
## instructions for it.
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    ma_look_up(table, x, y, ${layer.dim.K});
}
