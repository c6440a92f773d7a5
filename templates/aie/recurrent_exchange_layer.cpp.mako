<%
    family, gates = call.spec.family, len(call.spec.gates)
    integers = call.h_type == 'int8'
    skipped = gates * 4 * (call.wides if integers else call.chunks) * call.x_octets
    units = call.y_width
    parts = '' if integers else f', {call.input_parts}'
    whole = call.vectors if integers else call.h_octets
    sizes = f'{whole}, {call.chunks}, {skipped}, {whole // 2}'
    own, others = ('now', 'more') if call.tile == 0 else ('more', 'now')
    offset = f' + {2 * units}' if integers else ''  # behind the rounded states
%>\
// ${call.steps} steps of ${units} of ${call.whole} units on ${call.inputs} inputs: weights stay in this tile, the other's units come from it.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float seen[${4 * gates * units}];
    alignas(aie::vector_decl_align) float state[${units}];
    alignas(aie::vector_decl_align) ${call.h_type} none[${units}];
    alignas(aie::vector_decl_align) ${call.h_type} even[${units}];
    alignas(aie::vector_decl_align) ${call.h_type} odd[${units}];
    aie::set_rounding(aie::rounding_mode::conv_even);
% if integers:
    aie::set_saturation(aie::saturation_mode::saturate);
% endif
    const ${family}::Table sigmoid_table(128, ab, cd);
    const ${family}::Table tanh_table(128, ab + ${family}::table_floats, cd + ${family}::table_floats);
    ${family}::Gate sigmoid(sigmoid_table, -3, 64), tanh(tanh_table, -4, 64);
    ${family}::Call now{
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
        .state = state,
        .now = ${'even' if call.tile == 0 else 'none'},
        .next = odd,
        .more = ${'none' if call.tile == 0 else 'even'},
    };
    for (unsigned at = 0; at < ${units}; at += 16) {
        aie::store_v(state + at, aie::zeros<float, 16>());
        aie::store_v(none + at, aie::zeros<${call.h_type}, 16>());
        aie::store_v(even + at, aie::zeros<${call.h_type}, 16>());
    }
    for (unsigned first = 0; first < ${call.steps}; first += 4) {
        x.acquire();
        ${family}::inputs<${call.x_octets}, ${call.chunks}, 4${parts}>(now, x.data(), w, v, 0);
        x.release();
        for (unsigned step = 0; step < 4 && first + step < ${call.steps}; ++step) {
            const bool later = first + step > 0;
            if (later) {
                h.acquire();
                now.${others} = h.data()${offset};
            }
            y.acquire();
% if integers:
            now.sent = y.data()${offset};
            ${family}::step<${sizes}>(now, sigmoid, tanh, step, reinterpret_cast<bfloat16 *>(y.data()));
% else:
            ${family}::step<${sizes}>(now, sigmoid, tanh, step, y.data());
% endif
            now.${own} = now.next;
            now.next = now.next == odd ? even : odd;
            y.release();
            if (later) h.release();
        }
    }
    h.acquire();  // the last state, which no step reads
    h.release();
}
