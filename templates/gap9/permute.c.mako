## Axes that change places, on the cluster; loops are the output's axes.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
order = [axis.terms[0][0] for axis in layer.tiles.operands[0].axes]
axes = [order.index(axis.terms[0][0]) for axis in layer.tiles.operands[1].axes]
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct ma_view *const x = t->view[0], *const y = t->view[1];
    const struct ma_permutation permutation = {
        ma_at(t, x),
        ma_at(t, y),
        {y->extent[0], y->extent[1], y->extent[2], y->extent[3]},
        {${", ".join(f"x->stride[{axis}]" for axis in axes)}},
        {y->stride[0], y->stride[1], y->stride[2], y->stride[3]},
    };
    (void)context;
    ${parts.fork(layer, "ma_permute", "permutation")}
}
${tiles.function(layer, capture(parts.kernel, layer))}
