<%
    family, units, gates, gru = call.spec.family, call.units, call.spec.gates, call.spec.cell == 'gru'
    first, count = call.columns.start, len(call.columns)
    of_state = not call.sees and not call.ends  # another tile's state
    turns = (gates,) if call.sees else call.spec.products
    place = {gate: f'sums{turn}[{names.index(gate)}]' for turn, names in enumerate(turns) for gate in names}
    order = [gate for names in call.spec.products for gate in names]
    came = [gate for gate in order if not (call.apart and gate == 'n')]

    def begin(gate):
        if call.begins or (call.apart and gate == 'n'):
            at = f'{gates.index(gate) * units} + ' if call.begins else ''
            return f'Sums(aie::load_v<lanes>(bias + {at}lanes * chunk))'
        return f'word_{gate}'
%>\
// ${count} columns of ${'inputs' if call.sees else 'the state'} from the ${first}th on, of ${call.steps} steps of ${call.hidden} units: tile ${call.at + 1} of ${call.chain} along a cascade.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    using namespace ${family};
% if call.ends:
    alignas(aie::vector_decl_align) float even[${units}];
    alignas(aie::vector_decl_align) float odd[${units}];
    for (unsigned at = 0; at < ${units}; at += lanes) aie::store_v(even + at, aie::zeros<float, lanes>());
    float *next = odd;
<%include file="aie/recurrent_single_cell.mako" args="call=call, now='even', own='even'"/>\
% elif of_state:
    alignas(aie::vector_decl_align) float none[${units}];
    for (unsigned at = 0; at < ${units}; at += lanes) aie::store_v(none + at, aie::zeros<float, lanes>());
% endif
    for (unsigned begin = 0; begin < ${call.steps}; begin += ${call.group}) {
% if call.sees:
        x.acquire();
% elif call.ends:
        y.acquire();
% endif
        for (unsigned step = 0; step < ${call.group} && begin + step < ${call.steps}; ++step) {
% if call.sees:
            const float *elements = x.data() + ${call.x_width} * step;
% elif call.ends:
            const float *elements = call.now;
    % if call.sent_size:
            sent.acquire();
    % endif
% else:
            const bool later = begin + step > 0;
            if (later) x.acquire();
            const float *elements = later ? x.data() : none;
% endif
            const float *__restrict weights = w;
            for (unsigned chunk = 0; chunk < ${call.chunks}; ++chunk) {
% if not call.begins:
    % for gate in came:
                const Sums word_${gate} = readincr_v<lanes>(from);
    % endfor
    % if call.beside:
                const Sums word_seen = readincr_v<lanes>(from);
    % endif
% endif
% for turn, names in enumerate(turns):
                Sums sums${turn}[${len(names)}] = {${', '.join(begin(gate) for gate in names)}};
                products<${count}>(sums${turn}, elements + ${first}, weights);
% endfor
% if call.ends:
                const unsigned at = lanes * chunk;
                const Floats h = gated(call, ${', '.join(place[gate] for gate in order)}${', floats(word_seen)' if gru else ''}, at);
                aie::store_v(next + at, h);
                aie::store_v(y.data() + ${units} * step + at, h);
    % if call.sent_size:
                aie::store_v(sent.data() + at, h);
    % endif
% else:
    % for gate in order:
                writeincr(to, ${place[gate]});
    % endfor
    % if call.beside:
                writeincr(to, word_seen);
    % endif
% endif
            }
% if call.ends:
    % if call.sent_size:
            sent.release();
    % endif
            call.now = call.own = next;
            next = next == odd ? even : odd;
% elif of_state:
            if (later) x.release();
% endif
        }
% if call.sees:
        x.release();
% elif call.ends:
        y.release();
% endif
    }
% if of_state:
    x.acquire();  // the last state, which no step reads
    x.release();
% endif
}
