## Data in the form that the processor multiplies, with padding in place.

## Elements of one run of x, `count` of them.
<%def name="convert(k, x, element, to, source, count)">
for (int32_t i = 0; i < ${count}; ++i) {
${to}[i] = (${element})(${source}[i]${f" - {k.form.subtract}" if k.form.subtract > 0 else (f" + {-k.form.subtract}" if k.form.subtract else "")});
}
</%def>

<%def name="fill(value, to, count)">
for (int32_t i = 0; i < ${count}; ++i) {
${to}[i] = ${value};
}
</%def>

## Prepare a tile of x: images [b0, b1), groups [g0, g1), what output rows [oy0, oy1) and pixels
## [ox0, ox1) see.
<%def name="prepare(layer, k, element)">
<%
p, i, x, w = k.shape, k.image, layer.operand("x"), layer.window
d = layer.dim
channels = p.groups * p.inputs
zero = x.zero_point - k.form.subtract
(fy, fx) = p.taps
sy, sx, dy, dx, top, left = (w.sy, w.sx, w.dy, w.dx, w.top, w.left) if w else (1, 1, 1, 1, 0, 0)
height, width = (w.rows, w.columns) if w else (1, p.pixels)
line = sy // i.row_step
column = sx // i.column_step
def scaled(text, factor):
    return text if factor == 1 else f"{text} * {factor}"
def less(text, value):
    return text if not value else f"{text} - {value}"
together = p.groups == 1 and i.column_step == 1
%>
static void ${layer.symbol}_prepare(const ${x.ctype} *restrict x, ${element} *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = ${scaled("(oy1 - oy0 - 1)", line)} + ${(fy - 1) * dy + 1};
    const int32_t columns = ${scaled("(ox1 - ox0 - 1)", column)} + ${(fx - 1) * dx + 1};
    const int32_t ix = ${less(scaled("ox0", sx), left)};
% if together:
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = ${width} - ix < columns ? ${width} - ix : columns;
    const int32_t end = room > before ? room : before;
% endif
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = ${less(scaled("oy0", sy), top)} + ${scaled("row", i.row_step)};
                ${element} *const to = image + (b - b0) * ${i.image} + (g - g0) * ${i.group} + row * ${i.columns * p.inputs};
                if (iy < 0 || iy >= ${height}) {
                    ${fill(zero, "to", f"columns * {p.inputs}")}
                    continue;
                }
% if together:
                const ${x.ctype} *const from = x + ((b * ${height} + iy) * ${width} + ix + before) * ${channels};
                ${element} *const middle = to + before * ${channels};
                ${fill(zero, "to", f"before * {channels}")}
                ${convert(k, x, element, "middle", "from", f"(end - before) * {channels}")}
                ${element} *const behind = to + end * ${channels};
                ${fill(zero, "behind", f"(columns - end) * {channels}")}
% else:
                for (int32_t column = 0; column < columns; ++column) {
                    const int32_t at = ix + ${scaled("column", i.column_step)};
                    ${element} *const here = to + column * ${p.inputs};
                    if (at < 0 || at >= ${width}) {
                        ${fill(zero, "here", p.inputs)}
                        continue;
                    }
                    const ${x.ctype} *const from = x + ((b * ${height} + iy) * ${width} + at) * ${channels} + g * ${p.inputs};
                    ${convert(k, x, element, "here", "from", p.inputs)}
                }
% endif
            }
        }
    }
}
</%def>

## The same for depthwise convolution: all channels, columns by phase, less the zero point.
<%def name="prepare_channelwise(layer, k)">
<%
x, w, d = layer.operand("x"), layer.window, layer.dim
row_step = w.sy // k.line
reach = (d.FX - 1) * w.dx + 1
column_step = w.sx if k.phases == 1 else 1
def scaled(text, factor):
    return text if factor == 1 else f"{text} * {factor}"
def less(text, value):
    return text if not value else f"{text} - {value}"
%>
static void ${layer.symbol}_prepare(const ${x.ctype} *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = ${scaled("(oy1 - oy0 - 1)", k.line)} + ${(d.FY - 1) * w.dy + 1};
    const int32_t columns = ${scaled("(ox1 - ox0 - 1)", k.phases)} + ${reach};
    const int32_t ix = ${less(scaled("ox0", w.sx), w.left)};
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t row = 0; row < rows; ++row) {
            const int32_t iy = ${less(scaled("oy0", w.sy), w.top)} + ${scaled("row", row_step)};
            int16_t *const to = image + ((b - b0) * ${k.rows} + row) * ${k.row};
            if (iy < 0 || iy >= ${w.rows}) {
                memset(to, 0, ${k.row * 2});
                continue;
            }
            const ${x.ctype} *const from = x + (b * ${w.rows} + iy) * ${w.columns * d.G};
% if k.phases == 1 and column_step == 1:
            const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
            const int32_t room = ${w.columns} - ix < columns ? ${w.columns} - ix : columns;
            const int32_t end = room > before ? room : before;
            ${fill(0, "to", f"before * {d.G}")}
            const ${x.ctype} *const seen = from + (ix + before) * ${d.G};
            int16_t *const middle = to + before * ${d.G};
            for (int32_t i = 0; i < (end - before) * ${d.G}; ++i) {
                middle[i] = (int16_t)${x.centred("seen[i]")};
            }
            int16_t *const behind = to + end * ${d.G};
            ${fill(0, "behind", f"(columns - end) * {d.G}")}
% else:
            for (int32_t column = 0; column < columns; ++column) {
                const int32_t at = ix + ${scaled("column", column_step)};
% if k.phases > 1:
                int16_t *const here = to + (column % ${k.phases} * ${k.columns} + column / ${k.phases}) * ${d.G};
% else:
                int16_t *const here = to + column * ${d.G};
% endif
                if (at < 0 || at >= ${w.columns}) {
                    ${fill(0, "here", d.G)}
                    continue;
                }
                const ${x.ctype} *const seen = from + at * ${d.G};
                for (int32_t i = 0; i < ${d.G}; ++i) {
                    here[i] = (int16_t)${x.centred("seen[i]")};
                }
            }
% endif
        }
    }
}
</%def>
