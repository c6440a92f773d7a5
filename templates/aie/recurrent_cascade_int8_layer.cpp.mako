<%
    family, gates = call.spec.family, call.spec.gates
    units, products = call.y_width, call.spec.products
    last = call.first_octet + call.own_octets - 1
    comes = call.first_octet > 0  # sums of the state, too
    def turn_of(gate):
        return next(turn for turn, names in enumerate(products) if gate in names)
    def seen_at(gate):
        return f'seen[{2 * gates.index(gate)} + chunk]'
    def sums(gate):
        turn = turn_of(gate)
        sum_of = f'whole(sums{turn}[{products[turn].index(gate)}].to_accum().template extract<lanes>(chunk))'
        first = 'floats(apart + at)' if gate == 'n' else seen_at(gate)
        return f'aie::mac({first}, aie::load_v<lanes>(scales + {gates.index(gate) * units} + at), {sum_of})'
%>\
% if call.role == 'first':
// What ${call.inputs} inputs add to the sums of ${call.hidden} units, ${call.steps} steps: they go on along a cascade.
% else:
// Columns ${8 * call.first_octet} to ${8 * last + 7} of the state's matrices, ${call.steps} steps of ${call.hidden} units${', and the gates' if call.role == 'last' else ''}: sums come along a cascade.
% endif
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    using namespace ${family};
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
% if call.role == 'first':
    alignas(aie::vector_decl_align) float seen[${call.seen_size}];
    const Call now{
        .w = w,
        .v = v,
        .begin = begin,
        .bias = bias,
        .scale = scale,
        .seen = seen,
        .state = nullptr,
        .now = nullptr,
        .next = nullptr,
    };
    for (unsigned first = 0; first < ${call.steps}; first += group) {
        x.acquire();
        inputs<${call.x_octets}, ${call.chunks}, group>(now, x.data(), w, v, 0);
        x.release();
        for (unsigned step = 0; step < group && first + step < ${call.steps}; ++step) {
            const float *__restrict mine = seen + ${len(gates) * units} * step;
            for (unsigned begin_of = 0; begin_of < ${units}; begin_of += wide) {
    % for passed in call.passed:
        % for together in passed:
                for (unsigned at = begin_of; at < begin_of + wide; at += lanes) chess_flatten_loop {
            % for gate in together:
                    writeincr(to, floats(mine + ${gates.index(gate) * units} + at));
            % endfor
                }
        % endfor
    % endfor
            }
        }
    }
% else:
    % if call.role == 'middle':
    alignas(aie::vector_decl_align) int8 none[${units}];
    for (unsigned at = 0; at < ${units}; at += lanes) aie::store_v(none + at, aie::zeros<int8, lanes>());
    % else:
    alignas(aie::vector_decl_align) float state[${units}];
    alignas(aie::vector_decl_align) int8 even[${units}];
    alignas(aie::vector_decl_align) int8 odd[${units}];
    const Table sigmoid_table(128, ab, cd);
    const Table tanh_table(128, ab + table_floats, cd + table_floats);
    Gate sigmoid(sigmoid_table, -3, 64), tanh(tanh_table, -4, 64);
    Call call{
        .w = w,
        .v = v,
        .begin = nullptr,
        .bias = bias,
        .scale = scale,
        .seen = nullptr,
        .state = state,
        .now = even,
        .next = odd,
    };
        % if 'n' in gates:
    const float *__restrict apart = bias + ${2 * len(gates) * units};
        % endif
    const bfloat16 *__restrict scales = scale + ${2 * len(gates) * units};
    for (unsigned at = 0; at < ${units}; at += lanes) {
        aie::store_v(state + at, aie::zeros<float, lanes>());
        aie::store_v(even + at, aie::zeros<int8, lanes>());
    }
    % endif
    for (unsigned step = 0; step < ${call.steps}; ++step) {
    % if call.role == 'middle':
        if (step > 0) h.acquire();
        const int8 *__restrict now = step > 0 ? h.data() : none;
    % else:
        results.acquire();
        % if call.sent_size:
        sent.acquire();
        call.sent = sent.data();
        % endif
        bfloat16 *__restrict y = results.data();
        const int8 *__restrict now = call.now;
    % endif
        const int8 *__restrict left = w, *__restrict right = v;
        for (unsigned begin_of = 0; begin_of < ${units}; begin_of += wide) {
    % if call.role == 'last':
            Floats seen[${2 * len(gates)}];
    % endif
    % for turn, passed in enumerate(call.passed):
            Product sums${turn}[${len(products[turn])}];
        % if comes:
            for (unsigned at = 0; at < ${len(products[turn])}; ++at) chess_flatten_loop {
                const Floats low = readincr_v<lanes>(from), high = readincr_v<lanes>(from);
                sums${turn}[at] = aie::concat(low.template cast_to<acc32>(), high.template cast_to<acc32>());
            }
        % endif
            products<${call.vectors}, ${call.vectors}${', false' if comes else ''}>(sums${turn}, now + ${8 * call.first_octet}, nullptr, left, right);
        % if call.role == 'middle':
            for (unsigned at = 0; at < ${len(products[turn])}; ++at) chess_flatten_loop {
                for (unsigned half = 0; half < 2; ++half) chess_flatten_loop {
                    writeincr(to, sums${turn}[at].to_accum().template extract<lanes>(half).template cast_to<accfloat>());
                }
            }
        % endif
        % for together in passed:
            for (unsigned chunk = 0; chunk < 2; ++chunk) chess_flatten_loop {
            % for gate in together:
                % if call.role == 'middle':
                writeincr(to, readincr_v<lanes>(from));
                % else:
                ${seen_at(gate)} = readincr_v<lanes>(from);
                % endif
            % endfor
            }
        % endfor
    % endfor
    % if call.role == 'middle':
        }
        if (step > 0) h.release();
    }
    h.acquire();  // the last state, which no step reads
    h.release();
    % else:
            constexpr unsigned vectors = 1, split = ${0 if call.sent_size else 1};  // states are stored for other tiles, too
<%include file="aie/recurrent_cell.mako" args="k=call.spec, seen_at=seen_at, sums_of=sums, narrow=True, many='2', first='begin_of + ', lends=False"/>\
        }
        % if call.sent_size:
        sent.release();
        % endif
        results.release();
        call.next = call.next == odd ? even : odd;
        call.now = call.next == odd ? even : odd;
    }
    % endif
% endif
}
