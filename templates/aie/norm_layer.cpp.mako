// One ${'RMS' if call.spec.rms else 'layer'} norm: ${call.rows} rows of ${call.columns}.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) int32 sums[${call.stack_bytes // 4}];
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    ${call.spec.family}::run<${call.groups}>({
        .x = x.data(),
        .multiplier = multiplier,
        .bias = bias,
        .y = y.data(),
        .sums = sums,
% for name, value in call.fields:
        .${name} = ${value},
% endfor
    });
}
