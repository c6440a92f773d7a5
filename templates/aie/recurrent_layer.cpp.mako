<%
    family, gates = call.spec.family, len(call.spec.gates)
    before, held = call.spec.cell == 'gru_before', call.spec.held
    integers = call.x_bytes == 1
    both = 'inputs' in call.parts  # else another tile sends the inputs' sums
    skipped = gates * 4 * (call.wides if integers else call.chunks) * call.x_octets if both else 0
    units = call.y_width
    narrow = 'int8' if integers else 'bfloat16'
    real = ('real',) if before and integers else ()
    kept = (*real, 'update', 'reset') if before else ()
    types = {'even': narrow, 'odd': narrow, 'real': 'bfloat16', 'update': 'bfloat16', 'reset': narrow}
    parts = '' if integers else f', {call.input_parts}'
    sizes = f'{call.vectors}, {call.chunks}' if integers else f'{call.h_octets}, {call.chunks}'
%>\
// ${call.steps} steps of ${call.hidden} units on ${call.inputs} inputs: weights and states stay in this tile${'' if both else ', products of inputs come from another'}.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
% if both:
    alignas(aie::vector_decl_align) float seen[${call.seen_size}];
% endif
    alignas(aie::vector_decl_align) float state[${units}];
% for name in () if held else ('even', 'odd', *kept):
    alignas(aie::vector_decl_align) ${types[name]} ${name}[${units}];
% endfor
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
        .begin = ${'begin' if both else 'nullptr'},
% endif
        .bias = bias,
% if integers:
        .scale = scale,
% endif
        .seen = ${'seen' if both else 'nullptr'},
        .state = state,
        .now = ${'nullptr' if held else 'even'},
        .next = ${'nullptr' if held else 'odd'},
% for name in kept:
        .${name} = ${name},
% endfor
    };
    for (unsigned at = 0; at < ${units}; at += 16) {
        aie::store_v(state + at, aie::zeros<float, 16>());
% for name in () if held else ('even', *real):
        aie::store_v(${name} + at, aie::zeros<${types[name]}, 16>());
% endfor
    }
% if held:
    ${family}::Held held;
    held.state = aie::zeros<bfloat16, 16>();
% endif
    for (unsigned pass = 0; pass < ${call.passes}; ++pass) {
        x.acquire();
        y.acquire();
% if not both:
        now.seen = const_cast<float *>(x.data());  // steps only read it
% elif call.group > 4:
        for (unsigned first = 0; first < ${call.group}; first += 4) {
            ${family}::inputs<${call.x_octets}, ${call.chunks}, ${call.group}${parts}>(now, x.data(), w, v, first);
        }
% else:
        ${family}::inputs<${call.x_octets}, ${call.chunks}, 4${parts}>(now, x.data(), w, v, 0);
% endif
        const unsigned steps = pass + 1 < ${call.passes} ? ${call.group} : ${call.last};
% if held:
        ${family}::prepare(held, now.seen, w + ${16 * skipped}, v + ${16 * skipped});
% endif
        for (unsigned step = 0; step < ${call.group}; ++step) {
            bfloat16 *to = y.data() + step * ${units};
            if (step < steps) {
% if held:
                ${family}::step<${call.h_octets}, ${skipped}>(now, held, sigmoid, tanh, step, step + 1 < steps ? step + 1 : step, to);
% else:
                ${family}::step<${sizes}, ${skipped}>(now, sigmoid, tanh, step, to);
                now.next = now.next == odd ? even : odd;
                now.now = now.next == odd ? even : odd;
% endif
            } else {
                for (unsigned at = 0; at < ${units}; at += 16) aie::store_v(to + at, aie::zeros<bfloat16, 16>());
            }
        }
        y.release();
        x.release();
    }
}
