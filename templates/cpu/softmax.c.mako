## Softmax of each row through a table of exp(-d * sx); the sum in index order.
<%namespace name="tail" file="cpu/tail.mako"/>
<%
d = layer.dim
y = layer.operand("y")
real = f"(table[most - x[b * {d.K} + k]] / total) / {y.scale}"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t b = 0; b < ${d.B}; ++b) {
        int32_t most = x[b * ${d.K}];
        for (int32_t k = 1; k < ${d.K}; ++k) {
            most = x[b * ${d.K} + k] > most ? x[b * ${d.K} + k] : most;
        }
        float total = 0x0p+0f;
        for (int32_t k = 0; k < ${d.K}; ++k) {
            total += table[most - x[b * ${d.K} + k]];
        }
        for (int32_t k = 0; k < ${d.K}; ++k) {
            ${tail.saturate(layer.tail, real, f"y[b * {d.K} + k]", y.ctype)}
        }
    }
}
