## Convolution of any stride, padding, dilation and groups: a dot product per output.
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%
d = layer.dim
x = layer.operand("x")
channels, outputs = d.G * d.C, d.G * d.K
# A filter row is one contiguous run of the image where nothing lies between its columns.
contiguous = d.G == 1 and layer.window.dx == 1
channel = "k" if d.G == 1 else f"g * {d.K} + k"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    ${window.open_pixels(layer)}
% if contiguous:
    const int32_t run = (fx_end - fx_begin) * ${d.C};
% endif
% if d.G > 1:
    for (int32_t g = 0; g < ${d.G}; ++g) {
% endif
    for (int32_t k = 0; k < ${d.K}; ++k) {
        int32_t acc = bias[${channel}];
        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
% if contiguous:
            const int32_t at = ${window.under(layer, "fx_begin", channels)};
            const int32_t tap = ((k * ${d.FY} + fy) * ${d.FX} + fx_begin) * ${d.C};
            for (int32_t i = 0; i < run; ++i) {
                acc += ${x.centred("x[at + i]")} * weight[tap + i];
            }
% else:
            for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                const int32_t at = ${window.under(layer, "fx", channels)}${f" + g * {d.C}" if d.G > 1 else ""};
                const int32_t tap = (((${channel}) * ${d.FY} + fy) * ${d.FX} + fx) * ${d.C};
                for (int32_t i = 0; i < ${d.C}; ++i) {
                    acc += ${x.centred("x[at + i]")} * weight[tap + i];
                }
            }
% endif
        }
        ${tail.store(layer, "acc", channel, f"y[pixel * {outputs} + {channel}]")}
    }
% if d.G > 1:
    }
% endif
    ${window.close_pixels()}
}
