## GRU and LSTM: the inputs' products of a chunk of time steps at once, then step by step the
## state's product, whose panels hold all gates of some hidden units. The panels are visited there
## and back: what the last step read last is what a cache still has.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%
k = layer.kernel
d = layer.dim
gates = k.gates
names = [o.name for o in layer.operands]
initial = "x1" in names
inputs, state = f"{layer.symbol}_inputs", f"{layer.symbol}_state"
biased = lambda m, n: f", bias + {n}"
rows = d.B * d.K
lstm = k.kind == "lstm"
lanes = k.product.tile.lanes
%>
_Static_assert(MA_LANES == ${lanes}, "weights are packed for vectors of ${lanes} elements");
${micro.tiles(inputs, k.product)}
% for u in k.units:
${micro.tile(f"{state}{u.start}", 1, gates * u.vectors, lanes, lanes, 0, 1, 0, k.ending)}
% endfor

/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    float *const gate = (float *)(void *)scratch;
% if lstm:
    float *const cells = gate + ${k.chunk * d.B * gates * d.K};
    memset(cells, 0, sizeof(float) * ${rows});
% endif
% if not initial:
    float *const zero = gate + ${k.chunk * d.B * gates * d.K + (rows if lstm else 0)};
    memset(zero, 0, sizeof(float) * ${rows});
% endif
    const float *before = ${"x1" if initial else "zero"};
    for (int32_t first = 0; first < ${d.OY}; first += ${k.chunk}) {
        const int32_t steps = ${d.OY} - first < ${k.chunk} ? ${d.OY} - first : ${k.chunk};
        const float *const chunk = x + first * ${d.B * d.C};
        ${micro.cover(inputs, k.product, "0", f"steps * {d.B}", "chunk", "weight", "gate", biased)}
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * ${rows};
            const float *const seen = gate + step * ${d.B * gates * d.K};
            if (((first + step) & 1) == 0) {
% for u in k.units:
                for (int32_t u = ${u.start}; u < ${u.stop}; u += ${u.width}) {
                    ${panel(u)}
                }
% endfor
            } else {
% for u in reversed(k.units):
                for (int32_t u = ${u.start + (u.stop - u.start - 1) // u.width * u.width}; u >= ${u.start}; u -= ${u.width}) {
                    ${panel(u)}
                }
% endfor
            }
            before = now;
        }
    }
}

<%def name="panel(u)">
<%
k = layer.kernel
d = layer.dim
gates = k.gates
count = u.width if u.valid == u.lanes else u.width - u.lanes + u.valid
%>
for (int32_t b = 0; b < ${d.B}; ++b) {
    float sums[${gates * u.width}];
    ${layer.symbol}_state${u.start}(before + b * ${d.K}, recurrent + u * ${gates * d.K}, sums, bias + ${k.state_bias} + u * ${gates});
% if k.kind == "lstm":
    ma_lstm_units(now + b * ${d.K} + u, cells + b * ${d.K} + u, seen + b * ${gates * d.K} + u, ${d.K}, sums, ${u.width}, ${count});
% else:
    ma_gru_units(now + b * ${d.K} + u, before + b * ${d.K} + u, seen + b * ${gates * d.K} + u, ${d.K}, sums, ${u.width}, ${count});
% endif
}
</%def>
