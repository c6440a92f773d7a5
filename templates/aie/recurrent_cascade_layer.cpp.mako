<%
    family, gates = call.spec.family, len(call.spec.gates)
    units, names, part = call.y_width, call.spec.products[0], 16 * call.together
    last = call.first_octet + call.own_octets - 1
    def sums(gate):
        return f'sums[{len(names)} * chunk + {names.index(gate)}].to_accum()'
    def seen_at(gate):
        return 'readincr_v<lanes>(from)'
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
    constexpr unsigned chunks = ${call.together}, units = ${units};
    aie::set_rounding(aie::rounding_mode::conv_even);
% if call.role == 'first':
    alignas(aie::vector_decl_align) float seen[${call.seen_size}];
    const Call now{
        .w = w,
        .v = v,
        .bias = bias,
        .seen = seen,
        .state = nullptr,
        .now = nullptr,
        .next = nullptr,
    };
    for (unsigned first = 0; first < ${call.steps}; first += group) {
        x.acquire();
        inputs<${call.x_octets}, ${call.chunks}, group, ${call.input_parts}>(now, x.data(), w, v, 0);
        x.release();
        for (unsigned step = 0; step < group && first + step < ${call.steps}; ++step) {
            const float *__restrict mine = seen + ${gates * units} * step;
            for (unsigned begin = 0; begin < units; begin += chunks * lanes) {
                for (unsigned at = begin; at < begin + chunks * lanes; at += lanes) chess_flatten_loop {
    % for gate in names:
        % if gate == 'n':
                    writeincr(to, floats(bias + ${gates * units} + at));
        % else:
                    writeincr(to, floats(mine + ${call.spec.gates.index(gate) * units} + at));
        % endif
    % endfor
                }
    % if call.beside:
                for (unsigned at = begin; at < begin + chunks * lanes; at += lanes) chess_flatten_loop {
                    writeincr(to, floats(mine + ${call.spec.gates.index('n') * units} + at));
                }
    % endif
            }
        }
    }
% else:
    % if call.role == 'middle':
    alignas(aie::vector_decl_align) bfloat16 none[${units}];
    for (unsigned at = 0; at < ${units}; at += lanes) aie::store_v(none + at, aie::zeros<bfloat16, lanes>());
    % else:
    alignas(aie::vector_decl_align) float state[${units}];
    alignas(aie::vector_decl_align) bfloat16 even[${units}];
    alignas(aie::vector_decl_align) bfloat16 odd[${units}];
    const Table sigmoid_table(128, ab, cd);
    const Table tanh_table(128, ab + table_floats, cd + table_floats);
    Gate sigmoid(sigmoid_table, -3, 64), tanh(tanh_table, -4, 64);
    Call call{
        .w = w,
        .v = v,
        .bias = nullptr,
        .seen = nullptr,
        .state = state,
        .now = even,
        .next = odd,
    };
    for (unsigned at = 0; at < ${units}; at += lanes) {
        aie::store_v(state + at, aie::zeros<float, lanes>());
        aie::store_v(even + at, aie::zeros<bfloat16, lanes>());
    }
    % endif
    for (unsigned step = 0; step < ${call.steps}; ++step) {
    % if call.role == 'middle':
        if (step > 0) h.acquire();
        const bfloat16 *__restrict now = step > 0 ? h.data() : none;
    % else:
        results.acquire();
        bfloat16 *__restrict y = results.data();
        const bfloat16 *__restrict now = call.now;
    % endif
        const bfloat16 *__restrict left = w, *__restrict right = v;
        for (unsigned begin = 0; begin < units; begin += chunks * lanes) {
        Product sums[${call.sums}];
        for (unsigned at = 0; at < ${call.sums}; ++at) chess_flatten_loop sums[at] = readincr_v<lanes>(from);
        products<${call.own_octets}, ${call.own_octets}>(sums, now + ${8 * call.first_octet}, nullptr, left, right);
    % if call.role == 'middle':
        for (unsigned at = 0; at < ${call.sums}; ++at) chess_flatten_loop writeincr(to, sums[at].to_accum());
        % if call.beside:
        for (unsigned at = 0; at < ${call.beside}; ++at) chess_flatten_loop writeincr(to, readincr_v<lanes>(from));
        % endif
        }
        if (step > 0) h.release();
    }
    h.acquire();  // the last state, which no step reads
    h.release();
    % else:
<%include file="aie/recurrent_cell.mako" args="k=call.spec, seen_at=seen_at, sums_of=sums, narrow=False, many='chunks', first='begin + ', lends=False"/>\
        }
        results.release();
        call.next = call.next == odd ? even : odd;
        call.now = call.next == odd ? even : odd;
    }
    % endif
% endif
}
