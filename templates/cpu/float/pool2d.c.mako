## Maximum and average over a window in float32: channels along vectors, a pixel at a time. Rows of a
## window are summed on their own, so that rounding grows with its sides, not with its area.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%
k, d, w = layer.kernel, layer.dim, layer.window
maximum = layer.kind == "max_pool2d"
inside = "(fy_end - fy_begin) * (fx_end - fx_begin)"
start = "ma_splat(-__builtin_inff())" if maximum else "ma_splat(0.0f)"
row = "most" if maximum else "row"
%>
${cores.open(layer, k.split)}
    _Static_assert(MA_LANES == ${k.lanes}, "vectors are as long as the project says");
    ${window.open_pixels(layer, k.over)}
% if not maximum:
    const float count = (float)(${d.FY * d.FX if w.count_include_pad else inside});
% endif
% for part in k.channels:
    for (int32_t g = ${part.start}; g < ${part.stop}; g += ${k.lanes}) {
        ma_vf ${"most" if maximum else "sum"} = ${start};
        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
% if not maximum:
            ma_vf row = ${start};
% endif
            for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                const float *const at = x + ${window.under(layer, "fx", d.G)} + g;
% if maximum:
                most = ma_larger(most, ${micro.load("at", part.valid, k.lanes)});
% else:
                row += ${micro.load("at", part.valid, k.lanes)};
% endif
            }
% if not maximum:
            sum += row;
% endif
        }
        ${micro.store(f"y + pixel * {d.G} + g", "most" if maximum else "sum / count", part.valid, k.lanes)}
    }
% endfor
    ${window.close_pixels()}
${cores.close(layer, k.split)}
