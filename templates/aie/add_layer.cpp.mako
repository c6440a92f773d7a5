<%
    k, n = call.spec, call.numbers
%>\
// One layer's sum of two activations: ${call.rows} vectors of ${k.lanes}.
#include "${k.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::${n.rounding});
    aie::set_saturation(aie::saturation_mode::${n.saturation});
    ${k.family}::run({
        .a = a.data(),
        .b = b.data(),
        .y = y.data(),
        .a_factor = ${n.a_factor},
        .b_factor = ${n.b_factor},
        .offset = ${n.offset},
        .shift = ${n.shift},
% if k.lo:
        .lo = ${n.lo},
% endif
% if k.hi:
        .hi = ${n.hi},
% endif
        .vectors = ${call.rows},
    });
}
