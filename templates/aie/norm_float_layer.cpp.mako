// One ${'RMS' if call.spec.rms else 'layer'} norm: ${call.rows} rows of ${call.columns}.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    ${call.spec.family}::run({
        .x = x.data(),
        .weight = weight,
% if not call.spec.rms:
        .bias = bias,
% endif
        .y = y.data(),
        .rows = ${call.rows},
        .width = ${call.width},
% if not call.spec.rms:
        .last = ${call.columns - call.width + call.spec.lanes},
% endif
        .share = ${call.share}f,
        .epsilon = ${call.added}f,
    });
}
