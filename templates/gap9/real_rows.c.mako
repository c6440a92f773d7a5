## Softmax and layer norm of float32 rows on the cluster.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<% norm = layer.kind == "layer_norm" %>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct ma_view *const x = &${parts.view(layer, "x")}, *const y = &${parts.view(layer, "y")};
    const struct ma_real_rows rows = {
        .x = (const float *)(const void *)ma_at(t, x),
% if norm:
        .weight = (const float *)(const void *)${parts.at(layer, "weight")},
        .bias = (const float *)(const void *)${parts.at(layer, "bias")},
        .epsilon = ${layer.kernel.epsilon},
% endif
        .y = (float *)(void *)ma_at(t, y),
        .rows = y->extent[0],
        .columns = y->extent[1],
        .x_row = x->stride[0] / 4,
        .y_row = y->stride[0] / 4,
    };
    (void)context;
    ${parts.fork(layer, f"ma_real_{'norm' if norm else 'softmax'}", "rows")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
