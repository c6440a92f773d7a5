<%
    whole = call.pairs * call.both
    froms = ('x', 'other')[: call.pairs]
%>\
// Collects all ${call.hidden} units of ${call.steps} steps, ${call.group} at a time.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        y.acquire();
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
            float *to = y.data() + ${whole} * step;
% for at, name in enumerate(froms):
            ${name}.acquire();
            for (unsigned at = 0; at < ${call.both}; at += 8) aie::store_v(to + ${call.both * at} + at, aie::load_v<8>(${name}.data() + at));
            ${name}.release();
% endfor
        }
        y.release();
    }
}
