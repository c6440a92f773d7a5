## A convolution, or a dense layer, on one tile that lies in the scratchpad. docs/targets.md says what
## `layer` and a view have; replace the loops by what your hardware does.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="tail" file="cpu/tail.mako"/>
<%
at = {o.name: i for i, o in enumerate(layer.operands)}
w, x, weight, y = layer.window, layer.operand("x"), layer.operand("weight"), layer.operand("y")
inner = len(y.shape) - 1
%>
${tiles.table(layer)}

/* ${layer.summary} */
static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct ma_view *const vx = t->view[${at["x"]}], *const vw = t->view[${at["weight"]}];
    const struct ma_view *const vy = t->view[${at["y"]}];
    const ${x.ctype} *const x = (const void *)ma_at(t, vx);
    const ${weight.ctype} *const weight = (const void *)ma_at(t, vw);
## `bias` and `scale` of the model's arithmetic; of the chip's own `multiplier` and `offset` (README.md).
% for name in ("bias", "scale", "multiplier", "offset"):
% if name in at:
    const ${layer.operand(name).ctype} *const ${name} = (const void *)ma_at(t, t->view[${at[name]}]);
% endif
% endfor
    ${y.ctype} *const y = (void *)ma_at(t, vy);
    (void)context;
    ma_tile_arrive(t);
    for (int32_t b = 0; b < vy->extent[0]; ++b) {
% if w:
        for (int32_t oy = 0; oy < vy->extent[1]; ++oy) {
            for (int32_t ox = 0; ox < vy->extent[2]; ++ox) {
% endif
        for (int32_t k = 0; k < vy->extent[${inner}]; ++k) {
            int32_t acc = ${"bias[k]" if "bias" in at else 0};
% if w:
            for (int32_t tap = 0; tap < ${layer.dim.FY * layer.dim.FX}; ++tap) {
                const int32_t fy = tap / ${layer.dim.FX}, fx = tap % ${layer.dim.FX};
                const int32_t row = oy * ${w.sy} + fy * ${w.dy} - vx->before[1];
                const int32_t column = ox * ${w.sx} + fx * ${w.dx} - vx->before[2];
                if (row < 0 || row >= vx->extent[1] || column < 0 || column >= vx->extent[2]) {
                    continue;
                }
                const int32_t in = b * vx->stride[0] + row * vx->stride[1] + column * vx->stride[2];
                const int32_t filter = k * vw->stride[0] + fy * vw->stride[1] + fx * vw->stride[2];
                for (int32_t c = 0; c < vx->extent[3]; ++c) {
                    acc += ${x.centred("x[in + c]")} * weight[filter + c];
                }
            }
            const int32_t out = b * vy->stride[0] + oy * vy->stride[1] + ox * vy->stride[2] + k;
            ${tail.store(layer, "acc", "k", "y[out]")}
        }
            }
        }
% else:
            for (int32_t c = 0; c < vx->extent[1]; ++c) {
                acc += ${x.centred("x[b * vx->stride[0] + c]")} * weight[k * vw->stride[0] + c];
            }
            ${tail.store(layer, "acc", "k", "y[b * vy->stride[0] + k]")}
        }
% endif
    }
    return 0;
}
${tiles.function(layer, "{%s_start, NULL, NULL}" % layer.symbol)}
