## Depthwise convolution by dot products of bytes: along a row of output, a vector of bytes of pixels
## and channels at a time; rows of x in a ring.
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="blocks" file="cpu/int8/blocks.mako"/>
<%
k, d, t, w, lanes = layer.kernel, layer.dim, layer.tail, layer.window, layer.kernel.lanes
x, y = layer.operand("x"), layer.operand("y")
images, line = k.range("B"), k.range("OY")
groups = len(k.taps) // 4
signed = 1 if y.ctype == "int8_t" else 0
filters = groups * 4 * k.wide
given = "bias + period * {0}, scale + period * {0}".format(k.wide)
%>
${prepare(layer, k, x)}

## Sums of a vector of bytes, `at` elements from where rows begin, stored to `y`.
MA_DOTS static inline void ${layer.symbol}_wide(const uint8_t *const rows[${d.FY}], int32_t at, const int8_t *w, const int32_t *bias, const float *scale, ${y.ctype} *y)
{
% for v in range(4):
    ma_u32 s${v} = ma_load_u32(bias${f" + {v * lanes}" if v else ""});
% endfor
% for g in range(groups):
    {
% for i, name in enumerate("abcd"):
<% row, first = k.taps[4 * g + i] %>
        const ma_i8 ${name} = ma_load_i8((const int8_t *)(rows[${row}] + at${f" + {first}" if first else ""}));
% endfor
        const ma_i16 l0 = ma_weave_bytes_low(a, b), l1 = ma_weave_bytes_low(c, d);
        const ma_i16 h0 = ma_weave_bytes_high(a, b), h1 = ma_weave_bytes_high(c, d);
% for v, woven in enumerate(("low(l0, l1)", "high(l0, l1)", "low(h0, h1)", "high(h0, h1)")):
        s${v} = ma_dot4(s${v}, (ma_u32)ma_weave_${woven}, ma_load_i8(w + ${(g * 4 + v) * 4 * lanes}));
% endfor
    }
% endfor
    const ma_f32 steps[4] = {
% for v in range(4):
        ma_scaled(s${v}, ma_load_f32(scale${f" + {v * lanes}" if v else ""})),
% endfor
    };
    ma_store_steps4(y, 0, steps, ${t.low}, ${t.high}, ${t.zero_point}, ${t.lo}, ${signed}, MA_WOVEN);
}

${cores.open(layer, k.split, k.part_bytes, attribute="MA_DOTS ")}
    _Static_assert(MA_LANES == ${lanes}, "vectors are those that the weights were packed for");
% for loop_ in k.blocks.loops:
    ${blocks.open(loop_)}
% endfor
    for (int32_t b = ${images.start}; b < ${images.end}; ++b) {
    int32_t made = 0; /* rows, from the first that is seen on */
    for (int32_t oy = ${line.start}; oy < ${line.end}; ++oy) {
        const int32_t first = (oy - ${line.start}) * ${w.sy};
        for (made = made < first ? first : made; made < first + ${k.ring}; ++made) {
            ${layer.symbol}_prepare(x + b * ${w.rows * w.columns * d.G}, scratch + made % ${k.ring} * ${k.row}, ${line.start} * ${w.sy} - ${w.top} + made);
        }
        const uint8_t *const rows[${d.FY}] = {
% for fy in range(d.FY):
            scratch + (first + ${fy * w.dy}) % ${k.ring} * ${k.row},
% endfor
        };
        ${y.ctype} *const to = y + (b * ${d.OY} + oy) * ${d.OX * d.G};
        const int32_t n = ${d.OX * d.G};
        for (int32_t period = 0; period < ${k.periods}; ++period) {
            const int8_t *const w = weight + period * ${filters};
% if k.joined:
            for (int32_t i = period * ${k.wide}; i < n; i += ${k.periods * k.wide}) {
                const int32_t left = n - i;
% else:
            for (int32_t i = period * ${k.wide}; i < n; i += ${d.G}) {
                const int32_t left = ${d.G} - period * ${k.wide};
% endif
                if (left >= ${k.wide}) {
                    ${layer.symbol}_wide(rows, i, w, ${given}, to + i);
                } else {
                    ${y.ctype} edge[${k.wide}];
                    ${layer.symbol}_wide(rows, i, w, ${given}, edge);
                    memcpy(to + i, edge, (size_t)left);
                }
            }
        }
    }
    }
% for loop_ in k.blocks.loops:
% if loop_.variable:
    }
% endif
% endfor
${cores.close(layer, k.split)}

## A row of x as it is multiplied: row `iy` of an image, its padding in place, columns by phase.
<%def name="prepare(layer, k, x)">
<%
d, w = layer.dim, layer.window
columns = (d.OX - 1) * (w.sx // k.step) + (d.FX - 1) * w.dx + 1
before = min(w.left, columns)
real = max(0, min(w.columns, columns - before))
behind = columns - before - real
%>
static void ${layer.symbol}_prepare(const ${x.ctype} *restrict x, uint8_t *restrict to, int32_t iy)
{
    if (iy < 0 || iy >= ${w.rows}) {
        memset(to, ${k.pad}, ${k.row});
        return;
    }
    const ${x.ctype} *const from = x + iy * ${w.columns * d.G};
% if k.phases == 1 and k.step == 1:
% if before:
    memset(to, ${k.pad}, ${before * d.G});
% endif
    ${copied(k, f"to + {before * d.G}" if before else "to", "from", real * d.G)}
% if behind:
    memset(to + ${(before + real) * d.G}, ${k.pad}, ${behind * d.G});
% endif
% else:
    for (int32_t column = 0; column < ${columns}; ++column) {
        const int32_t ix = column${f" * {k.step}" if k.step > 1 else ""}${f" - {w.left}" if w.left else ""};
% if k.phases > 1:
        uint8_t *const here = to + (column % ${k.phases} * ${k.columns} + column / ${k.phases}) * ${d.G};
% else:
        uint8_t *const here = to + column * ${d.G};
% endif
        if (ix < 0 || ix >= ${w.columns}) {
            memset(here, ${k.pad}, ${d.G});
            continue;
        }
        ${copied(k, "here", f"from + ix * {d.G}", d.G)}
    }
% endif
}
</%def>

<%def name="copied(k, to, source, count)">
% if k.flip:
for (int32_t i = 0; i < ${count}; ++i) {
    (${to})[i] = (uint8_t)((${source})[i] ^ ${k.flip});
}
% elif count:
memcpy(${to}, ${source}, ${count});
% endif
</%def>
