## Softmax along rows.
<% d = layer.dim %>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t b = 0; b < ${d.B}; ++b) {
        const float sum = ma_exp_row(y + b * ${d.K}, x + b * ${d.K}, ${d.K});
        ma_scale_row(y + b * ${d.K}, 1.0f / sum, ${d.K});
    }
}
