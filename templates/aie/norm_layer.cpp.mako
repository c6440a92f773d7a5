// One ${'RMS' if call.spec.rms else 'layer'} norm: ${call.rows} rows of ${call.columns}.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    ${call.spec.family}::run({
        .x = x.data(),
        .multiplier = multiplier,
        .bias = bias,
        .y = y.data(),
        .rows = ${call.rows},
        .width = ${call.width},
        .columns = ${call.columns},
        .normal_bits = ${call.normal_bits},
        .shift = ${call.tail.shift},
        .epsilon = ${call.numbers.epsilon},
% if call.spec.rms:
        .zero_point = ${call.numbers.centre},
% endif
    });
}
