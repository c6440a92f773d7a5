// One softmax: ${call.rows} rows of ${call.columns}.
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
        .rows = ${call.rows},
        .width = ${call.width},
        .beside = ${call.beside}f,
    });
}
