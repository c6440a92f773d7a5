## Attention: the scores of a block of query rows stay in the first cache until they are used.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k = layer.kernel
d = layer.dim
scores, values = f"{layer.symbol}_scores", f"{layer.symbol}_values"
more = lambda m, n: f", {k.masked(f'(first + {m})', n)}" if k.scores.ending.residual else ""
scaled = lambda m, n: f", scale + {m}"
%>
_Static_assert(MA_LANES == ${k.scores.tile.lanes}, "tiles are of vectors of ${k.scores.tile.lanes} elements");
${micro.tiles(scores, k.scores)}
${micro.tiles(values, k.values)}

${cores.open(layer, k.split, k.part_bytes)}
    float *const keys = (float *)(void *)scratch;
    float *const sums = keys + ${k.scores.packed};
    float *const weights = sums + ${k.values.packed};
    float *const scale = weights + ${k.block * k.line};
    for (int32_t b = ${k.over("B", d.B)[0]}; b < ${k.over("B", d.B)[1]}; ++b) {
        for (int32_t g = ${k.over("G", d.G)[0]}; g < ${k.over("G", d.G)[1]}; ++g) {
            const float *const key = x1 + b * ${d.OX * d.G * d.C} + g * ${d.C};
            const float *const value = x2 + b * ${d.OX * d.G * d.K} + g * ${d.K};
% for panel in k.scores.panels:
            for (int32_t n = ${panel.start}; n < ${d.OX if k.any_keys else panel.stop}; n += ${panel.width}) {
% if k.any_keys:
                const int32_t left = ${d.OX} - n < ${panel.width} ? ${d.OX} - n : ${panel.width};
% endif
                ma_pack_columns(keys + n * ${d.C}, key + n * ${d.G * d.C}, ${d.C}, ${panel.width}, ${"left" if k.any_keys else panel.elements}, ${d.G * d.C});
            }
% endfor
% for panel in k.values.panels:
            for (int32_t n = ${panel.start}; n < ${panel.stop}; n += ${panel.width}) {
                ma_pack_rows(sums + n * ${d.OX}, value + n, ${d.OX}, ${panel.width}, ${panel.elements}, ${d.G * d.K});
            }
% endfor
            for (int32_t first = 0; first < ${d.OY}; first += ${k.block}) {
                const int32_t rows = ${d.OY} - first < ${k.block} ? ${d.OY} - first : ${k.block};
                const float *const query = x + (b * ${d.OY} + first) * ${d.G * d.C} + g * ${d.C};
                float *const result = y + (b * ${d.OY} + first) * ${d.G * d.K} + g * ${d.K};
                ${micro.cover(scores, k.scores, "0", "rows", "query", "keys", "weights", more, n_hi=str(d.OX))}
                for (int32_t m = 0; m < rows; ++m) {
% if k.mask and k.any_keys:
                    ma_add_row(weights + m * ${k.line}, ${k.masked("(first + m)", "0")}, ${d.OX});
% endif
                    scale[m] = 1.0f / ma_exp_row(weights + m * ${k.line}, weights + m * ${k.line}, ${d.OX});
                }
                ${micro.cover(values, k.values, "0", "rows", "weights", "sums", "result", scaled, inner=d.OX)}
            }
        }
    }
${cores.close(layer, k.split)}
