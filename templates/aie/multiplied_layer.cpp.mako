<%
    k, n = call.spec, call.numbers
%>\
// One layer's product of two activations: ${call.rows} vectors of ${k.lanes}.
#include "${k.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::${n.rounding});
    aie::set_saturation(aie::saturation_mode::saturate);
    ${k.family}::run({
        .a = a.data(),
        .b = b.data(),
        .y = y.data(),
        .a_zero = ${n.a_zero},
        .b_zero = ${n.b_zero},
        .multiplier = ${n.multiplier},
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
