## Product of two run-time matrices; columns innermost, since x1 is [C, K].
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="blocks" file="cpu/blocks.mako"/>
<%
d = layer.dim
x, x1 = layer.operand("x"), layer.operand("x1")
block = min(d.K, 64)
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    for (int32_t b = 0; b < ${d.B}; ++b) {
        for (int32_t row = 0; row < ${d.OY}; ++row) {
            const int32_t line = b * ${d.OY} + row;
            ${blocks.open_block(d.K, block)}
                for (int32_t j = 0; j < n; ++j) {
                    acc[j] = 0;
                }
                for (int32_t c = 0; c < ${d.C}; ++c) {
                    const int32_t left = ${x.centred(f"x[line * {d.C} + c]")};
                    const int32_t at = (b * ${d.C} + c) * ${d.K} + c0;
                    for (int32_t j = 0; j < n; ++j) {
                        acc[j] += left * ${x1.centred("x1[at + j]")};
                    }
                }
                for (int32_t j = 0; j < n; ++j) {
                    ${tail.store(layer, "acc[j]", "c0 + j", f"y[line * {d.K} + c0 + j]")}
                }
            }
        }
    }
}
