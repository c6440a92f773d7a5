## Depthwise convolution in float32: channels along vectors. Pixels whose windows lie between both sides of
## the image come several at a time, which share weights; at the sides taps outside are left out. Channels
## that are a part of a vector have those of the next pixels behind them.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k = layer.kernel
d = layer.dim
w = layer.window
act = {"identity": "{}", "clip": f"ma_clip({{}}, {k.ending.lo}, {k.ending.hi})"}.get(k.ending.activation, f"ma_{k.ending.activation}({{}})")
first, last = k.inside
block = k.sums * k.together
whole = block and (last - first) % block == 0
sides = [(a, b) for a, b in ((0, first), (last, d.OX)) if a < b] if block else [(0, d.OX)]
start = "ma_load(bias + g)" if k.ending.bias else "ma_splat(0.0f)"
%>
_Static_assert(MA_LANES == ${k.lanes}, "weights are packed for vectors of ${k.lanes} elements");
${cores.open(layer, k.split)}
    for (int32_t b = ${k.over("B", d.B)[0]}; b < ${k.over("B", d.B)[1]}; ++b) {
        for (int32_t oy = ${k.over("OY", d.OY)[0]}; oy < ${k.over("OY", d.OY)[1]}; ++oy) {
            const int32_t line = (b * ${d.OY} + oy) * ${d.OX};
% for begin, end in sides:
            for (int32_t ox = ${begin}; ox < ${end}; ++ox) {
                const int32_t at = (line + ox) * ${d.G};
% for part in k.channels:
                for (int32_t g = ${part.start}; g < ${part.stop}; g += ${k.lanes}) {
                    ma_vf sum = ${start};
                    ${open_taps()}
                        for (int32_t fx = 0; fx < ${d.FX}; ++fx) {
                            const int32_t column = ox * ${w.sx} + fx * ${w.dx} - ${w.left};
                            if (column >= 0 && column < ${w.columns}) {
                                sum = ma_fma(${micro.load(f"from + column * {d.G}", part.valid, k.lanes)}, ma_load(weight + (fy * ${d.FX} + fx) * ${k.padded} + g), sum);
                            }
                        }
                    }
                    ${finish("sum", "at + g", part.valid)}
                }
% endfor
            }
% endfor
% if block:
            for (int32_t next = ${first}; next < ${last}; next += ${block}) {
                const int32_t ox = ${"next" if whole else f"next > {last - block} ? {last - block} : next"};
                const int32_t at = (line + ox) * ${d.G};
% for part in k.blocks:
                for (int32_t g = ${part.start}; g < ${part.stop}; g += ${k.lanes}) {
                    ma_vf ${", ".join(f"s{i} = {start if i == 0 else 's0'}" for i in range(k.sums))};
                    ${open_taps()}
                        const float *const seen = from + (ox * ${w.sx} - ${w.left}) * ${d.G};
                        #pragma GCC unroll ${min(d.FX, 8)}
                        for (int32_t fx = 0; fx < ${d.FX}; ++fx) {
                            const ma_vf tap = ma_load(weight + (fy * ${d.FX} + fx) * ${k.padded} + g);
% for i in range(k.sums):
                            s${i} = ma_fma(${micro.load(f"seen + fx * {w.dx * d.G} + {i * k.together * w.sx * d.G}", part.valid, k.lanes)}, tap, s${i});
% endfor
                        }
                    }
% for i in range(k.sums):
                    ${finish(f"s{i}", f"at + g + {i * k.together * d.G}", part.valid)}
% endfor
                }
% endfor
            }
% endif
        }
    }
${cores.close(layer, k.split)}

## Rows of the window that lie in the image.
<%def name="open_taps()">
for (int32_t fy = 0; fy < ${d.FY}; ++fy) {
const int32_t row = oy * ${w.sy} + fy * ${w.dy} - ${w.top};
if (row < 0 || row >= ${w.rows}) {
continue;
}
const float *const from = x + (b * ${w.rows} + row) * ${w.columns * d.G} + g;
</%def>

<%def name="finish(sum, at, valid)">
% if k.ending.residual:
${sum} += ${micro.load(f"residual + {at}", valid, k.lanes)};
% endif
${micro.store(f"y + {at}", act.format(sum), valid, k.lanes)}
</%def>
