## Convolutions, dense layers and pools of float32 on the cluster.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
names = [o.name for o in layer.operands]
depthwise = layer.kind == "conv2d" and layer.dim.C == 1 and layer.dim.G > 1
KERNELS = {"conv2d": "conv2d", "dense": "conv2d", "avg_pool2d": "average_pool", "max_pool2d": "max_pool"}
SHORT = {"float16": "ma_half_conv2d", "bfloat16": "ma_bfloat_conv2d"}
short = SHORT.get(layer.kernel.short)
kernel = short or "ma_real_" + ("depthwise" if depthwise else KERNELS[layer.kind])
bounds = layer.kernel
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_window window;
    ma_window_open(&window);
% if "weight" in names:
    window.weight = (const int8_t *)${parts.at(layer, "weight")};
% endif
% if "bias" in names:
    window.offset = (const int32_t *)(const void *)${parts.at(layer, "bias")};
    window.wide = 1;
% endif
% if short:
    window.scratch = t->scratch;
    window.lo = ${int(layer.operand("x").ctype != "float")};
    window.hi = ${int(layer.operand("y").ctype != "float")};
% endif
    window.filter_rows = ${layer.dim.FY};
    window.filter_columns = ${layer.dim.FX};
% if layer.window is not None:
    window.stride_rows = ${layer.window.sy};
    window.stride_columns = ${layer.window.sx};
    window.dilation_rows = ${layer.window.dy};
    window.dilation_columns = ${layer.window.dx};
    window.count_padding = ${int(layer.window.count_include_pad)};
% else:
    window.stride_rows = window.stride_columns = 1;
    window.dilation_rows = window.dilation_columns = 1;
    window.in_rows = window.in_columns = window.out_rows = window.out_columns = 1;
% endif
    window.scale_x = ${bounds.lo};
    window.scale_y = ${bounds.hi};
    (void)context;
    ma_window_${"rows" if layer.kind == "dense" else "image"}(&window, t, &${parts.view(layer, "x")}, &${parts.view(layer, "y")}, ${2 if short and layer.operand("y").ctype != "float" else 4});
    ${parts.fork(layer, kernel, "window")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
