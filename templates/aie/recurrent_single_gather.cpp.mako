// Collects all ${call.hidden} units of ${call.steps} steps, which come as packets, ${call.group} at a time.
#include "${call.spec.family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    unsigned place[32] = {};
    for (unsigned tile = 0; tile < ${call.senders}; ++tile) place[getPacketid(h, tile)] = ${call.units} * tile;
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        y.acquire();
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
% if call.exchanges > 1:
            // What reset gates let through comes first, and states behind it.
% endif
            int32 *whole = reinterpret_cast<int32 *>(y.data()) + ${call.whole} * step;
            for (unsigned packet = 0; packet < ${call.senders * call.exchanges}; ++packet) chess_flatten_loop {
                int32 *to = whole + place[static_cast<unsigned>(readincr(h)) & 31];  // of whom it is
                for (unsigned word = 0; word < ${call.units}; ++word) chess_flatten_loop to[word] = readincr(h);
            }
        }
        y.release();
    }
}
