## A function of each 8-bit element: its 256 values lie in a table.
<%
index = "x[k]" if layer.operand("x").ctype == "uint8_t" else "(uint8_t)x[k]"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t k = 0; k < ${layer.dim.K}; ++k) {
        y[k] = table[${index}];
    }
}
