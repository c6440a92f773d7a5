## Norms of rows of bytes: of eight rows first what each is less and is multiplied by, so that their roots and
## divisions go beside each other, then their elements, four vectors at a time.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
d, t, k = layer.dim, layer.tail, layer.kernel
x, y, lanes = layer.operand("x"), layer.operand("y"), layer.kernel.lanes
wide, biased = 4 * lanes, layer.kind == "layer_norm"
whole, left = d.K // wide * wide, d.K % wide
begin, end = k.over("B", d.B)
signed, short = 1 if y.ctype == "int8_t" else 0, "i8" if x.ctype == "int8_t" else "u8"
def elements(source, at, to):
    """Statements that make `wide` elements."""
    return f"""ma_f32 steps[4];
for (int32_t j = 0; j < {wide}; j += {lanes}) {{
    const ma_f32 normal = ma_normal(ma_float_{short}({source} + j), {float(d.K).hex()}f, total[r], scale[r]);
    steps[j / {lanes}] = normal * ma_load_f32(weight + {at} + j){f" + ma_load_f32(bias + {at} + j)" if biased else ""};
}}
ma_store_steps4({to}, 0, steps, {t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}, MA_SIDE_BY_SIDE);"""
%>
${cores.open(layer, k.split, attribute="MA_DOTS ")}
    _Static_assert(MA_LANES == ${lanes}, "vectors are as long as the project says");
    for (int32_t b = ${begin}; b < ${end}; b += ${k.rows}) {
        const int32_t count = ${end} - b < ${k.rows} ? ${end} - b : ${k.rows};
        float total[${k.rows}], scale[${k.rows}];
        for (int32_t r = 0; r < count; ++r) {
            int64_t sum, squares;
            ma_sums_${short}(x + (b + r) * ${d.K}, ${d.K}, &sum, &squares);
% if biased:
            const int64_t spread = ${d.K} * squares - sum * sum;
            total[r] = (float)sum;
% else:
            const int64_t spread = ${d.K} * (squares - ${2 * x.zero_point} * sum + ${d.K * x.zero_point**2});
            total[r] = ${float(d.K * x.zero_point).hex()}f;
% endif
            scale[r] = ma_norm_scale(spread, ${k.step}, ${k.square}, ${k.epsilon});
        }
        for (int32_t r = 0; r < count; ++r) {
            const ${x.ctype} *const from = x + (b + r) * ${d.K};
            ${y.ctype} *const to = y + (b + r) * ${d.K};
% if whole:
            for (int32_t i = 0; i < ${whole}; i += ${wide}) {
                ${elements("from + i", "i", "to + i")}
            }
% endif
% if left:
            ${x.ctype} rest[${wide}] = {0};
            ${y.ctype} last[${wide}];
            memcpy(rest, from${f" + {whole}" if whole else ""}, ${left});
            ${elements("rest", whole, "last")}
            memcpy(to${f" + {whole}" if whole else ""}, last, ${left});
% endif
        }
    }
${cores.close(layer, k.split)}
