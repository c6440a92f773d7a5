## Convolutions and dense layers of 16-bit inputs on the cluster.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
x, y = layer.operand("x"), layer.operand("y")
depthwise = layer.kind == "conv2d" and layer.dim.C == 1 and layer.dim.G > 1
kernel = ("ma_depthwise16_" if depthwise else "ma_conv16_") + {"int16_t": "i16", "uint16_t": "u16"}[x.ctype]
y_bytes = 2 if y.ctype in ("int16_t", "uint16_t") else 1
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_window window;
    ma_window_open(&window);
    window.weight = (const int8_t *)${parts.at(layer, "weight")};
    window.multiplier = (const int32_t *)(const void *)${parts.at(layer, "multiplier")};
    window.offset = (const int32_t *)(const void *)${parts.at(layer, "bias")};
    window.scratch = t->scratch;
    window.filter_rows = ${layer.dim.FY};
    window.filter_columns = ${layer.dim.FX};
% if layer.window is not None:
    window.stride_rows = ${layer.window.sy};
    window.stride_columns = ${layer.window.sx};
    window.dilation_rows = ${layer.window.dy};
    window.dilation_columns = ${layer.window.dx};
% else:
    window.stride_rows = window.stride_columns = 1;
    window.dilation_rows = window.dilation_columns = 1;
    window.in_rows = window.in_columns = window.out_rows = window.out_columns = 1;
% endif
    window.pad_value = ${x.zero_point};
    window.wide = ${int(y_bytes == 2)};
${parts.tail(layer, "window")}
    (void)context;
    ma_window_${"rows" if layer.kind == "dense" else "image"}(&window, t, &${parts.view(layer, "x")}, &${parts.view(layer, "y")}, ${y_bytes});
    ${parts.fork(layer, kernel, "window")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
