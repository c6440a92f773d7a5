<%
    family, gates = call.spec.family, call.spec.gates
    quartered, names = call.spec.quartered, call.spec.products[0]
    integers = call.h_type == 'int8'
    skipped = len(gates) * 4 * (call.wides if integers else call.chunks) * call.x_octets
    tile = 32 if integers else 16
    parts = '' if integers else f', {call.input_parts}'
    each = len(call.sent) + 2 * call.beside
    units = call.y_width
    lstm = call.spec.cell == 'lstm'
    def begin(gate):
        apart = gate == 'n' and not lstm
        return f'floats(bias + {(2 if integers else 1) * len(gates) * units} + at)' if apart else f'floats(mine + {gates.index(gate) * units} + at)'
%>\
// Sums of ${call.steps} steps of ${units} of ${call.whole} units on ${call.inputs} inputs: weights stay in this tile, gates are in programmable logic.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    using namespace ${family};
    alignas(aie::vector_decl_align) float seen[${4 * len(gates) * units}];
    alignas(aie::vector_decl_align) ${call.h_type} none[${call.whole}];
    aie::set_rounding(aie::rounding_mode::conv_even);
% if integers:
    aie::set_saturation(aie::saturation_mode::saturate);
% endif
    const Call now{
        .w = w,
        .v = v,
% if integers:
        .begin = begin,
% endif
        .bias = bias,
% if integers:
        .scale = scale,
% endif
        .seen = seen,
        .state = nullptr,
        .now = nullptr,
        .next = nullptr,
    };
    for (unsigned at = 0; at < ${call.whole}; at += lanes) aie::store_v(none + at, aie::zeros<${call.h_type}, lanes>());
    for (unsigned first = 0; first < ${call.steps}; first += group) {
        x.acquire();
        inputs<${call.x_octets}, ${call.chunks}, group${parts}>(now, x.data(), w, v, 0);
        x.release();
        for (unsigned step = 0; step < group && first + step < ${call.steps}; ++step) {
            const float *__restrict mine = seen + ${len(gates) * units} * step;
            const bool later = first + step > 0;
            if (later) h.acquire();
            y.acquire();
            const ${call.h_type} *__restrict state = later ? h.data() : none;
            bfloat16 *__restrict to = y.data();
            const ${call.h_type} *__restrict left = w + ${tile * skipped}, *__restrict right = v + ${tile * skipped};
% if integers:
            const bfloat16 *__restrict scales = scale + ${2 * len(gates) * units};
            for (unsigned first_of = 0; first_of < ${units}; first_of += wide, to += ${2 * each} * lanes) {
    % for turn, together in enumerate(call.spec.products):
                Product sums${turn}[${len(together)}];
                products<${call.vectors}, ${call.vectors}>(sums${turn}, state, nullptr, left, right);
    % endfor
                for (unsigned chunk = 0; chunk < 2; ++chunk) chess_flatten_loop {
                    const unsigned at = first_of + chunk * lanes;
                    bfloat16 *__restrict mine_to = to + ${each} * lanes * chunk;
    % for n, gate in enumerate(call.sent):
<%
    turn = next(t for t, together in enumerate(call.spec.products) if gate in together)
    sum_of = f'whole(sums{turn}[{call.spec.products[turn].index(gate)}].to_accum().template extract<lanes>(chunk))'
%>\
                    aie::store_v(mine_to + ${n} * lanes, rounded(aie::mac(${begin(gate)}, aie::load_v<lanes>(scales + ${gates.index(gate) * units} + at), ${sum_of})));
    % endfor
    % if call.beside:
                    aie::store_v(reinterpret_cast<float *>(mine_to + ${len(call.sent)} * lanes), aie::load_v<lanes>(mine + ${gates.index('n') * units} + at));
    % endif
                }
            }
% elif quartered:
            constexpr unsigned at = 0;
            const State<${call.h_octets}, ${call.h_octets}> rows(state, nullptr);
    % for gate in call.sent:
            Quarters ${gate};
            for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop ${gate}.sums[quarter] = ${begin(gate)};
            products<${call.h_octets}>(${gate}, rows, left, right);
    % endfor
    % for n, gate in enumerate(call.sent):
            aie::store_v(to + ${n} * lanes, rounded(${gate}));
    % endfor
            aie::store_v(reinterpret_cast<float *>(to + ${len(call.sent)} * lanes), aie::load_v<lanes>(mine + ${gates.index('n') * units}));
% else:
            Product sums[${len(names) * call.chunks}];
            for (unsigned chunk = 0; chunk < ${call.chunks}; ++chunk) chess_flatten_loop {
                const unsigned at = chunk * lanes;
    % for n, gate in enumerate(names):
                sums[${len(names)} * chunk + ${n}] = ${begin(gate)};
    % endfor
            }
            products<${call.h_octets}, ${call.h_octets}>(sums, state, nullptr, left, right);
            for (unsigned chunk = 0; chunk < ${call.chunks}; ++chunk) chess_flatten_loop {
    % for n, gate in enumerate(call.sent):
                aie::store_v(to + ${n} * lanes, rounded(sums[${len(names)} * chunk + ${names.index(gate)}].to_accum()));
    % endfor
    % if call.beside:
                aie::store_v(reinterpret_cast<float *>(to + ${len(call.sent)} * lanes), aie::load_v<lanes>(mine + ${gates.index('n') * units} + chunk * lanes));
    % endif
                to += ${each} * lanes;
            }
% endif
            y.release();
            if (later) h.release();
        }
    }
    h.acquire();  // the last state, which no step reads
    h.release();
}
