## Convolutions, dense layers and pools on the cluster: a window's fields, then a kernel forked.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
names = [o.name for o in layer.operands]
x, y = layer.operand("x"), layer.operand("y")
depthwise = layer.kind == "conv2d" and layer.dim.C == 1 and layer.dim.G > 1
KERNELS = {"conv2d": "ma_conv2d", "dense": "ma_dense", "avg_pool2d": "ma_average_pool", "max_pool2d": "ma_max_pool"}
kernel = "ma_depthwise" if depthwise else KERNELS[layer.kind]
suffix = {"uint8_t": "u8", "int8_t": "i8"}[x.ctype]
offset = "offset" if "offset" in names else "bias" if "bias" in names else None
y_bytes = 4 if y.ctype == "int32_t" else 1
average = None
if layer.kind == "avg_pool2d":
    whole = layer.window.rows == layer.dim.FY and layer.window.columns == layer.dim.FX and not (layer.window.pads_rows or layer.window.pads_columns)
    average = "FIXED" if layer.tail.shift is not None else "AWAY" if layer.tail.rounding == "half_away" else "WHOLE" if whole else "FLOAT"
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_window window;
    ma_window_open(&window);
% if "weight" in names:
    window.weight = (const int8_t *)${parts.at(layer, "weight")};
% endif
% if "multiplier" in names:
    window.multiplier = (const int32_t *)${parts.at(layer, "multiplier")};
% endif
% if offset:
    window.offset = (const int32_t *)${parts.at(layer, offset)};
% endif
    window.scratch = t->scratch;
% if layer.window is not None:
    window.filter_rows = ${layer.dim.FY};
    window.filter_columns = ${layer.dim.FX};
    window.stride_rows = ${layer.window.sy};
    window.stride_columns = ${layer.window.sx};
    window.dilation_rows = ${layer.window.dy};
    window.dilation_columns = ${layer.window.dx};
    window.count_padding = ${int(layer.window.count_include_pad)};
% endif
    window.pad_value = ${x.zero_point};
    window.wide = ${int(y_bytes == 4)};
% if average:
    window.average = MA_AVERAGE_${average};
% endif
${parts.tail(layer, "window")}
    (void)context;
    ma_window_${"rows" if layer.kind == "dense" else "image"}(&window, t, &${parts.view(layer, "x")}, &${parts.view(layer, "y")}, ${y_bytes});
    ${parts.fork(layer, f"{kernel}_{suffix}", "window")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
