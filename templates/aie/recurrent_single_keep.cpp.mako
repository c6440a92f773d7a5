// Collects all ${call.hidden} units of ${call.steps} steps, which come from programmable logic, ${call.group} at a time.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
% for turn in range(len(call.turns)):
            h.acquire();${'  // what a reset gate lets through' if turn + 1 < len(call.turns) else ''}
    % if turn == 0:
            if (step == 0) y.acquire();
    % endif
    % if turn + 1 == len(call.turns):
            for (unsigned at = 0; at < ${call.whole}; at += 8) aie::store_v(y.data() + ${call.whole} * step + at, aie::load_v<8>(h.data() + at));
    % endif
            h.release();
% endfor
        }
        y.release();
    }
}
