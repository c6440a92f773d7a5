// One layer's ${call.activation} of elements, from a table: ${call.rows} vectors of ${call.spec.lanes}.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    ${call.spec.family}::run({
        .x = x.data(),
        .ab = w,
        .cd = cd,
        .y = y.data(),
        .vectors = ${call.rows},
        .entries = ${len(call.table.entries)},
% if not call.spec.exponents:
        .low = ${call.table.low},
        .high = ${call.table.high},
        .deep = ${call.table.deep},
% endif
    });
}
