## Convolution of any stride, padding, dilation and groups. What a window sees of one group goes to
## scratch once, less the zero point and with zeros for padding; each output is then one dot product
## of constant length, in 16 bits, which compilers vectorise well.
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%
d = layer.dim
x = layer.operand("x")
channels, outputs, taps = d.G * d.C, d.G * d.K, d.FY * d.FX * d.C
# A filter row is one contiguous run of the image where nothing lies between its columns.
contiguous = d.G == 1 and layer.window.dx == 1
channel = "k" if d.G == 1 else f"g * {d.K} + k"
weight = f"weight[k * {taps} + i]" if d.G == 1 else f"weight[({channel}) * {taps} + i]"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    int16_t *const restrict patch = (int16_t *)scratch;
    ${window.open_pixels(layer)}
% if d.G > 1:
    for (int32_t g = 0; g < ${d.G}; ++g) {
% endif
% if layer.window.pads_rows or layer.window.pads_columns:
    for (int32_t i = 0; i < ${taps}; ++i) {
        patch[i] = 0;
    }
% endif
    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
% if contiguous:
        const int32_t run = (fx_end - fx_begin) * ${d.C};
        const int32_t at = ${window.under(layer, "fx_begin", channels)};
        const int32_t to = (fy * ${d.FX} + fx_begin) * ${d.C};
        for (int32_t i = 0; i < run; ++i) {
            patch[to + i] = (int16_t)${x.centred("x[at + i]")};
        }
% else:
        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
            const int32_t at = ${window.under(layer, "fx", channels)}${f" + g * {d.C}" if d.G > 1 else ""};
            const int32_t to = (fy * ${d.FX} + fx) * ${d.C};
            for (int32_t i = 0; i < ${d.C}; ++i) {
                patch[to + i] = (int16_t)${x.centred("x[at + i]")};
            }
        }
% endif
    }
    for (int32_t k = 0; k < ${d.K}; ++k) {
        int32_t acc = bias[${channel}];
        for (int32_t i = 0; i < ${taps}; ++i) {
            acc += patch[i] * ${weight};
        }
        ${tail.store(layer, "acc", channel, f"y[pixel * {outputs} + {channel}]")}
    }
% if d.G > 1:
    }
% endif
    ${window.close_pixels()}
}
