## Sums of two float32 tensors on the cluster.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_elements elements;
    ma_elements_open(&elements);
    elements.scale_x = ${layer.kernel.lo};
    elements.scale_y = ${layer.kernel.hi};
    (void)context;
% if layer.tiles.beside:
    ma_tile_arrive(t);
% endif
    return ma_fork_elements(ma_real_add, &elements, t, &${parts.view(layer, "x")}, &${parts.view(layer, "x1")}, &${parts.view(layer, "y")}, ${len(layer.operand("y").shape)}, 4, 4, ${int(layer.tiles.beside)});
}
${tiles.function(layer, capture(parts.kernel, layer))}
