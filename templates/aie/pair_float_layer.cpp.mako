// One layer's ${'sum' if call.spec.operator == 'add' else 'product'} of two tensors: ${call.rows} vectors of ${call.spec.lanes}.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    ${call.spec.family}::run({.a = a.data(), .b = b.data(), .y = y.data(), .vectors = ${call.rows}});
}
