## Maximum, and average in float32, over a window: two vectors of channels at a time, the last ones
## overlapping those before.
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="window" file="cpu/window.mako"/>
<%
d, w, t, k = layer.dim, layer.window, layer.tail, layer.kernel
x, y, lanes = layer.operand("x"), layer.operand("y"), layer.kernel.lanes
wide = 2 * lanes
maximum = layer.kind == "max_pool2d"
byte = "i8" if x.ctype == "int8_t" else "u8"
signed = 1 if y.ctype == "int8_t" else 0
inside = "(fy_end - fy_begin) * (fx_end - fx_begin)"
count = d.FY * d.FX if w.count_include_pad else inside
outer, inner = ("fy", "fx") if maximum or k.whole else ("fx", "fy")
bounds = f"{t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}, MA_SIDE_BY_SIDE"
%>
${cores.open(layer, k.split)}
    _Static_assert(MA_LANES == ${lanes}, "vectors are as long as the project says");
    ${window.open_pixels(layer, k.over)}
% if not maximum:
    const int32_t count = ${count};
% if k.whole:
    const float factor = ${x.scale} / (${y.scale} * (float)count);
% endif
% endif
    for (int32_t first = 0; first < ${d.G}; first += ${wide}) {
% if d.G % wide:
        const int32_t c = first + ${wide} > ${d.G} ? ${d.G - wide} : first;
% else:
        const int32_t c = first;
% endif
        ${y.ctype} *const to = y + pixel * ${d.G} + c;
% if maximum:
        ma_pair_${byte} most = ma_splat_pair_${byte}(${t.lo});
% elif k.whole:
        ma_u32 s0 = {0}, s1 = {0};
% else:
        ma_f32 s0 = {0}, s1 = {0};
% endif
        for (int32_t ${outer} = ${outer}_begin; ${outer} < ${outer}_end; ++${outer}) {
% if not maximum and not k.whole:
            ma_f32 column0 = {0}, column1 = {0};
% endif
            for (int32_t ${inner} = ${inner}_begin; ${inner} < ${inner}_end; ++${inner}) {
                const ${x.ctype} *const at = x + ${window.under(layer, "fx", d.G)} + c;
% if maximum:
                most = ma_larger_pair_${byte}(most, ma_load_pair_${byte}(at));
% elif k.whole:
                s0 += ma_widen_${byte}(at);
                s1 += ma_widen_${byte}(at + ${lanes});
% else:
                column0 += ma_real_${byte}(at, ${x.zero_point}, ${x.scale});
                column1 += ma_real_${byte}(at + ${lanes}, ${x.zero_point}, ${x.scale});
% endif
            }
% if not maximum and not k.whole:
            s0 += column0;
            s1 += column1;
% endif
        }
% if maximum:
% if t.hi < (127 if x.ctype == "int8_t" else 255):
        most = ma_smaller_pair_${byte}(most, ma_splat_pair_${byte}(${t.hi}));
% endif
        memcpy(to, &most, sizeof most);
% elif k.whole:
<% zero = f" - (uint32_t)(count * {x.zero_point})" if x.zero_point else "" %>
        ma_store_steps2(to, NULL, ma_scaled(s0${zero}, ma_splat_f32(factor)), ma_scaled(s1${zero}, ma_splat_f32(factor)), ${bounds});
% else:
        ma_store_steps2(to, NULL, s0 / (float)count / ${y.scale}, s1 / (float)count / ${y.scale}, ${bounds});
% endif
    }
    ${window.close_pixels()}
${cores.close(layer, k.split)}
