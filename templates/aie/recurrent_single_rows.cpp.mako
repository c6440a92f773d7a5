<%
    family, units, sums = call.spec.family, call.units, len(call.spec.gates) * call.units
    twice = call.exchanges > 1  # what reset gates let through, then states
%>\
<%def name="packets(to)">\
for (unsigned packet = 0; packet < ${call.senders}; ++packet) chess_flatten_loop {
                    int32 *to = ${to} + place[static_cast<unsigned>(readincr(h)) & 31];  // of whom it is
                    for (unsigned word = 0; word < ${units}; ++word) chess_flatten_loop to[word] = readincr(h);
                }\
</%def>\
// ${call.steps} steps of ${units} of ${call.hidden} units: weights stay in this tile, all tiles' units come as packets.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) float even[${units}];
    alignas(aie::vector_decl_align) float odd[${units}];
    alignas(aie::vector_decl_align) int32 words[${call.whole}];
% if twice:
    alignas(aie::vector_decl_align) int32 resets[${call.whole}];
% endif
    unsigned place[32] = {};
    for (unsigned tile = 0; tile < ${call.senders}; ++tile) place[getPacketid(h, tile)] = ${units} * tile;
    for (unsigned at = 0; at < ${units}; at += 8) aie::store_v(even + at, aie::zeros<float, 8>());
    for (unsigned at = 0; at < ${call.whole}; at += 8) aie::store_v(words + at, aie::zeros<int32, 8>());
    float *next = odd;
<%include file="aie/recurrent_single_cell.mako" args="call=call, now='reinterpret_cast<float *>(words)', own='even'"/>\
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        x.acquire();
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
            if (first + step > 0) {
                ${packets('words')}
            }
            y.acquire();
% if twice:
            const float *__restrict weights = call.w;
            ${family}::resets<${call.hidden}, ${call.chunks}>(call, x.data() + ${sums} * step, weights, y.data());
            y.release();
            {
                ${packets('resets')}
            }
            y.acquire();
            ${family}::states<${call.hidden}, ${call.chunks}>(call, x.data() + ${sums} * step, weights, next, y.data());
% else:
            ${family}::step<${call.hidden}, ${call.chunks}>(call, x.data() + ${sums} * step, next, y.data());
% endif
            y.release();
            call.own = next;
            next = next == odd ? even : odd;
        }
        x.release();
    }
    for (unsigned word = 0; word < ${call.senders * (1 + units)}; ++word) readincr(h);  // the last state, which no step reads
}
