## GRU and LSTM: the inputs' products of a chunk of time steps at once, then step by step the
## state's product, whose panels hold all gates of some hidden units. The panels are visited there
## and back: what the last step read last is what a cache still has. A reset gate that is applied
## before the product makes two turns of a step: gates, then the new state. Where weights come from
## beyond the first cache, the inputs' products of the next steps are made beside the state's.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="ahead" file="cpu/float/ahead.mako"/>
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
cells = f"gate + {k.places['cells']}" if "cells" in k.places else f"y + {d.OY * rows}"
lanes = k.product.tile.lanes
divided = k.split is not None
tall = lambda mr: f"_{mr}rows" if mr > 1 else ""
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
% for turn, u, mr in ((turn, u, mr) for turn in k.turns for u in k.units for mr in k.heights):
${micro.tile(f"{state}{turn.mark}{u.start}{tall(mr)}", mr, turn.gates * u.vectors, lanes, lanes, d.K if mr > 1 else 0, 1, turn.gates * u.width if mr > 1 else 0, k.ending)}
% endfor
% if k.ahead:
${ahead.beside(f"{state}_beside", k, d)}
% endif

${cores.open(layer, k.split, 0, True)}
% if divided:
    static const int32_t columns[] = {${", ".join(map(str, k.columns))}};
    const int32_t n_begin = columns[part], n_end = columns[parts == 1 ? ${k.split.parts} : part + 1];
% endif
    float *const gate = (float *)(void *)scratch;
% if lstm:
    float *const cells = ${cells};
    ${"if (part == 0) " if divided else ""}${f"memcpy(cells, x2, sizeof(float) * {rows});" if "x2" in names else f"memset(cells, 0, sizeof(float) * {rows});"}
% endif
% if not initial:
    float *const zero = gate + ${k.places["zero"]};
    ${"if (part == 0) " if divided else ""}memset(zero, 0, sizeof(float) * ${rows});
% endif
% if "reset" in k.places:
    float *const update = gate + ${k.places["update"]};
    float *const reset = gate + ${k.places["reset"]};
% endif
% if k.codes:
    float *const coded = gate + ${k.places["coded"]};
% endif
% if k.input_codes:
    float *const stored = gate + ${k.places["stored"]};
    ${"if (part == 0) " if divided else ""}ma_coded_${k.input_codes}(stored, x, ${d.OY * d.B * d.C});
% if divided:
    ma_meet(parts);
% endif
% endif
    const float *before = ${"x1" if initial else "zero"};
% if k.ahead:
    float *const kept = gate + ${k.places["kept"]};
    const float *made = gate;
    ${micro.cover(inputs, k.product, "0", str(k.ahead.rows), "stored" if k.input_codes else "x", "weight", "gate", biased)}
    for (int32_t first = 0; first < ${d.OY}; first += ${k.ahead.rows}) {
        const int32_t steps = ${d.OY} - first < ${k.ahead.rows} ? ${d.OY} - first : ${k.ahead.rows};
        /* The next block; the last one begins within this one, so that it is whole. */
        const int32_t coming = first + ${2 * k.ahead.rows} <= ${d.OY} ? first + ${k.ahead.rows} : ${d.OY - k.ahead.rows};
        const int32_t slices = first + ${k.ahead.rows} < ${d.OY} ? ${k.ahead.calls} : 0;
        const float *const rows = ${"stored" if k.input_codes else "x"} + coming * ${d.C};
        float *const next = gate + (first / ${k.ahead.rows} % 2 == 0 ? ${k.ahead.rows * gates * d.K} : 0);
        int32_t slice = 0;
% if k.ahead.columns < k.product.columns:
        if (slices > 0) {
            ${micro.cover(inputs, k.product, "0", str(k.ahead.rows), "rows", "weight", "next", biased, str(k.ahead.columns))}
        }
% endif
% else:
    for (int32_t first = 0; first < ${d.OY}; first += ${k.chunk}) {
        const int32_t steps = ${d.OY} - first < ${k.chunk} ? ${d.OY} - first : ${k.chunk};
        const float *const chunk = ${"stored" if k.input_codes else "x"} + first * ${d.B * d.C};
        ${micro.cover(inputs, k.product, "0", f"steps * {d.B}", "chunk", "weight", "gate", biased, *(("n_begin", "n_end") if divided else ()))}
% if divided:
        ma_meet(parts);
% endif
% endif
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * ${rows};
            const float *const seen = ${"made" if k.ahead else "gate"} + step * ${d.B * gates * d.K};
% if k.codes:
            ${"if (part == 0) " if divided else ""}for (int32_t b = 0; b < ${d.B}; ++b) {
                ma_coded_${k.codes}(coded + b * ${d.K}, before + b * ${d.K}, ${d.K});
            }
% if divided:
            ma_meet(parts);
% endif
% endif
% for turn in k.turns:
% if turn.first:
% if divided:
            ma_meet(parts);
% endif
% endif
            if (((first + step) & 1) == 0) {
% for u in k.units:
                for (int32_t u = ${first(u)}; u < ${beyond(u)}; u += ${u.width}) {
                    ${panel(u, turn)}
                }
% endfor
            } else {
% for u in reversed(k.units):
                for (int32_t u = ${last(u)}; u >= ${first(u)}; u -= ${u.width}) {
                    ${panel(u, turn)}
                }
% endfor
            }
% endfor
            before = now;
% if divided:
            ma_meet(parts);
% endif
        }
% if k.ahead:
        made = next + (slices > 0 ? first + ${k.ahead.rows} - coming : 0) * ${gates * d.K};
% endif
    }
