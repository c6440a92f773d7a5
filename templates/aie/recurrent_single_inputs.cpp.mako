<% family = call.spec.family %>\
// What ${call.inputs} inputs add to the sums of ${call.units} units, ${call.steps} steps: weights stay in this tile.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    for (unsigned pass = 0; pass < ${call.passes}; ++pass) {
        x.acquire();
        y.acquire();
        for (unsigned step = 0; step < ${call.group}; ++step) {
            ${family}::see<${call.inputs}, ${call.chunks}>(x.data() + ${call.x_width} * step, w, bias, y.data() + ${len(call.spec.gates) * call.units} * step);
        }
        y.release();
        x.release();
    }
}
