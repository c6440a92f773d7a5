<%
    family, gates = call.spec.family, len(call.spec.gates)
    skipped = gates * 4 * call.chunks * call.x_octets
    units = call.y_width
%>\
// ${call.steps} steps of ${units} of ${call.whole} units on ${call.inputs} inputs: weights stay in this tile, the others' units come through a memory tile.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float seen[${4 * gates * units}];
    alignas(aie::vector_decl_align) float state[${units}];
    alignas(aie::vector_decl_align) bfloat16 none[${call.whole}];
    alignas(aie::vector_decl_align) bfloat16 own[${units}];
    aie::set_rounding(aie::rounding_mode::conv_even);
    const ${family}::Table sigmoid_table(128, ab, cd);
    const ${family}::Table tanh_table(128, ab + ${family}::table_floats, cd + ${family}::table_floats);
    ${family}::Gate sigmoid(sigmoid_table, -3, 64), tanh(tanh_table, -4, 64);
    ${family}::Call now{
        .w = w,
        .v = v,
        .bias = bias,
        .seen = seen,
        .state = state,
        .now = none,
        .next = own,
    };
    for (unsigned at = 0; at < ${units}; at += 16) aie::store_v(state + at, aie::zeros<float, 16>());
    for (unsigned at = 0; at < ${call.whole}; at += 16) aie::store_v(none + at, aie::zeros<bfloat16, 16>());
    for (unsigned first = 0; first < ${call.steps}; first += 4) {
        x.acquire();
        ${family}::inputs<${call.x_octets}, ${call.chunks}, 4, ${call.input_parts}>(now, x.data(), w, v, 0);
        x.release();
        for (unsigned step = 0; step < 4 && first + step < ${call.steps}; ++step) {
            const bool later = first + step > 0;
            if (later) {
                h.acquire();
                now.now = h.data();
            }
            y.acquire();
            ${family}::step<${call.h_octets}, ${call.chunks}, ${skipped}>(now, sigmoid, tanh, step, y.data());
            y.release();
            if (later) h.release();
        }
    }
    h.acquire();  // the last state, which no step reads
    h.release();
}
