<%
    family, units, both, sums = call.spec.family, call.units, call.both, len(call.spec.gates) * call.units
    upper, two = call.role == 'upper', call.pairs == 2
    first = call.pair == 0  # whose units come first in a state
    mine, others = ('now', 'more') if first else ('more', 'now')
    start = ('even' if upper else 'none', 'zeros' if two else 'nullptr')
    now, more = start if first else start[::-1]
    counts = f'{call.before}, {call.hidden - call.before}'
%>\
// ${call.steps} steps of ${units} of ${call.hidden} units: weights stay in this tile; ${"its units and the lower tile's go out and to the others" if upper else "the tile above sends the pair's units"}.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
% for name in ('even', 'odd') if upper else ('none',):
    alignas(aie::vector_decl_align) float ${name}[${both}];
% endfor
% if two:
    alignas(aie::vector_decl_align) float zeros[${both}];
    for (unsigned at = 0; at < ${both}; at += 8) aie::store_v(zeros + at, aie::zeros<float, 8>());
% endif
    for (unsigned at = 0; at < ${both}; at += 8) aie::store_v(${'even' if upper else 'none'} + at, aie::zeros<float, 8>());
% if upper:
    float *next = odd;
% endif
<%include file="aie/recurrent_single_cell.mako" args="call=call, now=now, more=more, own=f'even + {units}' if upper else 'none'"/>\
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        x.acquire();
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
            const float *seen = x.data() + ${sums} * step;
% if two or not upper:
            const bool later = first + step > 0;
% endif
            y.acquire();  // before what is waited for
% if not upper:
            if (later) {
                h.acquire();
                call.${mine} = call.own = h.data();
            }
% endif
% if two:
            if (later) {
                other.acquire();
                call.${others} = other.data();
            }
% endif
% if upper:
            ${family}::step<${counts}, ${call.chunks}>(call, seen, next + ${units}, y.data() + ${units});
% else:
            ${family}::step<${counts}, ${call.chunks}, false>(call, seen, nullptr, y.data());
            y.release();  // before what nobody waits for
% endif
% if two:
            if (later) other.release();
% endif
% if upper:
            h.acquire();
            for (unsigned at = 0; at < ${units}; at += 8) {
                const auto lower = aie::load_v<8>(h.data() + at);
                aie::store_v(next + at, lower);
                aie::store_v(y.data() + at, lower);
            }
            y.release();
            h.release();
            call.${mine} = next;
            call.own = next + ${units};
            next = next == odd ? even : odd;
% else:
            if (later) h.release();
% endif
        }
        x.release();
    }
% if not upper:
    h.acquire();  // the last state, which no step reads
    h.release();
% endif
% if two:
    other.acquire();
    other.release();
% endif
}
