## GRU and LSTM: the inputs' products of a chunk of time steps at once, then step by step the
## state's product, whose panels hold all gates of some hidden units. The panels are visited there
## and back: what the last step read last is what a cache still has.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
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
divided = k.split is not None
def first(u):
    """The first of a panel's units that is this core's."""
    return f"(part_begin > {u.start} ? part_begin : {u.start})" if divided else u.start
def beyond(u):
    return f"(part_end < {u.stop} ? part_end : {u.stop})" if divided else u.stop
def last(u):
    """The first unit of the last panel."""
    at = u.start + (u.stop - u.start - 1) // u.width * u.width
    return f"(part_end <= {at} ? part_end - {u.width} : {at})" if divided else at
%>
_Static_assert(MA_LANES == ${lanes}, "weights are packed for vectors of ${lanes} elements");
${micro.tiles(inputs, k.product)}
% for u in k.units:
${micro.tile(f"{state}{u.start}", 1, gates * u.vectors, lanes, lanes, 0, 1, 0, k.ending)}
% endfor

${cores.open(layer, k.split, 0, True)}
% if divided:
    static const int32_t columns[] = {${", ".join(map(str, k.columns))}};
    const int32_t n_begin = columns[part], n_end = columns[parts == 1 ? ${k.split.parts} : part + 1];
% endif
    float *const gate = (float *)(void *)scratch;
% if lstm:
    float *const cells = gate + ${k.chunk * d.B * gates * d.K};
    ${"if (part == 0) " if divided else ""}memset(cells, 0, sizeof(float) * ${rows});
% endif
% if not initial:
    float *const zero = gate + ${k.chunk * d.B * gates * d.K + (rows if lstm else 0)};
    ${"if (part == 0) " if divided else ""}memset(zero, 0, sizeof(float) * ${rows});
% endif
    const float *before = ${"x1" if initial else "zero"};
    for (int32_t first = 0; first < ${d.OY}; first += ${k.chunk}) {
        const int32_t steps = ${d.OY} - first < ${k.chunk} ? ${d.OY} - first : ${k.chunk};
        const float *const chunk = x + first * ${d.B * d.C};
        ${micro.cover(inputs, k.product, "0", f"steps * {d.B}", "chunk", "weight", "gate", biased, *(("n_begin", "n_end") if divided else ()))}
% if divided:
        ma_meet(parts);
% endif
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * ${rows};
            const float *const seen = gate + step * ${d.B * gates * d.K};
            if (((first + step) & 1) == 0) {
% for u in k.units:
                for (int32_t u = ${first(u)}; u < ${beyond(u)}; u += ${u.width}) {
                    ${panel(u)}
                }
% endfor
            } else {
% for u in reversed(k.units):
                for (int32_t u = ${last(u)}; u >= ${first(u)}; u -= ${u.width}) {
                    ${panel(u)}
                }
% endfor
            }
            before = now;
% if divided:
            ma_meet(parts);
% endif
        }
    }
${cores.close(layer, k.split, True)}

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
