## A dense layer: a dot product per output, weights [K, C]. Everything that `layer` has is described
## in match_aie/codegen/view.py; replace the two inner loops by what your hardware does.
<%namespace name="tail" file="cpu/tail.mako"/>
<%
d = layer.dim
x = layer.operand("x")
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t b = 0; b < ${d.B}; ++b) {
        for (int32_t k = 0; k < ${d.K}; ++k) {
            int32_t acc = ${"bias[k]" if "bias" in [o.name for o in layer.operands] else 0};
            for (int32_t c = 0; c < ${d.C}; ++c) {
                acc += ${x.centred(f"x[b * {d.C} + c]")} * weight[k * ${d.C} + c];
            }
            ${tail.store(layer, "acc", "k", f"y[b * {d.K} + k]")}
        }
    }
}
