## Element by element on the cluster: sums, products, conversions, softmax, tables.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
names = [o.name for o in layer.operands]
x, y = layer.operand("x"), layer.operand("y")
bytes_of = {"uint8_t": 1, "int8_t": 1, "float": 4}
typed = [] if layer.kind == "table" else ("x", "x1")
suffixes = "_".join({"uint8_t": "u8", "int8_t": "i8"}[layer.operand(n).ctype] for n in typed if n in names and layer.operand(n).ctype != "float")
products = layer.kernel.products if layer.kernel else ""
kernel = "_".join(part for part in (f"ma_{layer.kind}", products, suffixes) if part)
second = "x1" if "x1" in names else "x"
# Operands whose rows are repeated: between two of them nothing lies, whatever the axes of y.
repeated = [n for n in ("x", "x1") if n in names and layer.operand(n).shape != y.shape]
axes = {o.name: o.axes for o in layer.tiles.operands}

def seen(name):
    return f"{name}_view" if name in repeated else parts.view(layer, name).strip()
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_elements elements;
    ma_elements_open(&elements);
% if "table" in names:
    elements.table = ${parts.at(layer, "table")};
% endif
% if "multiplier" in names:
    elements.multiplier = (const int32_t *)(const void *)${parts.at(layer, "multiplier")};
% endif
% if "offset" in names:
    elements.offset = (const int32_t *)(const void *)${parts.at(layer, "offset")};
% endif
    elements.zero_x = ${x.zero_point};
% if layer.kind == "mul":
    elements.zero_x1 = ${layer.operand("x1").zero_point};
% endif
${parts.tail(layer, "elements")}
    (void)context;
% if layer.kind == "softmax":
    elements.x = ${parts.at(layer, "x")};
    elements.y = ${parts.at(layer, "y")};
    elements.rows = ${parts.view(layer, "x")}.extent[0];
    elements.columns = ${parts.view(layer, "x")}.extent[1];
    elements.x_row = ${parts.view(layer, "x")}.stride[0];
    elements.y_row = ${parts.view(layer, "y")}.stride[0];
    ${parts.fork(layer, kernel, "elements")}
% else:
% if layer.tiles.beside:
    ma_tile_arrive(t);
% endif
% for name in repeated:
    const struct ma_view *const ${name}_seen = &${parts.view(layer, name)};
    const int32_t ${name}_stride[MA_AXES] = {${", ".join(f"{name}_seen->stride[{i}]" if axis.terms else "0" for i, axis in enumerate(axes[name]))}};
    const struct ma_view ${name}_view = {${name}_seen->at, ${parts.view(layer, "y")}.extent, ${name}_stride, ${name}_seen->start, ${name}_seen->before};
% endfor
    return ma_fork_elements(${kernel}, &elements, t, &${seen("x")}, &${seen(second)}, &${parts.view(layer, "y")}, ${len(x.shape)}, ${bytes_of[x.ctype]}, ${bytes_of[y.ctype]}, ${int(layer.tiles.beside)});
% endif
}
${tiles.function(layer, capture(parts.kernel, layer))}
