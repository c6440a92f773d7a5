## An LSTM of one sequence whose x, states and weights are bytes: the inputs' products of a chunk of
## time steps at once, then step by step the state's, in panels as recurrent.c.mako has them.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%namespace name="dots" file="cpu/int8/tile.mako"/>
<%
k = layer.kernel
f = k.floats
d = layer.dim
names = [o.name for o in layer.operands]
initial = "x1" in names
rows = d.K
inputs, state = f"{layer.symbol}_inputs", f"{layer.symbol}_state"
cells = f"gate + {k.places['cells']}" if "cells" in k.places else f"y + {d.OY * rows}"
lanes = f.product.tile.lanes
divided = k.split is not None
element = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t"}[k.form.element]
of_inputs, of_biases, of_states = k.scales
def prepared(to, source, n, codes):
    """The row `source` as what is multiplied."""
    add = f"-(int32_t){codes}.zero" if k.shift is None else k.shift
    return f"{'ma_row_words' if k.shift is None else 'ma_row_bytes'}({to}, {source}, {n}, {codes}, {add});"
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
% for mr in k.product.row_tiles:
% for p in k.product.panels:
${tile(f"{inputs}_{mr}x{p.vectors}{p.mark}", mr, p.vectors, p.valid, k.seen, k.product.ldy)}
% endfor
% endfor
% for u in f.units:
${tile(f"{state}{u.start}", 1, f.gates * u.vectors, lanes, k.held, 0)}
% endfor

${cores.open(layer, k.split, 0, True)}
% if divided:
    static const int32_t columns[] = {${", ".join(map(str, f.columns))}};
    const int32_t n_begin = columns[part], n_end = columns[parts == 1 ? ${k.split.parts} : part + 1];
% endif
    float *const gate = (float *)(void *)scratch;
    ${element} *const seen = (${element} *)(void *)(gate + ${k.places["seen"]});
    ${element} *const held = (${element} *)(void *)(gate + ${k.places["held"]});
    const int8_t *const of_inputs = (const int8_t *)(const void *)weight; /* packed as bytes */
    const int8_t *const of_states = (const int8_t *)(const void *)recurrent;
    float *const cells = ${cells};
    ${"if (part == 0) " if divided else ""}${f"memcpy(cells, x2, sizeof(float) * {rows});" if "x2" in names else f"memset(cells, 0, sizeof(float) * {rows});"}
% if not initial:
    float *const zero = gate + ${k.places["zero"]};
    ${"if (part == 0) " if divided else ""}memset(zero, 0, sizeof(float) * ${rows});
% endif
    ${"if (part == 0) " if divided else ""}memset(seen, 0, sizeof *seen * ${f.chunk * k.seen});
    ${"if (part == 0) " if divided else ""}memset(held, 0, sizeof *held * ${k.held});
    const struct ma_codes of_x = ma_codes_of(x, ${d.OY * d.C});
    const float *before = ${"x1" if initial else "zero"};
    for (int32_t first = 0; first < ${d.OY}; first += ${f.chunk}) {
        const int32_t steps = ${d.OY} - first < ${f.chunk} ? ${d.OY} - first : ${f.chunk};
        ${"if (part == 0) " if divided else ""}for (int32_t step = 0; step < steps; ++step) {
            ${prepared(f"seen + step * {k.seen}", f"x + (first + step) * {d.C}", d.C, "of_x")}
        }
% if divided:
        ma_meet(parts);
% endif
        ${micro.cover(inputs, k.product, "0", "steps", "seen", "of_inputs", "gate", lambda m, n: f", bias + {n}, bias + {of_inputs} + {n}, of_x", *(("n_begin", "n_end") if divided else ()))}
% if divided:
        ma_meet(parts);
% endif
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * ${rows};
            const float *const sums_of_x = gate + step * ${f.gates * d.K};
            const struct ma_codes of_h = ma_codes_of(before, ${d.K});
            ${"if (part == 0) " if divided else ""}${"{" if divided else ""}
            ${prepared("held", "before", d.K, "of_h")}
            ${"}" if divided else ""}
% if divided:
            ma_meet(parts);
% endif
            if (((first + step) & 1) == 0) {
% for u in f.units:
                for (int32_t u = ${first(u)}; u < ${beyond(u)}; u += ${u.width}) {
                    ${units(u)}
                }
% endfor
            } else {
% for u in reversed(f.units):
                for (int32_t u = ${last(u)}; u >= ${first(u)}; u -= ${u.width}) {
                    ${units(u)}
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

## A panel of units: the products with the state, and what the units make of them.
<%def name="units(u)">
<%
k = layer.kernel
f = k.floats
gates = f.gates
count = u.width if u.valid == u.lanes else u.width - u.lanes + u.valid
of_inputs, of_biases, of_states = k.scales
%>
float sums[${gates * u.width}];
${layer.symbol}_state${u.start}(held, of_states + u * ${gates * k.column(k.held)}, sums, bias + ${of_biases} + u * ${gates}, bias + ${of_states} + u * ${gates}, of_h);
ma_lstm_units(now + u, cells + u, sums_of_x + u, ${layer.dim.K}, sums, ${u.width}, ${count}, ${f.cell_clip});
</%def>

## One register tile: y[mr][nrv vectors] = (a - zero) w scale + bias, `run` elements of a row of a;
## before the weights of a panel are the sums of its columns.
<%def name="tile(name, mr, nrv, valid, run, ldy)">
<%
k = layer.kernel
lanes = k.floats.product.tile.lanes
width = nrv * lanes
rows, vectors = range(mr), range(nrv)
element = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t"}[k.form.element]
%>
MA_DOTS MA_APART void ${name}(const ${element} *a, const int8_t *w, float *y, const float *bias, const float *scale, struct ma_codes of)
{
% if k.shift is not None:
    const uint32_t less = 0u - (uint32_t)((int32_t)of.zero + ${k.shift});
% endif
% for v in vectors:
    const ma_u32 b${v} = ${f"ma_load_u32(w + {v * lanes * 4}) * less" if k.shift is not None else "{0}"};
% endfor
% for i in rows:
    ma_u32 ${", ".join(f"s{i}_{v} = b{v}" for v in vectors)};
% endfor
    w += ${width * 4};
    for (int32_t i = 0; i < ${run}; i += ${k.form.group}, w += ${width * k.form.group}) {
% for v in vectors:
        ${dots.weight(k.form, True, v, lanes)}
% endfor
% for i in rows:
        ${dots.datum(k.form, i, run)}
% for v in vectors:
        ${dots.dot(k.form, i, v)}
% endfor
% endfor
    }
% for v in vectors:
<% own = valid if v == nrv - 1 else lanes %>
    const ma_vf f${v} = ma_load(scale + ${v * lanes}) * of.scale, o${v} = ma_load(bias + ${v * lanes});
% for i in rows:
    ${micro.store(f"y + {i * ldy + v * lanes}", f"ma_scaled(s{i}_{v}, f{v}) + o{v}", own, lanes)}
% endfor
% endfor
}
</%def>
