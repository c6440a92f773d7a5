## Depthwise convolution: along a row of output, vectors of pixels and channels side by side.
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="blocks" file="cpu/int8/blocks.mako"/>
<%namespace name="image" file="cpu/int8/image.mako"/>
<%
k, d, t, lanes = layer.kernel, layer.dim, layer.tail, layer.kernel.lanes
inside = len(k.blocks.loops)
x, y, weights = layer.operand("x"), layer.operand("y"), layer.operand("weight").ctype
narrow = weights == "int8_t"
images, line, row = (k.range(inside, dim) for dim in ("B", "OY", "OX"))
x_images, x_line, x_row = (k.range(k.prepare, dim) for dim in ("B", "OY", "OX"))
def away(value, origin):
    return value if origin == "0" else f"({value} - {origin})"
step = 2 if k.woven else 1
count = len(k.taps)
steps = -(-count // step)
filters = steps * step * k.wide
unrolled = count <= 16
signed = 1 if y.ctype == "int8_t" else 0
woven = 1 if k.woven else 0
size = 4 if t is None else 1
%>
${image.prepare_channelwise(layer, k)}

## Two vectors of sums from `a` on, stored to `y`.
MA_DOTS static inline void ${layer.symbol}_wide(const int16_t *a, const ${weights} *w, const int32_t *bias, ${"const float *scale, " if t else ""}${y.ctype} *y)
{
    ma_u32 s0 = ma_load_u32(bias), s1 = ma_load_u32(bias + ${lanes});
% if not unrolled:
    static const int32_t taps[${steps * step}] = {${", ".join(str(tap) for tap in (*k.taps, *([0] * (steps * step - count))))}};
    for (int32_t i = 0; i < ${steps * step}; i += ${step}, w += ${step * k.wide}) {
        ${tap("taps[i]", "taps[i + 1]", 0)}
    }
% else:
% for i in range(steps):
    {
        ${tap(k.taps[i * step], k.taps[i * 2 + 1] if k.woven and i * 2 + 1 < count else k.taps[i * step], i * step * k.wide)}
    }
% endfor
% endif
% if t is None:
    ma_store_sums(y, s0, s1, ${woven});
% else:
    const ma_f32 f0 = ma_load_f32(scale), f1 = ma_load_f32(scale + ${lanes});
    ma_store_steps2(y, NULL, ma_scaled(s0, f0), ma_scaled(s1, f1), ${t.low}, ${t.high}, ${t.zero_point}, ${t.lo}, ${signed}, ${"MA_WOVEN" if woven else "MA_SIDE_BY_SIDE"});
% endif
}

${cores.open(layer, k.split, k.part_bytes, attribute="MA_DOTS ")}
    _Static_assert(MA_LANES == ${lanes}, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
% for index in range(inside + 1):
% if index == k.prepare:
    ${layer.symbol}_prepare(x, image, ${x_images.start}, ${x_images.end}, ${x_line.start}, ${x_line.end}, ${x_row.start}, ${x_row.end});
% endif
% if index < inside:
    ${blocks.open(k.blocks.loops[index])}
% endif
% endfor
    for (int32_t b = ${images.start}; b < ${images.end}; ++b) {
    for (int32_t oy = ${line.start}; oy < ${line.end}; ++oy) {
        const int16_t *const from = image + ${away("b", x_images.start)} * ${k.rows * k.row} + ${away("oy", x_line.start)} * ${k.line * k.row} + ${away(row.start, x_row.start)} * ${d.G};
        ${y.ctype} *const to = y + ((b * ${d.OY} + oy) * ${d.OX} + ${row.start}) * ${d.G};
        const int32_t n = ${row.length} * ${d.G};
        for (int32_t period = 0; period < ${k.periods}; ++period) {
            const ${weights} *const w = weight + period * ${filters};
% if k.joined:
            for (int32_t i = period * ${k.wide}; i < n; i += ${k.periods * k.wide}) {
                const int32_t left = n - i;
% else:
            for (int32_t i = period * ${k.wide}; i < n; i += ${d.G}) {
                const int32_t left = ${d.G} - period * ${k.wide};
% endif
                if (left >= ${k.wide}) {
                    ${layer.symbol}_wide(from + i, w, bias + period * ${k.wide}, ${f"scale + period * {k.wide}, " if t else ""}to + i);
                } else {
                    ${y.ctype} edge[${k.wide}];
                    ${layer.symbol}_wide(from + i, w, bias + period * ${k.wide}, ${f"scale + period * {k.wide}, " if t else ""}edge);
                    memcpy(to + i, edge, (size_t)left${"" if size == 1 else " * 4"});
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

<%def name="tap(first, second, at)">
<%
lanes = layer.kernel.lanes
narrow = layer.operand("weight").ctype == "int8_t"
%>
% if layer.kernel.woven:
const ma_i16 p = ma_load_i16(a + ${first}), q = ma_load_i16(a + ${second});
% for half, name in enumerate(("low", "high")):
s${half} = ma_dot2(s${half}, ma_weave_${name}(p, q), ${"ma_widen_pairs" if narrow else "ma_load_i16"}(w + ${at + half * 2 * lanes}));
% endfor
% else:
% for half in range(2):
s${half} += ma_widen_i16(a + ${first} + ${half * lanes}) * ${"ma_widen_i8" if narrow else "ma_widen_i16"}(w + ${at + half * lanes});
% endfor
% endif
</%def>
