<%page args="call, piece"/>\
<%
    family, gates = call.spec.family, len(call.spec.gates)
    skipped = gates * 4 * call.chunks * call.x_octets
    units = call.y_width
    kept = ('update', 'reset') if call.spec.cell == 'gru_before' else ()
    parts = [('seen', 'float', call.group * gates * units), ('state', 'float', units)]
    parts += [(name, 'bfloat16', units) for name in ('even', 'odd', *kept)]
    sizes = {'float': 4, 'bfloat16': 2}
    steps = call.last if piece else call.group
    begin = 0
%>\
    % for name, c_type, elements in parts:
    ${c_type} *const ${name} = reinterpret_cast<${c_type} *>(scratch + ${begin});
<% begin += elements * sizes[c_type] %>\
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
    if (number == 0) {
        for (unsigned at = 0; at < ${units}; at += 16) {
            aie::store_v(state + at, aie::zeros<float, 16>());
            aie::store_v(even + at, aie::zeros<bfloat16, 16>());
        }
    }
    for (unsigned first = 0; first < ${call.group}; first += 4) {
        ${family}::inputs<${call.x_octets}, ${call.chunks}, ${call.group}, ${call.input_parts}>(now, x.data(), w, v, first);
    }
    for (unsigned step = 0; step < ${call.group}; ++step) {
        bfloat16 *to = y.data() + step * ${units};
        if (step < ${steps}) {
            ${family}::step<${call.h_octets}, ${call.chunks}, ${skipped}>(now, sigmoid, tanh, step, to);
            now.next = now.next == odd ? even : odd;
            now.now = now.next == odd ? even : odd;
        } else {
            for (unsigned at = 0; at < ${units}; at += 16) aie::store_v(to + at, aie::zeros<bfloat16, 16>());
        }
    }
