## Products of two activations on the cluster.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<% x, x1 = layer.operand("x"), layer.operand("x1") %>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct ma_view *const x = &${parts.view(layer, "x")}, *const x1 = &${parts.view(layer, "x1")};
    const struct ma_view *const y = &${parts.view(layer, "y")};
    const struct ma_product product = {
        .x = ma_at(t, x),
        .x1 = ma_at(t, x1),
        .multiplier = (const int32_t *)(const void *)${parts.at(layer, "multiplier")},
        .offset = (const int32_t *)(const void *)${parts.at(layer, "offset")},
        .y = ma_at(t, y),
        .scratch = t->scratch,
        .batch = y->extent[0],
        .rows = y->extent[1],
        .inner = x->extent[2],
        .columns = y->extent[2],
        .x_batch = x->stride[0],
        .x_row = x->stride[1],
        .x1_batch = x1->stride[0],
        .x1_row = x1->stride[1],
        .y_batch = y->stride[0],
        .y_row = y->stride[1],
        .zero_x = ${x.zero_point},
        .zero_x1 = ${x1.zero_point},
        .unsigned_x1 = ${int(x1.ctype == "uint8_t")},
        .shift = ${layer.tail.shift},
        .lo = ${layer.tail.lo},
        .hi = ${layer.tail.hi},
    };
    (void)context;
    ${parts.fork(layer, "ma_product_u8" if x.ctype == "uint8_t" else "ma_product_i8", "product")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
