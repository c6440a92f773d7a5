## Softmax of rows through a table of exp(-d * sx). A row's sum is in index order, so that an addition waits
## for the one before: those of several rows go side by side, and what they add is kept where it is not
## too much. Then two vectors of results at a time. Where a processor looks a table up for whole vectors, as many
## rows as they have lanes are turned and stand side by side in them.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
d, t, k = layer.dim, layer.tail, layer.kernel
x, y, lanes = layer.operand("x"), layer.operand("y"), layer.kernel.lanes
wide, rows = 2 * lanes, min(4, d.B)
whole, left = d.K // wide * wide, d.K % wide
kept = d.K <= 1024
columns = whole + wide * (left > 0) if kept else wide
begin, end = k.over("B", d.B)
turned = -(-d.K // lanes) * lanes
signed = 1 if y.ctype == "int8_t" else 0
def steps(at):
    return f"ma_load_f32(e[r]{at}) / total[r] / {y.scale}, ma_load_f32(e[r]{at} + {lanes}) / total[r] / {y.scale}, {t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}, MA_SIDE_BY_SIDE"
%>
${cores.open(layer, k.split)}
    _Static_assert(MA_LANES == ${lanes}, "vectors are as long as the project says");
% if k.pairs:
    int32_t first = ${begin};
    for (; first + ${lanes} <= ${end}; first += ${lanes}) {
        float e[${turned * lanes}];
        uint8_t turned[${turned * lanes}];
        const ma_f32 total = ma_softmax_entries(e, turned, x + first * ${d.K}, ${d.K}, table, ${k.pairs}, ${128 if x.ctype == "int8_t" else 0});
% if turned > d.K:
        memset(e + ${d.K * lanes}, 0, ${(turned - d.K) * lanes} * sizeof *e);
% endif
        for (int32_t i = 0; i < ${turned}; i += 4) {
            ma_f32 steps[4];
            for (int32_t j = 0; j < 4; ++j) {
                steps[j] = ma_load_f32(e + (i + j) * ${lanes}) / total / ${y.scale};
            }
            ma_store_steps4(turned + i * ${lanes}, 0, steps, ${t.low}, ${t.high}, ${t.zero_point}, ${t.lo}, ${signed}, MA_SIDE_BY_SIDE);
        }
        ma_turn_back(y + first * ${d.K}, turned, ${d.K});
    }
% endif
    float e[${rows}][${columns}] = {{0x0p+0f}};
    for (int32_t b = ${"first" if k.pairs else begin}; b < ${end}; b += ${rows}) {
        const int32_t count = ${end} - b < ${rows} ? ${end} - b : ${rows};
        const ${x.ctype} *from[${rows}]; /* the last row again where there are fewer */
        int32_t most[${rows}];
        float total[${rows}] = {0x0p+0f};
        for (int32_t r = 0; r < ${rows}; ++r) {
            from[r] = x + (b + (r < count ? r : count - 1)) * ${d.K};
            int32_t largest = from[r][0];
            for (int32_t i = 1; i < ${d.K}; ++i) {
                largest = from[r][i] > largest ? from[r][i] : largest;
            }
            most[r] = largest;
        }
        for (int32_t i = 0; i < ${d.K}; ++i) {
            #pragma GCC unroll ${rows}
            for (int32_t r = 0; r < ${rows}; ++r) {
% if kept:
                e[r][i] = table[most[r] - from[r][i]];
                total[r] += e[r][i];
% else:
                total[r] += table[most[r] - from[r][i]];
% endif
            }
        }
        for (int32_t r = 0; r < count; ++r) {
            ${y.ctype} *const to = y + (b + r) * ${d.K};
% if whole:
            for (int32_t i = 0; i < ${whole}; i += ${wide}) {
% if not kept:
                for (int32_t j = 0; j < ${wide}; ++j) {
                    e[r][j] = table[most[r] - from[r][i + j]];
                }
% endif
                ma_store_steps2(to + i, NULL, ${steps(" + i" if kept else "")});
            }
% endif
% if left:
            ${y.ctype} last[${wide}];
% if not kept:
            for (int32_t j = 0; j < ${left}; ++j) {
                e[r][j] = table[most[r] - from[r][${f"{whole} + j" if whole else "j"}]];
            }
% endif
            ma_store_steps2(last, NULL, ${steps(f" + {whole}" if kept else "")});
            memcpy(to${f" + {whole}" if whole else ""}, last, ${left});
% endif
        }
    }
${cores.close(layer, k.split)}
