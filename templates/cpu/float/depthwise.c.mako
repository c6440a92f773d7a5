## Depthwise convolution in float32: channels along vectors, a pixel at a time; taps outside the
## image are left out.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k = layer.kernel
d = layer.dim
w = layer.window
act = {"identity": "{}", "clip": f"ma_clip({{}}, {k.ending.lo}, {k.ending.hi})"}.get(k.ending.activation, f"ma_{k.ending.activation}({{}})")
%>
_Static_assert(MA_LANES == ${k.lanes}, "weights are packed for vectors of ${k.lanes} elements");
${cores.open(layer, k.split)}
    for (int32_t b = ${k.over("B", d.B)[0]}; b < ${k.over("B", d.B)[1]}; ++b) {
        for (int32_t oy = ${k.over("OY", d.OY)[0]}; oy < ${k.over("OY", d.OY)[1]}; ++oy) {
            for (int32_t ox = 0; ox < ${d.OX}; ++ox) {
                const int32_t at = ((b * ${d.OY} + oy) * ${d.OX} + ox) * ${d.G};
% for start, stop, valid in k.channels:
                for (int32_t g = ${start}; g < ${stop}; g += ${k.lanes}) {
                    ma_vf sum = ${"ma_load(bias + g)" if k.ending.bias else "ma_splat(0.0f)"};
                    for (int32_t fy = 0; fy < ${d.FY}; ++fy) {
                        const int32_t row = oy * ${w.sy} + fy * ${w.dy} - ${w.top};
                        if (row < 0 || row >= ${w.rows}) {
                            continue;
                        }
                        for (int32_t fx = 0; fx < ${d.FX}; ++fx) {
                            const int32_t column = ox * ${w.sx} + fx * ${w.dx} - ${w.left};
                            if (column >= 0 && column < ${w.columns}) {
                                sum = ma_fma(${micro.load(f"x + ((b * {w.rows} + row) * {w.columns} + column) * {d.G} + g", valid, k.lanes)}, ma_load(weight + (fy * ${d.FX} + fx) * ${k.padded} + g), sum);
                            }
                        }
                    }
% if k.ending.residual:
                    sum += ${micro.load("residual + at + g", valid, k.lanes)};
% endif
                    ${micro.store("y + at + g", act.format("sum"), valid, k.lanes)}
                }
% endfor
            }
        }
    }
${cores.close(layer, k.split)}
