<%
    family, units, paired = call.spec.family, call.y_width, call.spec.quartered  # `PairedSpec`
    integers = call.h_type == 'int8'
    octets = call.vectors if integers else call.h_octets
    own, others = ('now', 'more') if call.tile == 0 else ('more', 'now')
%>\
// ${call.steps} steps of ${units} of ${call.whole} units: weights stay in this tile, the other's units ${'come along the cascade' if call.takes else 'are read where it stores them'}.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float state[${units}];
% if not paired:
    alignas(aie::vector_decl_align) ${call.h_type} none[${units}];
    alignas(aie::vector_decl_align) ${call.h_type} even[${units}];
    alignas(aie::vector_decl_align) ${call.h_type} odd[${units}];
% endif
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
        .begin = nullptr,
% endif
        .bias = bias,
% if integers:
        .scale = scale,
% endif
        .seen = nullptr,
        .state = state,
% if paired:
        .now = nullptr,
        .next = nullptr,
    };
    ${family}::Rounded own = aie::zeros<bfloat16, 16>(), other = aie::zeros<bfloat16, 16>();
% else:
        .now = ${'even' if call.tile == 0 else 'none'},
        .next = odd,
        .more = ${'none' if call.tile == 0 else 'even'},
    };
% endif
    for (unsigned at = 0; at < ${units}; at += 16) {
        aie::store_v(state + at, aie::zeros<float, 16>());
% if not paired:
        aie::store_v(none + at, aie::zeros<${call.h_type}, 16>());
        aie::store_v(even + at, aie::zeros<${call.h_type}, 16>());
% endif
    }
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        x.acquire();
        y.acquire();
        now.seen = const_cast<float *>(x.data());  // steps only read it
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
            const bool later = first + step > 0;
% if call.takes:
    % if paired:
            if (later) other = ${family}::rounded(readincr_v<16>(from));
    % else:
            if (later) {
                for (unsigned at = 0; at < ${units}; at += 16) chess_flatten_loop aie::store_v(none + at, ${family}::rounded(readincr_v<16>(from)));
            }
    % endif
% else:
            if (later) {
                h.acquire();
                ${'other = aie::load_v<16>(h.data())' if paired else f'now.{others} = h.data()'};
            }
% endif
% if call.hands:
            const auto hand = [to](const ${family}::Floats &values) { writeincr(to, values); };
            ${family}::step<${f'false, false>(now, own, other' if paired else f'{octets}, {call.chunks}, 0, {octets // 2}, false>(now'}, sigmoid, tanh, step, y.data() + ${units} * step, hand);
% else:
            sent.acquire();
            now.sent = sent.data();
            ${family}::step<${f'true, true>(now, own, other' if paired else f"{octets}, {call.chunks}, 0, {octets // 2}{'' if integers else ', true'}>(now"}, sigmoid, tanh, step, y.data() + ${units} * step);
% endif
% if not paired:
            now.${own} = now.next;
            now.next = now.next == odd ? even : odd;
% endif
% if not call.hands:
            sent.release();
% endif
% if not call.takes:
            if (later) h.release();
% endif
        }
        y.release();
        x.release();
    }
    // The last state, which no step reads.
% if call.takes:
    for (unsigned at = 0; at < ${units}; at += 16) chess_flatten_loop readincr_v<16>(from);
% else:
    h.acquire();
    h.release();
% endif
}
