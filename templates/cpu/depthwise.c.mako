## Depthwise convolution, one output channel per input channel; weights packed to [FY, FX, G].
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%namespace name="blocks" file="cpu/blocks.mako"/>
<%
d = layer.dim
x = layer.operand("x")
block = min(d.G, 64)
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    ${window.open_pixels(layer)}
    ${blocks.open_block(d.G, block)}
        for (int32_t j = 0; j < n; ++j) {
            acc[j] = bias[c0 + j];
        }
        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
            for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                const int32_t at = ${window.under(layer, "fx", d.G)} + c0;
                const int32_t tap = (fy * ${d.FX} + fx) * ${d.G} + c0;
                for (int32_t j = 0; j < n; ++j) {
                    acc[j] += ${x.centred("x[at + j]")} * weight[tap + j];
                }
            }
        }
        for (int32_t j = 0; j < n; ++j) {
            ${tail.store(layer, "acc[j]", "c0 + j", f"y[pixel * {d.G} + c0 + j]")}
        }
    }
    ${window.close_pixels()}
}
