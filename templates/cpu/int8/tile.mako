## A register tile: `rows` pixels by the vectors of a panel.
<%namespace name="sums" file="cpu/int8/sums.mako"/>

## The function that sums, requantises and stores one tile.
<%def name="product(layer, k, name, rows, panel, element, weights, channels, own_scale)">
<%
p, f, t, lanes = k.shape, k.form, layer.stored, k.lanes
y = layer.operand("y")
run, vectors = p.padded_run(f.group), range(panel.vectors)
pixels = range(rows)
wide = panel.vectors * lanes
fy, runs = p.taps[0], p.runs
left = panel.columns - (panel.vectors - 1) * lanes
full = panel.vectors - (left < lanes)
signed = 1 if y.ctype == "int8_t" else 0
bounds = f"{t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}" if t else ""
short = run // f.group <= 16 and run // f.group * rows * panel.vectors <= 128
narrow = weights == "int8_t"
begun = not k.packed or k.packed.starts
lacking = k.packed and k.packed.rows
parameters = [f"const {element} *a", f"const {weights} *w"]
if begun:
    parameters.append("const int32_t *bias")
if lacking:
    parameters.append("const int32_t *lacking")
if t is not None:
    parameters.append("const float *scale")
parameters.append(f"{y.ctype} *y")
parameters += [one.parameter for one in k.sums]
if k.fetch:
    parameters.append(f"const {weights} *next")
if k.seen:
    parameters += ["int32_t first", "int32_t end"]
line = 64 if narrow else 32
# Whether a pixel reads, few steps later, what another one reads now: gcc looks eight steps ahead.
neighbours = rows > 1 and k.image.pixel <= 8 * f.group
tap = k.image.tap - (runs * k.image.run if runs > 1 else 0)
pieces = [(piece.begin, piece.end, piece.pixels) for piece in k.pieces] or [(0, run, pixels)]
def steps(i, v, edge=False):
    """C expression of the steps that are stored, of vector v of pixel i."""
    made = f"ma_scaled(s{i}_{v}, f{v})"
    for one in k.sums:
        made = one.added(made, v, f"{one.name}_edge + {i * lanes}" if edge else f"{one.name} + {i * channels + v * lanes}")
    return made
