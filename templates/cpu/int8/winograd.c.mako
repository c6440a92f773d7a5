## 3x3 conv2d in 8 bits by Winograd's F(m x m, 3 x 3): blocks of tiles of x are transformed, multiplied
## point by point with transformed weights, and the products transformed to sums.
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="tile" file="cpu/int8/tile.mako"/>
<%namespace name="taken" file="cpu/int8/sums.mako"/>
<%
k, d, w = layer.kernel, layer.dim, layer.window
x, y = layer.operand("x"), layer.operand("y")
m, points = k.tile.outputs, k.tile.points
side = m + 2
kinds = ([("whole", k.panel)] if k.panels else []) + ([("last", k.last)] if k.last else [])
wide = k.panel.vectors * k.lanes
rows, block = k.tile.registers.rows, k.tile.block
tiles = k.rows * k.columns
divided = k.split.dim if k.split else ""
# The last tiles of an image lie over those before them, which compute the same; other cores' rows do not.
over_rows = d.OY % m and (d.OY < m or divided == "OY")
over_columns = d.OX % m and d.OX < m
def place(number, name):
    """C expression of the row oy, or column ox, at which tile `number` begins."""
    first = f"({number}) / {k.columns} * {m}" if name == "oy" else f"({number}) % {k.columns} * {m}"
    size, beyond = (d.OY, over_rows) if name == "oy" else (d.OX, over_columns)
    if not size % m or beyond:
        return first
    return f"({first} < {size - m} ? {first} : {size - m})"
single = rows > 1 and min(k.counts) < rows
overlapping = any(count % rows for count in k.counts)
factor = layer.tail is not None
parameters = "".join(f", {one.parameter}" for one in k.sums)
def taken_by(image, panel):
    """What a panel takes of sums, as arguments."""
    element = f"{image} * {d.OY * d.OX * d.K} + {panel} * {wide}"
    return "".join(", " + one.origin(f"{panel} * {wide}", element) for one in k.sums)
%>
${data()}
% for name, panel in kinds:
% for count in ([rows] + ([1] if single else [])):

${products(f"{layer.symbol}_{name}{count}", count, panel)}
% endfor

${sums(f"{layer.symbol}_{name}_sums", panel)}

${walk(name, panel)}
% endfor

${cores.open(layer, k.split, k.part_bytes)}
    _Static_assert(MA_LANES == ${k.lanes}, "vectors are those that the weights were packed for");
    int16_t *const data = (int16_t *)scratch;
    int32_t *const products = (int32_t *)(scratch + ${k.data_bytes});
    ${x.ctype} *const seen = (${x.ctype} *)(scratch + ${k.data_bytes + k.sums_bytes});
    const int16_t *const transformed = (const int16_t *)(const void *)weight;
