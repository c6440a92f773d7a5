<%
    family, gates = call.spec.family, len(call.spec.gates)
    before = call.spec.cell == 'gru_before'
    skipped = gates * 4 * call.chunks * call.x_octets
    units = call.y_width
    kept = ('update', 'reset') if before else ()
%>\
// ${call.steps} steps of ${call.hidden} units on ${call.inputs} inputs: weights and states stay in this tile.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float seen[${call.group * gates * units}];
    alignas(aie::vector_decl_align) float state[${units}];
% for name in ('even', 'odd', *kept):
    alignas(aie::vector_decl_align) bfloat16 ${name}[${units}];
% endfor
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
        .now = even,
        .next = odd,
% for name in kept:
        .${name} = ${name},
% endfor
    };
    for (unsigned at = 0; at < ${units}; at += 16) {
        aie::store_v(state + at, aie::zeros<float, 16>());
        aie::store_v(even + at, aie::zeros<bfloat16, 16>());
    }
    for (unsigned pass = 0; pass < ${call.passes}; ++pass) {
        x.acquire();
        y.acquire();
% if call.group > 4:
        for (unsigned first = 0; first < ${call.group}; first += 4) {
            ${family}::inputs<${call.x_octets}, ${call.chunks}, ${call.group}>(now, x.data(), w, v, first);
        }
% else:
        ${family}::inputs<${call.x_octets}, ${call.chunks}, 4>(now, x.data(), w, v, 0);
% endif
        const unsigned steps = pass + 1 < ${call.passes} ? ${call.group} : ${call.last};
        for (unsigned step = 0; step < ${call.group}; ++step) {
            bfloat16 *to = y.data() + step * ${units};
            if (step < steps) {
                ${family}::step<${call.h_octets}, ${call.chunks}, ${skipped}>(now, sigmoid, tanh, step, to);
                bfloat16 *const before = now.now;
                now.now = now.next;
                now.next = before;
            } else {
                for (unsigned at = 0; at < ${units}; at += 16) aie::store_v(to + at, aie::zeros<bfloat16, 16>());
            }
        }
        y.release();
        x.release();
    }
}
