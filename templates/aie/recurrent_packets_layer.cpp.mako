<%
    family, gates = call.spec.family, len(call.spec.gates)
    integers = call.h_type == 'int8'
    skipped = gates * 4 * (call.wides if integers else call.chunks) * call.x_octets
    units = call.y_width
    parts = '' if integers else f', {call.input_parts}'
    sizes = f'{call.vectors if integers else call.h_octets}, {call.chunks}, {skipped}'
    whole = call.words * call.tiles
%>\
// ${call.steps} steps of ${units} of ${call.whole} units on ${call.inputs} inputs: weights stay in this tile, all tiles' units come as packets.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float seen[${4 * gates * units}];
    alignas(aie::vector_decl_align) float state[${units}];
    alignas(aie::vector_decl_align) int32 words[${whole}];
% if not integers:
    alignas(aie::vector_decl_align) ${call.h_type} own[${units}];
% endif
    unsigned place[32] = {};
    for (unsigned tile = 0; tile < ${call.tiles}; ++tile) place[getPacketid(h, tile)] = ${call.words} * tile;
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
        .now = reinterpret_cast<${call.h_type} *>(words),
        .next = ${'nullptr' if integers else 'own'},
    };
    for (unsigned at = 0; at < ${units}; at += 16) aie::store_v(state + at, aie::zeros<float, 16>());
    for (unsigned at = 0; at < ${whole}; at += 8) aie::store_v(words + at, aie::zeros<int32, 8>());
    for (unsigned step = 0;; ++step) {
        if (step % 4 == 0 && step < ${call.steps}) {
            x.acquire();
            ${family}::inputs<${call.x_octets}, ${call.chunks}, 4${parts}>(now, x.data(), w, v, 0);
            x.release();
        }
        if (step > 0) {
            for (unsigned packet = 0; packet < ${call.tiles}; ++packet) chess_flatten_loop {
                int32 *to = words + place[static_cast<unsigned>(readincr(h)) & 31];  // of whom it is
                for (unsigned word = 0; word < ${call.words}; ++word) chess_flatten_loop to[word] = readincr(h);
            }
        }
        if (step == ${call.steps}) break;  // nothing reads the last state
        y.acquire();
% if integers:
        sent.acquire();
        now.next = sent.data();
% endif
        ${family}::step<${sizes}>(now, sigmoid, tanh, step % 4, y.data());
% if integers:
        sent.release();
% endif
        y.release();
    }
}
