<%
    family, units, gates = call.spec.family, call.units, call.spec.gates
    width = call.width

    def begin(gate):
        at = 'bias + lanes * chunk' if call.beside and gate == 'n' else f'seen + {gates.index(gate) * units} + lanes * chunk'
        return f'Sums(aie::load_v<lanes>({at}))'
%>\
// Sums of ${call.steps} steps of ${units} of ${call.hidden} units: weights stay in this tile, gates are in programmable logic.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    using namespace ${family};
    alignas(aie::vector_decl_align) float none[${call.whole}];
    for (unsigned at = 0; at < ${call.whole}; at += lanes) aie::store_v(none + at, aie::zeros<float, lanes>());
    for (unsigned first = 0; first < ${call.steps}; first += ${call.group}) {
        x.acquire();
        for (unsigned step = 0; step < ${call.group} && first + step < ${call.steps}; ++step) {
            const float *seen = x.data() + ${len(gates) * units} * step;
            const float *__restrict weights = w;
% for turn, names in enumerate(call.turns):
    % if turn:
            h.acquire();  // what the reset gate lets through
            const float *reset = h.data();
    % else:
            const bool later = first + step > 0;
            if (later) h.acquire();
            const float *state = later ? h.data() : none;
    % endif
            y.acquire();
            for (unsigned chunk = 0; chunk < ${call.chunks}; ++chunk) {
                float *to = y.data() + ${width} * lanes * chunk;
                Sums sums[${len(names)}] = {${', '.join(begin(gate) for gate in names)}};
                products<${call.hidden}>(sums, ${'reset' if turn else 'state'}, weights);
    % for at in range(len(names)):
                aie::store_v(to + ${at} * lanes, floats(sums[${at}]));
    % endfor
    % if call.beside:
                aie::store_v(to + ${len(names)} * lanes, aie::load_v<lanes>(seen + ${gates.index('n') * units} + lanes * chunk));
    % endif
            }
            y.release();
            ${'' if turn else 'if (later) '}h.release();
% endfor
        }
        x.release();
    }
    h.acquire();  // the last state, which no step reads
    h.release();
}
