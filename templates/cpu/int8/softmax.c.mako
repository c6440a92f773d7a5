## Softmax of each row through a table of exp(-d * sx): the sum in index order, two vectors of results
## at a time.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
d, t, k = layer.dim, layer.tail, layer.kernel
x, y, lanes = layer.operand("x"), layer.operand("y"), layer.kernel.lanes
wide = 2 * lanes
whole, left = d.K // wide * wide, d.K % wide
begin, end = k.over("B", d.B)
signed = 1 if y.ctype == "int8_t" else 0
steps = f"ma_load_f32(e) / total / {y.scale}, ma_load_f32(e + {lanes}) / total / {y.scale}, {t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}, MA_SIDE_BY_SIDE"
%>
${cores.open(layer, k.split)}
    _Static_assert(MA_LANES == ${lanes}, "vectors are as long as the project says");
    for (int32_t b = ${begin}; b < ${end}; ++b) {
        const ${x.ctype} *const from = x + b * ${d.K};
        ${y.ctype} *const to = y + b * ${d.K};
        float e[${wide}] = {0x0p+0f}, total = 0x0p+0f;
        int32_t most = from[0];
        for (int32_t i = 1; i < ${d.K}; ++i) {
            most = from[i] > most ? from[i] : most;
        }
        for (int32_t i = 0; i < ${d.K}; ++i) {
            total += table[most - from[i]];
        }
% if whole:
        for (int32_t i = 0; i < ${whole}; i += ${wide}) {
            for (int32_t j = 0; j < ${wide}; ++j) {
                e[j] = table[most - from[i + j]];
            }
            ma_store_steps2(to + i, NULL, ${steps});
        }
% endif
% if left:
        ${y.ctype} last[${wide}];
        for (int32_t j = 0; j < ${left}; ++j) {
            e[j] = table[most - from[${f"{whole} + j" if whole else "j"}]];
        }
        ma_store_steps2(last, NULL, ${steps});
        memcpy(to${f" + {whole}" if whole else ""}, last, ${left});
% endif
    }
${cores.close(layer, k.split)}
