## Layer norm along rows.
<% d = layer.dim %>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t b = 0; b < ${d.B}; ++b) {
        ma_norm_row(y + b * ${d.K}, x + b * ${d.K}, weight, bias, ${d.K}, ${layer.kernel.epsilon});
    }
}