%>
MA_DOTS static void ${name}(${", ".join(parameters)})
{
% for i in pixels:
% for v in vectors:
% if lacking:
    ma_u32 s${i}_${v} = ${f"ma_load_u32(bias + {v * lanes}) + " if begun else "(ma_u32){0} + "}(uint32_t)lacking[${i}];
% elif begun and i == 0:
    ma_u32 s0_${v} = ma_load_u32(bias + ${v * lanes});
% elif begun:
    ma_u32 s${i}_${v} = s0_${v};
% else:
    ma_u32 s${i}_${v} = {0};
% endif
% endfor
% endfor
% if k.seen:
    a += first * ${k.image.tap};
    w += first * ${runs * run * wide};
    for (int32_t fy = first; fy < end; ++fy, a += ${tap}) {
% elif fy > 1:
    for (int32_t fy = 0; fy < ${fy}; ++fy, a += ${tap}) {
% endif
% if runs > 1:
    for (int32_t fx = 0; fx < ${runs}; ++fx, a += ${k.image.run}) {
% endif
% for begin, behind, who in pieces:
<% ask = k.fetch.every * f.group if k.fetch else behind - begin %>
% if not who:
    w += ${(behind - begin) * wide}; /* no pixel sees the image there */
<% continue %>
% endif
% if k.fetch:
    for (int32_t from = ${begin}; from < ${behind}; from += ${ask}) {
% for at in range(k.fetch.lines):
    ma_fetch(next${f" + {at * line}" if at else ""});
% endfor
    next += ${k.fetch.lines * line};
% endif
% if short:
    #pragma GCC unroll ${ask // f.group}
% elif f.dot == "plain" and ask % 4 == 0:
    #pragma GCC unroll 4
% endif
    for (int32_t i = ${"from" if k.fetch else begin}; i < ${f"from + {ask}" if k.fetch else behind}; i += ${f.group}, w += ${wide * f.group}) {
% if neighbours:
        MA_UNREAD(a);
% endif
% for v in vectors:
        ${weight(f, narrow, v, lanes)}
% endfor
% for i in who:
        ${datum(f, i, k.image.pixel)}
% for v in vectors:
        ${dot(f, i, v)}
% endfor
% endfor
    }
% if k.fetch:
    }
% endif
## gcc 12 would reorder what the loops share, and spill: 28 sums stay in registers so.
% if len(pieces) > 1:
% for i in pixels:
% for v in vectors:
    MA_KEEP(s${i}_${v});
% endfor
% endfor
% endif
% endfor
% if runs > 1:
    }
% endif
% if k.seen or fy > 1:
    }
% endif
% if t is None:
% for i in pixels:
% for v in vectors:
% if v == panel.vectors - 1 and left < lanes:
    memcpy(y + ${i * channels + v * lanes}, &s${i}_${v}, ${left * 4});
% else:
    ma_store_u32(y + ${i * channels + v * lanes}, s${i}_${v});
% endif
% endfor
% endfor
% else:
% for v in vectors:
    const ma_f32 f${v} = ${f"ma_load_f32(scale + {v * lanes})" if own_scale else "ma_splat_f32(scale[0])"};
% endfor
${sums.per_channel(k, panel.vectors)}
% if left < lanes:
    uint8_t edge[${2 * lanes}];
${sums.edges(k, rows, left, channels, full * lanes)}
% endif
<% fours, pair = full // 4 * 4, full % 4 // 2 %>
% for i in pixels:
% for v in range(0, fours, 4):
    ma_store_steps4(y + ${i * channels + v * lanes}, 0, (const ma_f32[]){${", ".join(steps(i, v + n) for n in range(4))}}, ${bounds}, MA_SIDE_BY_SIDE);
% endfor
% if pair and i % 2:
    ma_store_steps4(y + ${(i - 1) * channels + fours * lanes}, ${channels}, (const ma_f32[]){${", ".join(steps(i - 1 + n // 2, fours + n % 2) for n in range(4))}}, ${bounds}, MA_TWO_PLACES);
% elif pair and i == rows - 1:
    ma_store_steps2(y + ${i * channels + fours * lanes}, NULL, ${steps(i, fours)}, ${steps(i, fours + 1)}, ${bounds}, MA_SIDE_BY_SIDE);
% endif
% endfor
% if full % 2:
<% single = (full - 1) * lanes %>
% for i in range(0, rows // 4 * 4, 4):
    ma_store_steps4(y + ${i * channels + single}, ${channels}, (const ma_f32[]){${", ".join(steps(i + n, full - 1) for n in range(4))}}, ${bounds}, MA_FOUR_PLACES);
% endfor
% for i in range(rows // 4 * 4, rows - 1, 2):
    ma_store_steps2(y + ${i * channels + single}, y + ${(i + 1) * channels + single}, ${steps(i, full - 1)}, ${steps(i + 1, full - 1)}, ${bounds}, MA_TWO_PLACES);
% endfor
% if rows % 2:
    ma_store_steps(y + ${(rows - 1) * channels + single}, ${steps(rows - 1, full - 1)}, ${t.low}, ${t.high}, ${t.zero_point});
% endif
% endif
% if left < lanes:
% for i in range(0, rows - 1, 2):
    ma_store_steps2(edge, edge + ${lanes}, ${steps(i, full, True)}, ${steps(i + 1, full, True)}, ${bounds}, MA_SIDE_BY_SIDE);
    memcpy(y + ${i * channels + full * lanes}, edge, ${left});
    memcpy(y + ${(i + 1) * channels + full * lanes}, edge + ${lanes}, ${left});
% endfor
% if rows % 2:
    ma_store_steps(edge, ${steps(rows - 1, full, True)}, ${t.low}, ${t.high}, ${t.zero_point});
    memcpy(y + ${(rows - 1) * channels + full * lanes}, edge, ${left});
% endif
% endif
% endif
}
</%def>

<%def name="weight(f, narrow, v, lanes)">
% if f.group == 4:
const ma_i8 w${v} = ma_load_i8(w + ${v * lanes * 4});
% elif f.group == 2:
const ma_i16 w${v} = ${"ma_widen_pairs" if narrow else "ma_load_i16"}(w + ${v * lanes * 2});
% else:
const ma_u32 w${v} = ${"ma_widen_i8" if narrow else "ma_widen_i16"}(w + ${v * lanes});
% endif
</%def>

<%def name="datum(f, i, pixel)">
<% place = f"a + {i * pixel} + i" if i else "a + i" %>
% if f.group == 4:
const ma_u32 a${i} = ma_splat_bytes(${place});
% elif f.group == 2:
const ma_i16 a${i} = (ma_i16)ma_splat_bytes(${place});
% else:
const uint32_t a${i} = (uint32_t)(int32_t)*(${place});
% endif
</%def>

<%def name="dot(f, i, v)">
% if f.group == 4:
s${i}_${v} = ma_dot4(s${i}_${v}, a${i}, w${v});
% elif f.group == 2:
s${i}_${v} = ma_dot2(s${i}_${v}, a${i}, w${v});
% else:
s${i}_${v} += a${i} * w${v};
% endif
</%def>

## The rows of the filter between which line `oy` sees the image: the first one, the one behind the last.
<%def name="rows_seen(layer, taps)">
<%
w = layer.window
(sy, dy) = (w.sy, w.dy)
at = f"oy * {sy}" if sy > 1 else "oy"
def above(row):
    """How many rows of the filter lie above a row of the image, as text; none or less: <= 0."""
    missing = f"{row + w.top} - {at}"
    return missing if dy == 1 else f"({missing} + {dy - 1}) / {dy}"
%>
const int32_t above = ${above(0)}, until = ${above(w.rows)};
const int32_t first = above > 0 ? above : 0, behind = until < ${taps} ? until : ${taps};
</%def>

## All pixels of a block, tile by tile; the last tile overlaps the one before it.
<%def name="walk(layer, k, name, small, row, line, x_row, x_line, b, channels, own_scale)">
<%
p, rows = k.shape, k.rows
direct = k.image.direct
lacking = k.packed and k.packed.rows
extra = (["start"] if not k.packed or k.packed.starts else []) + (["lacking + i"] if lacking else []) + ([("factor" if own_scale else "scale")] if layer.tail is not None else [])
def away(value, origin):
    return value if origin == "0" or direct else f"({value} - {origin})"
def plus(terms):
    return "".join(f" + {term}" for term in terms if term)
def scaled(text, factor):
    return "" if text == "0" or factor == 0 else (text if factor == 1 else f"{text} * {factor}")
fetched = k.fetch is not None
element = 1 if layer.operands[1].ctype == "int8_t" else 2
ahead = ["ahead + asked"] if fetched else []
if k.seen:
    ahead += ["first", "behind"]
def call(count, a, to):
    taken = [one.name if one.per_channel else f"{one.name}{to}" for one in k.sums]
    return f"{layer.symbol}_{name}{count}({', '.join([f'from{a}', 'w', *extra, f'to{to}', *taken, *ahead])});"
def more():
    if not fetched:
        return ""
    share, last = k.fetch.share // element, k.fetch.last // element
    return f"asked = asked + {share} < {last} ? asked + {share} : {last};"
pixels = f"{row.length} * {line.length}" if k.flat else row.length
least = row.least * line.least if k.flat else row.least
fixed = (row.fixed * line.fixed if row.fixed and line.fixed else None) if k.flat else row.fixed
image = scaled(b, p.lines * p.pixels * channels) if p.outer else ""
%>
% if fetched:
const ${layer.operands[1].ctype} *const ahead = w + ${k.steps * (k.panel if name == "whole" else k.last).vectors * k.lanes}; /* the next panel */
int32_t asked = 0;
% endif
% if k.flat:
const int32_t n = ${pixels};
<%
a0 = scaled(away(line.start, x_line.start), k.image.line)
y0 = scaled(line.start, p.pixels * channels)
%>
% else:
% if p.line:
for (int32_t oy = ${line.start}; oy < ${line.end}; ++oy) {
% endif
% if k.seen:
${rows_seen(layer, p.taps[0])}
% endif
const int32_t n = ${row.length};
<%
a0 = (scaled(away("oy", x_line.start), k.image.line) if p.line else "")
a1 = scaled(away(row.start, x_row.start), k.image.pixel)
y0 = (scaled("oy", p.pixels * channels) if p.line else "")
y1 = scaled(row.start, channels)
a0, y0 = " + ".join(t for t in (a0, a1) if t), " + ".join(t for t in (y0, y1) if t)
%>
% endif
% if rows == 1 or (fixed is not None and fixed % rows == 0):
for (int32_t i = 0; i < n; i += ${rows}) {
${call(rows, plus([a0, scaled("i", k.image.pixel)]), plus([image, y0, scaled("i", channels)]))}
${more()}
}
% else:
% if small:
if (n < ${rows}) {
for (int32_t i = 0; i < n; ++i) {
${call(1, plus([a0, scaled("i", k.image.pixel)]), plus([image, y0, scaled("i", channels)]))}
${more()}
}
} else
% endif
for (int32_t next = 0; next < n; next += ${rows}) {
const int32_t i = next + ${rows} > n ? n - ${rows} : next;
${call(rows, plus([a0, scaled("i", k.image.pixel)]), plus([image, y0, scaled("i", channels)]))}
${more()}
}
% endif
% if not k.flat and p.line:
}
% endif
</%def>
