<%
    family, units, sums = call.spec.family, call.units, len(call.spec.gates) * call.units
    both = 'inputs' in call.parts  # else a tile next to it has the inputs' sums
%>\
// ${call.steps} steps of ${call.hidden} units on ${call.inputs} inputs: weights and states stay in this tile${'' if both else ", products of inputs are another's"}.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float even[${units}];
    alignas(aie::vector_decl_align) float odd[${units}];
% if both:
    alignas(aie::vector_decl_align) float seen[${call.sums}];
% endif
    for (unsigned at = 0; at < ${units}; at += 8) aie::store_v(even + at, aie::zeros<float, 8>());
    float *next = odd;
<%include file="aie/recurrent_single_cell.mako" args="call=call, now='even', own='even'"/>\
    for (unsigned pass = 0; pass < ${call.passes}; ++pass) {
        x.acquire();
        y.acquire();
% if both:
        for (unsigned step = 0; step < ${call.group}; ++step) {
            ${family}::see<${call.inputs}, ${call.chunks}>(x.data() + ${call.x_width} * step, w, bias, seen + ${sums} * step);
        }
% else:
        const float *seen = x.data();
% endif
        const unsigned steps = pass + 1 < ${call.passes} ? ${call.group} : ${call.last};
        for (unsigned step = 0; step < ${call.group}; ++step) {
            float *to = y.data() + step * ${units};
            if (step < steps) {
                ${family}::step<${call.hidden}, ${call.chunks}>(call, seen + ${sums} * step, next, to);
                call.now = call.own = next;
                next = next == odd ? even : odd;
            } else {
                for (unsigned at = 0; at < ${units}; at += 8) aie::store_v(to + at, aie::zeros<float, 8>());
            }
        }
        y.release();
        x.release();
    }
}
