## conv2d, dense and matmul in 8 bits: data in the form that the processor multiplies, then register
## tiles of pixels by channels whose sums never leave the registers.
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="blocks" file="cpu/int8/blocks.mako"/>
<%namespace name="image" file="cpu/int8/image.mako"/>
<%namespace name="tile" file="cpu/int8/tile.mako"/>
<%namespace name="columns" file="cpu/int8/columns.mako"/>
<%
k, p = layer.kernel, layer.kernel.shape
inside = len(k.blocks.loops)
x, y = layer.operand("x"), layer.operand("y")
prepared = k.form.element + "_t"
weights = k.packed.element + "_t" if k.packed else layer.operands[1].ctype
channels = p.groups * p.outputs
wide = k.panel.columns
requantised = layer.tail is not None
own_scale = requantised and not k.packed
n_cols = k.range(inside, "K")
row, line = k.range(inside, p.pixel), k.range(inside, p.line)
images, groups = k.range(inside, p.outer), k.range(inside, "G")
x_row, x_line = k.range(k.prepare, p.pixel), k.range(k.prepare, p.line)
x_images, x_groups = k.range(k.prepare, p.outer), k.range(k.prepare, "G")
x1_images = k.range(k.pack, p.outer)
small = 1 if k.rows > 1 and not k.flat and row.least < k.rows else 0
if k.flat:
    small = 1 if k.rows > 1 and row.least * line.least < k.rows else 0
def away(value, origin):
    """value - origin, as text."""
    return value if origin == "0" else f"({value} - {origin})"
def times(expression, factor):
    if expression == "0" or factor == 0:
        return ""
    return f" + {expression}" if factor == 1 else f" + {expression} * {factor}"
def at(b, g, oy, ox):
    """Offset of prepared data of an output pixel."""
    i = k.image
    if i.direct:
        return "0" + times(b, i.image) + times(oy, i.line) + times(ox, i.pixel)
    return "0" + times(away(b, x_images.start), i.image) + times(away(g, x_groups.start), i.group) + times(away(oy, x_line.start), i.line) + times(away(ox, x_row.start), i.pixel)
kinds = ([("whole", k.panel)] if k.panels else []) + ([("last", k.last)] if k.last else [])
%>
% if not k.image.direct:
${image.prepare(layer, k, prepared)}
% endif
% if k.packed:
${columns.pack(layer, k)}
% endif
% for name, panel in kinds:
% for rows in ([k.rows] + ([1] if small else [])):

${tile.product(layer, k, f"{layer.symbol}_{name}{rows}", rows, panel, prepared, weights, channels, own_scale)}
% endfor
% endfor

${cores.open(layer, k.split, k.part_bytes, attribute="MA_DOTS ")}
    _Static_assert(MA_LANES == ${k.lanes}, "vectors are those that the weights were packed for");
% if not k.image.direct:
    ${prepared} *const image = (${prepared} *)scratch;
% endif
% if k.packed:
    ${weights} *const packed = (${weights} *)(scratch + ${k.image_bytes});
% if k.packed.starts:
    int32_t *const starts = (int32_t *)(scratch + ${k.image_bytes + k.packed.starts_at});
% endif
% if k.packed.rows:
    int32_t *const rows = (int32_t *)(scratch + ${k.image_bytes + k.packed.rows_at});
% endif
% endif
% for index in range(inside + 1):
% if index == k.prepare and not k.image.direct:
    ${layer.symbol}_prepare(x, image, ${x_images.start}, ${x_images.end}, ${x_groups.start}, ${x_groups.end}, ${x_line.start}, ${x_line.end}, ${x_row.start}, ${x_row.end});
% endif
% if index == k.pack and k.packed:
    ${layer.symbol}_pack(x1, packed, ${x1_images.start}, ${x1_images.end});
% if k.packed.starts:
    ${layer.symbol}_starts(packed, starts, ${x1_images.end} - ${x1_images.start});
% endif
% endif
% if index == k.prepare and k.packed and k.packed.rows:
    ${layer.symbol}_rows(x, rows, ${x_images.start}, ${x_images.end}, ${x_row.start}, ${x_row.end});
% endif
% if index < inside:
    ${blocks.open(k.blocks.loops[index])}
% endif
% endfor
% if p.outer:
    for (int32_t b = ${images.start}; b < ${images.end}; ++b) {
% endif
% if p.groups > 1:
    for (int32_t g = ${groups.start}; g < ${groups.end}; ++g) {
% endif
% for name, panel in kinds:
<%
b, g = ("b" if p.outer else "0"), ("g" if p.groups > 1 else "0")
base = f"g * {k.group_columns * k.steps}" if p.groups > 1 else "0"
bias_base = f"g * {k.group_columns}" if p.groups > 1 else "0"
first = f"(({n_cols.start} + {wide - 1}) / {wide})" if n_cols.start != "0" else "0"
%>
% if name == "whole":
<%
end = str(k.panels) if n_cols.fixed == p.outputs else f"(({n_cols.end} + {wide - 1}) / {wide})"
%>
    for (int32_t panel = ${first}; panel < ${end}${f" && panel < {k.panels}" if n_cols.fixed != p.outputs else ""}; ++panel) {
% else:
    {
    const int32_t panel = ${k.panels};
% if n_cols.fixed != p.outputs:
    if (panel * ${wide} >= ${n_cols.start} && panel * ${wide} < ${n_cols.end})
% endif
    {
% endif
% if k.packed:
        const ${weights} *const w = packed + ${away(b, x1_images.start)} * ${k.group_columns * k.steps} + panel * ${wide * k.steps};
% if k.packed.starts:
        const int32_t *const start = starts + ${away(b, x1_images.start)} * ${k.group_columns} + panel * ${wide};
% endif
% if k.packed.rows:
        const int32_t *const lacking = rows + ${away(b, x_images.start)} * (${x_row.end} - ${x_row.start})${f" + {away(row.start, x_row.start)}" if row.start != x_row.start else ""};
% endif
% else:
        const ${weights} *const w = weight + ${base} + panel * ${wide * k.steps};
        const int32_t *const start = bias + ${bias_base} + panel * ${wide};
% if own_scale:
        const float *const factor = scale + ${bias_base} + panel * ${wide};
% endif
% endif
        ${y.ctype} *const to = y + ${f"g * {p.outputs} + " if p.groups > 1 else ""}panel * ${wide};
<%
element = f"g * {p.outputs} + panel * {wide}" if p.groups > 1 else f"panel * {wide}"
%>
% for one in k.sums:
        ${one.parameter.replace("*", "*const ")} = ${one.origin(f"{bias_base} + panel * {wide}", element)};
% endfor
        const ${prepared} *const from = ${"x" if k.image.direct else "image"}${times(away(b, "0" if k.image.direct else x_images.start), k.image.image) if p.outer else ""}${times(away(g, x_groups.start), k.image.group) if p.groups > 1 else ""};
        ${tile.walk(layer, k, name, small, row, line, x_row, x_line, b, channels, own_scale)}
% if name == "last":
    }
% endif
    }
% endfor
% if p.groups > 1:
    }
% endif
% if p.outer:
    }
% endif
% for loop_ in k.blocks.loops:
% if loop_.variable:
    }
% endif
% endfor
${cores.close(layer, k.split)}
