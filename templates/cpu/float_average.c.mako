## Average over a sliding window in float32, down each column and then across, channels innermost.
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%namespace name="blocks" file="cpu/blocks.mako"/>
<%
d = layer.dim
x, y = layer.operand("x"), layer.operand("y")
block = min(d.G, 64)
inside = "(fy_end - fy_begin) * (fx_end - fx_begin)"
count = d.FY * d.FX if layer.window.count_include_pad else inside
real = f"(acc[j] / count) / {y.scale}"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    ${window.open_pixels(layer)}
    const float count = (float)(${count});
    ${blocks.open_block(d.G, block, "float")}
        for (int32_t j = 0; j < n; ++j) {
            acc[j] = 0x0p+0f;
        }
        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
            float column[${block}] = {0x0p+0f};
            for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                const int32_t at = ${window.under(layer, "fx", d.G)} + c0;
                for (int32_t j = 0; j < n; ++j) {
                    column[j] += (float)${x.centred("x[at + j]")} * ${x.scale};
                }
            }
            for (int32_t j = 0; j < n; ++j) {
                acc[j] += column[j];
            }
        }
        for (int32_t j = 0; j < n; ++j) {
            ${tail.saturate(layer.tail, real, f"y[pixel * {d.G} + c0 + j]", y.ctype)}
        }
    }
    ${window.close_pixels()}
}
