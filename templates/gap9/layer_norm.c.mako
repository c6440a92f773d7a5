## Layer norm of rows on the cluster, in integers.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct ma_view *const x = &${parts.view(layer, "x")}, *const y = &${parts.view(layer, "y")};
    const struct ma_norm norm = {
        .x = ma_at(t, x),
        .multiplier = (const int32_t *)(const void *)${parts.at(layer, "multiplier")},
        .offset = (const int32_t *)(const void *)${parts.at(layer, "offset")},
        .y = ma_at(t, y),
        .rows = y->extent[0],
        .columns = y->extent[1],
        .x_row = x->stride[0],
        .y_row = y->stride[0],
        .unsigned_x = ${int(layer.operand("x").ctype == "uint8_t")},
        .shift = ${layer.tail.shift},
        .lo = ${layer.tail.lo},
        .hi = ${layer.tail.hi},
        .epsilon = ${layer.kernel.epsilon},
    };
    (void)context;
    ${parts.fork(layer, "ma_norm", "norm")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
