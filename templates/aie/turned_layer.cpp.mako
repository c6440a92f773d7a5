// One layer's transpose: ${call.rows} tiles of 8 x 8.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    ${call.spec.family}::run({
        .x = x.data(),
        .y = y.data(),
        .tiles = ${call.rows},
    });
}
