## Maximum over a window, and average in integers; channels innermost.
<%namespace name="tail" file="cpu/tail.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%namespace name="blocks" file="cpu/blocks.mako"/>
<%
d, w, t = layer.dim, layer.window, layer.tail
x, y = layer.operand("x"), layer.operand("y")
block = min(d.G, 64)
maximum = layer.kind == "max_pool2d"
fixed = t.shift is not None
away = t.rounding == "half_away"
element = "x[at + j]" if maximum else x.centred("x[at + j]")
inside = "(fy_end - fy_begin) * (fx_end - fx_begin)"
target = f"y[pixel * {d.G} + c0 + j]"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    ${window.open_pixels(layer)}
% if not maximum and not fixed:
    const int32_t count = ${d.FY * d.FX if w.count_include_pad else inside};
% if not away:
    const float factor = ${x.scale} / (${y.scale} * (float)count);
% endif
% endif
    ${blocks.open_block(d.G, block)}
        for (int32_t j = 0; j < n; ++j) {
            acc[j] = ${t.lo if maximum else 0};
        }
        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
            for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                const int32_t at = ${window.under(layer, "fx", d.G)} + c0;
                for (int32_t j = 0; j < n; ++j) {
% if maximum:
                    acc[j] = ${element} > acc[j] ? ${element} : acc[j];
% else:
                    acc[j] += ${element};
% endif
                }
            }
        }
        for (int32_t j = 0; j < n; ++j) {
% if maximum:
            ${target} = (${y.ctype})(acc[j] < ${t.hi} ? acc[j] : ${t.hi});
% elif fixed:
            ${tail.store(layer, "acc[j]", "c0 + j", target)}
% elif away:
            const int32_t up = acc[j] + count / 2, down = count / 2 - acc[j];
            const int32_t mean = (acc[j] < 0 ? -(down / count) : up / count)${t.offset};
            const int32_t above = mean > ${t.lo} ? mean : ${t.lo};
            ${target} = (${y.ctype})(above < ${t.hi} ? above : ${t.hi});
% else:
            ${tail.saturate(t, "(float)acc[j] * factor", target, y.ctype)}
% endif
        }
    }
    ${window.close_pixels()}
}
