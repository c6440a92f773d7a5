## Which filter positions lie inside the image, so that no element needs a test of its own.

## Declare ${f}_begin and ${f}_end: positions f with 0 <= start + f * dilation < extent.
<%def name="bounds(f, start, filter, dilation, extent, pads)">
% if not pads:
const int32_t ${f}_begin = 0, ${f}_end = ${filter};
% elif dilation == 1:
const int32_t ${f}_begin = ${start} < 0 ? -${start} : 0;
const int32_t ${f}_end = ${extent} - ${start} < ${filter} ? ${extent} - ${start} : ${filter};
% else:
const int32_t ${f}_begin = ${start} < 0 ? (${dilation - 1} - ${start}) / ${dilation} : 0;
const int32_t ${f}_room = (${extent + dilation - 1} - ${start}) / ${dilation};
const int32_t ${f}_end = ${f}_room < ${filter} ? ${f}_room : ${filter};
% endif
</%def>

## Open the loops over output pixels, with the bounds of the window in both directions. `over` gives
## where loops over a dimension begin and end, and what they stay below.
<%def name="open_pixels(layer, over=None)">
<%
d, w = layer.dim, layer.window
row = ("oy" if w.sy == 1 else f"oy * {w.sy}") + (f" - {w.top}" if w.top else "")
over = over or (lambda dim, size: ("0", str(size)))
column = ("ox" if w.sx == 1 else f"ox * {w.sx}") + (f" - {w.left}" if w.left else "")
%>
for (int32_t b = ${over("B", d.B)[0]}; b < ${over("B", d.B)[1]}; ++b) {
for (int32_t oy = ${over("OY", d.OY)[0]}; oy < ${over("OY", d.OY)[1]}; ++oy) {
const int32_t iy = ${row};
${bounds("fy", "iy", d.FY, w.dy, w.rows, w.pads_rows)}
for (int32_t ox = 0; ox < ${d.OX}; ++ox) {
const int32_t ix = ${column};
${bounds("fx", "ix", d.FX, w.dx, w.columns, w.pads_columns)}
const int32_t pixel = (b * ${d.OY} + oy) * ${d.OX} + ox;
</%def>

<%def name="close_pixels()">
}
}
}
</%def>

## Index of the first channel of the image position under filter position (fy, fx).
<%def name="under(layer, fx, channels)" filter="trim"><%
w = layer.window
row = "fy" if w.dy == 1 else f"fy * {w.dy}"
column = fx if w.dx == 1 else f"{fx} * {w.dx}"
%>((b * ${w.rows} + iy + ${row}) * ${w.columns} + ix + ${column}) * ${channels}</%def>