${cores.close(layer, k.split, True)}

## All sequences of a panel: register tiles of as many as there are, then of what is left.
<%def name="panel(u, turn)">
<%
k = layer.kernel
d = layer.dim
weights = k.padded * turn.first
read = "reset" if turn.first else "coded" if k.codes else "before"
beyond = lambda n: f"{n} + " if n else ""
at = 0
%>
% for mr in k.heights:
<% end = at + (d.B - at) // mr * mr %>
for (int32_t b = ${at}; b < ${end}; ${"++b" if mr == 1 else f"b += {mr}"}) {
    float sums[${mr * turn.gates * u.width}];
% if k.ahead and u.start == 0:
    ${ahead.panel(layer, read, f"recurrent + u * {gates * d.K}", f"bias + {k.state_bias} + u * {gates}")}
% else:
    ${layer.symbol}_state${turn.mark}${u.start}${f"_{mr}rows" if mr > 1 else ""}(${read} + b * ${d.K}, recurrent + ${beyond(weights * d.K)}u * ${turn.gates * d.K}, sums, bias + ${k.state_bias + weights} + u * ${turn.gates});
% endif
% if mr == 1:
    ${units(u, turn, "b", "sums")}
% else:
    for (int32_t i = 0; i < ${mr}; ++i) {
        ${units(u, turn, "(b + i)", f"sums + i * {turn.gates * u.width}")}
    }
% endif
}
<% at = end %>
% endfor
</%def>

## What the units of a panel make of the sums, in sequence `b`.
<%def name="units(u, turn, b, sums)">
<%
k = layer.kernel
d = layer.dim
count = u.width if u.valid == u.lanes else u.width - u.lanes + u.valid
own = lambda name: f"{name} + {b} * {d.K} + u"
seen = f"seen + {b} * {k.gates * d.K}"
%>
% if k.kind == "lstm":
ma_lstm_units(${own("now")}, ${own("cells")}, ${seen} + u, ${d.K}, ${sums}, ${u.width}, ${count}, ${k.cell_clip});
% elif turn.first:
ma_gru_new(${own("now")}, ${own("before")}, ${own("update")}, ${seen} + ${turn.first * d.K} + u, ${sums}, ${count});
% elif len(k.turns) > 1:
ma_gru_gates(${own("update")}, ${own("reset")}, ${own("before")}, ${seen} + u, ${d.K}, ${sums}, ${u.width}, ${count});
% else:
ma_gru_units(${own("now")}, ${own("before")}, ${seen} + u, ${d.K}, ${sums}, ${u.width}, ${count});
% endif
</%def>
