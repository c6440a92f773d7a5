<%
    family = call.spec.family
    integers = call.x_bytes == 1
    before = call.spec.cell == 'gru_before'
    nothing = ('state', 'now', 'next', *(('real',) if before and integers else ()), *(('update', 'reset') if before else ()))
    parts = '' if integers else f', {call.input_parts}'
%>\
// What ${call.inputs} inputs add to the sums of ${call.hidden} units, ${call.steps} steps: weights stay in this tile.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::conv_even);
% if integers:
    aie::set_saturation(aie::saturation_mode::saturate);
% endif
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
        .seen = nullptr,
% for name in nothing:
        .${name} = nullptr,
% endfor
    };
    for (unsigned pass = 0; pass < ${call.passes}; ++pass) {
        x.acquire();
        y.acquire();
        now.seen = y.data();
        for (unsigned first = 0; first < ${call.group}; first += 4) {
            ${family}::inputs<${call.x_octets}, ${call.chunks}, ${call.group}${parts}>(now, x.data(), w, v, first);
        }
        y.release();
        x.release();
    }
}