<%
b0, b1 = ("part_begin", "part_end") if divided == "B" else ("0", str(d.B))
t0, t1 = (f"part_begin / {m} * {k.columns}", f"(part_end + {m - 1}) / {m} * {k.columns}") if divided == "OY" else ("0", str(tiles))
%>
    for (int32_t b = ${b0}; b < ${b1}; ++b) {
        const ${x.ctype} *const image = x + b * ${w.rows * w.columns * d.C};
        ${y.ctype} *const to = y + b * ${d.OY * d.OX * d.K};
        const int32_t end = ${t1};
        for (int32_t first = ${t0}; first < end; first += ${block}) {
            const int32_t n = end - first < ${block} ? end - first : ${block};
            for (int32_t i = 0; i < n; ++i) {
                const int32_t oy = ${place("first + i", "oy")}, ox = ${place("first + i", "ox")};
                ${layer.symbol}_data(image, seen, data + i * ${k.channels}, oy${f" - {w.top}" if w.top else ""}, ox${f" - {w.left}" if w.left else ""});
            }
% for name, panel in kinds:
% if name == "whole":
<%
p0, p1 = (f"part_begin / {wide}", f"part_end / {wide}") if divided == "K" else ("0", str(k.panels))
%>
            for (int32_t panel = ${p0}; panel < ${p1}; ++panel) {
% elif divided == "K":
            if (part_end == ${d.K}) {
                const int32_t panel = ${k.panels};
% else:
            {
                const int32_t panel = ${k.panels};
% endif
                ${layer.symbol}_${name}(data, transformed + panel * ${points * k.channels * wide}, bias + panel * ${wide}, ${f"scale + panel * {wide}, " if factor else ""}products, to + panel * ${wide}${taken_by("b", "panel")}, first, n);
            }
% endfor
        }
    }
${cores.close(layer, k.split)}

## Transform what the tile sees whose first element of x is (iy, ix).
<%def name="data()">
<%
inside = [c for c in (
    "iy >= 0" if w.top else "", "ix >= 0" if w.left else "",
    f"iy <= {w.rows - side}", f"ix <= {w.columns - side}") if c]
if min(w.rows, w.columns) < side:
    inside = []
wide_data = 2 * k.lanes
short = x.ctype.split("_")[0].replace("uint", "u").replace("int", "i")
%>
static void ${layer.symbol}_points(const ${x.ctype} *x, int32_t line, int16_t *data)
{
    for (int32_t next = 0; next < ${d.C}; next += ${wide_data}) {
% if d.C % wide_data:
        const int32_t c = next + ${wide_data} > ${d.C} ? ${d.C - wide_data} : next;
% else:
        const int32_t c = next;
% endif
        ma_u16 down[${side}][${side}];
        #pragma GCC unroll ${side}
        for (int32_t j = 0; j < ${side}; ++j) {
            ma_u16 seen[${side}], made[${side}];
            #pragma GCC unroll ${side}
            for (int32_t i = 0; i < ${side}; ++i) {
                seen[i] = ma_words_${short}(x + i * line + j * ${d.C} + c);
            }
            ma_winograd${m}_data(seen, made);
            #pragma GCC unroll ${side}
            for (int32_t i = 0; i < ${side}; ++i) {
                down[i][j] = made[i];
            }
        }
        #pragma GCC unroll ${side}
        for (int32_t i = 0; i < ${side}; ++i) {
            ma_u16 made[${side}];
            ma_winograd${m}_data(down[i], made);
            #pragma GCC unroll ${side}
            for (int32_t j = 0; j < ${side}; ++j) {
                ma_store_u16(data + (i * ${side} + j) * ${k.data_pitch} + c, made[j]);
            }
        }
    }
}

static void ${layer.symbol}_data(const ${x.ctype} *x, ${x.ctype} *seen, int16_t *data, int32_t iy, int32_t ix)
{
% if inside:
    if (${" && ".join(inside)}) {
        ${layer.symbol}_points(x + (iy * ${w.columns} + ix) * ${d.C}, ${w.columns * d.C}, data);
        return;
    }
% endif
    for (int32_t i = 0; i < ${side}; ++i) {
        for (int32_t j = 0; j < ${side}; ++j) {
            ${x.ctype} *const to = seen + (i * ${side} + j) * ${d.C};
            if (iy + i < 0 || iy + i >= ${w.rows} || ix + j < 0 || ix + j >= ${w.columns}) {
                memset(to, ${x.zero_point}, ${d.C});
            } else {
                memcpy(to, x + ((iy + i) * ${w.columns} + ix + j) * ${d.C}, ${d.C});
            }
        }
    }
    ${layer.symbol}_points(seen, ${side * d.C}, data);
}
</%def>

## Sums of the products of `count` tiles at one point. Where weights come from far, the tiles of a point
## ask for those of the next one.
<%def name="products(name, count, panel)">
<%
across = panel.vectors * k.lanes
ask = k.fetch.every * k.group if k.fetch else k.channels
%>
MA_DOTS static void ${name}(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to${", const int16_t *next" if k.fetch else ""})
{
% for v in range(panel.vectors):
% for i in range(count):
    ma_u32 s${i}_${v} = ${f"ma_load_u32(start + {v * k.lanes})" if not i else f"s0_{v}"};
% endfor
% endfor
% if k.fetch:
    for (int32_t from = 0; from < ${k.channels}; from += ${ask}) {
% for at in range(k.fetch.lines):
    ma_fetch(next${f" + {at * 32}" if at else ""});
% endfor
    next += ${k.fetch.lines * 32};
% endif
% if ask // k.group <= 16:
    #pragma GCC unroll ${ask // k.group}
% endif
    for (int32_t i = ${"from" if k.fetch else 0}; i < ${f"from + {ask}" if k.fetch else k.channels}; i += ${k.group}, w += ${across * k.group}) {
% for v in range(panel.vectors):
        ${tile.weight(k, False, v, k.lanes)}
% endfor
% for i in range(count):
        ${tile.datum(k, i, k.channels)}
% for v in range(panel.vectors):
        ${tile.dot(k, i, v)}
% endfor
% endfor
    }
% if k.fetch:
    }
% endif
% for i in range(count):
% for v in range(panel.vectors):
    ma_store_u32(to + ${i * across + v * k.lanes}, s${i}_${v});
% endfor
% endfor
}
</%def>

## From the products of a tile to its outputs, `line` and `pixel` elements apart: a vector of channels
## after the other, so that what is on its way fits the registers.
<%def name="sums(name, panel)">
<%
t, lanes, vectors = layer.stored, k.lanes, panel.vectors
signed = 1 if y.ctype == "int8_t" else 0
bounds = f"{t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}" if t else ""
outputs = [(i, q) for i in range(m) for q in range(m)]
def steps(i, q):
    """C expression of what is stored of row i, pixel q."""
    made = f"ma_scaled(ma_winograd{m}_last(s{i}[{q}]), factor)"
    for one in k.sums:
        made = one.added(made, "", f"{one.name} + {i} * line + {q} * pixel + v")
    return made
%>
static void ${name}(const int32_t *from, ${"const float *scale, " if factor else ""}${y.ctype} *y${parameters}, int32_t line, int32_t pixel)
{
    for (int32_t v = 0; v < ${vectors * lanes}; v += ${lanes}) {
% for j in range(side):
        const ma_u32 seen${j}[${side}] = {${", ".join(f"ma_load_u32(from + {(i * side + j) * k.sums_pitch} + v)" for i in range(side))}};
        ma_u32 made${j}[${m}];
        ma_winograd${m}_sums(seen${j}, made${j});
% endfor
% for i in range(m):
        const ma_u32 row${i}[${side}] = {${", ".join(f"made{j}[{i}]" for j in range(side))}};
        ma_u32 s${i}[${m}];
        ma_winograd${m}_sums(row${i}, s${i});
% endfor
% if not factor:
% for i, q in outputs:
        ma_store_u32(y + ${i} * line + ${q} * pixel + v, (ma_u32)((ma_i32)ma_winograd${m}_last(s${i}[${q}]) >> ${k.shift}));
% endfor
% else:
        const ma_f32 factor = ma_load_f32(scale + v);
% for one in k.sums:
% if one.per_channel:
        const ma_f32 ${one.name}_ = ma_load_f32(${one.name} + v);
% endif
% endfor
% for i in range(m):
% if m == 4:
        ma_store_steps4(y + ${i} * line + v, pixel, (const ma_f32[]){${", ".join(steps(i, q) for q in range(m))}}, ${bounds}, MA_FOUR_PLACES);
% else:
        ma_store_steps2(y + ${i} * line + v, y + ${i} * line + pixel + v, ${steps(i, 0)}, ${steps(i, 1)}, ${bounds}, MA_TWO_PLACES);
% endif
% endfor
% endif
    }
}
</%def>

## All products of a block with a panel of weights, and its outputs. Tiles over the edge of the image,
## and channels that are fewer than lanes, go through `edge`.
<%def name="walk(name, panel)">
<%
across = panel.vectors * k.lanes
whole = panel.columns == across
odd = over_rows or over_columns
args = "scale, " if factor else ""
def within(offset):
    """Arguments of sums at an element of the image; at the edge's own where `offset` is ""."""
    moved = f" + ({offset})" if offset else "_edge"
    return "".join(f", {one.name}{'' if one.per_channel else moved}" for one in k.sums)
def call(count, at):
    ahead = ", ahead + asked" if k.fetch else ""
    return f"{layer.symbol}_{name}{count}(a + {at} * {k.channels}, w, start, sums + {at} * {across}{ahead});"
def more():
    if not k.fetch:
        return ""
    share, last = k.fetch.share // 2, k.fetch.last // 2
    return f"asked = asked + {share} < {last} ? asked + {share} : {last};"
%>
MA_DOTS static void ${layer.symbol}_${name}(const int16_t *data, const int16_t *w, const int32_t *bias, ${"const float *scale, " if factor else ""}int32_t *products, ${y.ctype} *y${parameters}, int32_t first, int32_t n)
{
    static const int32_t zeros[${across}];
    for (int32_t point = 0; point < ${points}; ++point, w += ${k.channels * across}) {
        const int16_t *const a = data + point * ${k.data_pitch};
        const int32_t *const start = point == ${side + 1} ? bias : zeros;
        int32_t *const sums = products + point * ${k.sums_pitch};
% if k.fetch:
        const int16_t *const ahead = w + ${k.channels * across}; /* of the next point */
        int32_t asked = 0;
% endif
% if rows == 1:
        for (int32_t i = 0; i < n; ++i) {
            ${call(1, "i")}
${more()}
        }
% else:
% if single:
        if (n < ${rows}) {
            for (int32_t i = 0; i < n; ++i) {
                ${call(1, "i")}
${more()}
            }
        } else
% endif
        for (int32_t next = 0; next < n; next += ${rows}) {
% if overlapping:
            const int32_t i = next + ${rows} > n ? n - ${rows} : next;
% else:
            const int32_t i = next;
% endif
            ${call(rows, "i")}
${more()}
        }
% endif
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t oy = ${place("first + i", "oy")}, ox = ${place("first + i", "ox")};
        ${y.ctype} *const to = y + (oy * ${d.OX} + ox) * ${d.K};
% if whole and odd:
        if (oy <= ${d.OY - m} && ox <= ${d.OX - m}) {
% endif
% if whole:
            ${layer.symbol}_${name}_sums(products + i * ${across}, ${args}to${within("to - y")}, ${d.OX * d.K}, ${d.K});
% endif
% if whole and odd:
            continue;
        }
% endif
% if odd or not whole:
        ${y.ctype} edge[${m * m * across}];
% for one in k.sums:
% if not one.per_channel:
        ${one.ctype} ${one.name}_edge[${m * m * across}] = {0};
        for (int32_t row = 0; row < ${m} && oy + row < ${d.OY}; ++row) {
            for (int32_t column = 0; column < ${m} && ox + column < ${d.OX}; ++column) {
                memcpy(${one.name}_edge + (row * ${m} + column) * ${across}, ${one.name} + (to - y) + (row * ${d.OX} + column) * ${d.K}, ${panel.columns});
            }
        }
% endif
% endfor
        ${layer.symbol}_${name}_sums(products + i * ${across}, ${args}edge${within("")}, ${m * across}, ${across});
        for (int32_t row = 0; row < ${m} && oy + row < ${d.OY}; ++row) {
            for (int32_t column = 0; column < ${m} && ox + column < ${d.OX}; ++column) {
                memcpy(to + (row * ${d.OX} + column) * ${d.K}, edge + (row * ${m} + column) * ${across}, ${panel.columns * (4 if not factor else 1)});
            }
        }
% endif
    }
}
</%def>
