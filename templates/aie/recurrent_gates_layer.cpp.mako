<%
    family, gates, own = call.spec.family, call.spec.gates, call.own
    gru, units = call.spec.cell == 'gru', call.y_width
    skipped = 4 * len(gates) * call.x_octets if call.begins else 0
    named = {p.name for p in call.parameters}
    which = {gate: 'tanh' if gate == 'g' else 'sigmoid' for gate in gates}
    used = {which[gate] for gate in own if not (gru and gate == 'n')} | ({'tanh'} if call.ends else set())
    who = 'the state' if call.ends else 'products of inputs' if call.begins else 'a part'
    def inputs(at, to):
        skipped = f' + {16 * 4 * call.x_octets * at}' if at else ''
        return f'one_input<{call.x_octets}, {at}>(bias, x.data(), {to}, w{skipped}, v{skipped});'
    def sums_of(step):
        one = f'({step})' if '+' in step else step
        return f'seen + {call.seen_size} * ({one} / group % 2) + {len(gates) * units} * ({one} % group)'
    def at_gate(of, gate):
        skipped = gates.index(gate) * units
        return f'{of} + {skipped}' if skipped else of
    def begin(gate):
        if gru and gate == 'n':
            return f'floats(bias + {len(gates) * units})'
        return f'floats({at_gate("mine", gate)})' if call.begins else f'begun_{gate}'
    def word(gate):
        if gru and gate == 'n':
            return 'aie::mul(rounded(sums_n), one)'
        return f'{which[gate]}.compute(rounded(sums_{gate}))'
    def gate_of(gate):
        if gate not in own:
            return 'rounded(readincr_v<lanes>(from))'
        return 'rounded(sums_n)' if gru and gate == 'n' else f'rounded({word(gate)})'
%>\
// ${call.steps} steps of ${units} of ${call.whole} units, gate${'s' * (len(own) > 1)} ${', '.join(own)}: the tile with ${who} of a chain of ${call.depth}.
#include "${family}.hpp"
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    using namespace ${family};
% if call.begins:
    alignas(aie::vector_decl_align) float seen[${2 * call.seen_size}];  // of this group of steps, and of the next one
% endif
% if call.ends:
    alignas(aie::vector_decl_align) float state[${units}];
    aie::store_v(state, aie::zeros<float, lanes>());
% endif
    alignas(aie::vector_decl_align) int32 words[${call.whole // 2}];
    for (unsigned at = 0; at < ${call.whole // 2}; at += 8) aie::store_v(words + at, aie::zeros<int32, 8>());
    unsigned place[32] = {};
    for (unsigned chain = 0; chain < ${call.chains}; ++chain) place[getPacketid(h, chain)] = ${call.words} * chain;
    aie::set_rounding(aie::rounding_mode::conv_even);
% if 'sigmoid' in used:
    const Table sigmoid_table(128, ab, cd);
    Gate sigmoid(sigmoid_table, -3, 64);
% endif
% if 'tanh' in used:
    const Table tanh_table(128, ab + table_floats, cd + table_floats);
    Gate tanh(tanh_table, -4, 64);
% endif
% if gru and 'n' in own and not call.ends:
    const Rounded one = aie::broadcast<bfloat16, lanes>(1.0f);
% endif
% if call.begins:
    x.acquire();
    % for at in range(len(gates)):
    ${inputs(at, 'seen')}
    % endfor
    x.release();
    % for gate in call.handed:
    writeincr(to, floats(${at_gate('seen', gate)}));
    % endfor
% endif
    const bfloat16 *__restrict whole = reinterpret_cast<const bfloat16 *>(words);
    for (unsigned step = 0; step < ${call.steps}; ++step) {
% if call.begins:
        const float *__restrict mine = ${sums_of('step')};
% endif
% for gate in () if call.begins else call.handed:
        writeincr(to, Floats(readincr_v<lanes>(from)));
% endfor
% for gate in call.kept:
        const Floats begun_${gate} = readincr_v<lanes>(from);
% endfor
        if (step > 0) {
            for (unsigned packet = 0; packet < ${call.chains}; ++packet) chess_flatten_loop {
                int32 *to_place = words + place[static_cast<unsigned>(readincr(h)) & 31];  // of whom it is
                for (unsigned word = 0; word < ${call.words}; ++word) chess_flatten_loop to_place[word] = readincr(h);
            }
        }
        const bfloat16 *__restrict left = w + ${16 * skipped}, *__restrict right = v + ${16 * skipped};
        const State<${call.h_octets}, ${call.h_octets}> rows(whole, nullptr);
% for gate in own:
        Quarters sums_${gate};
        for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop sums_${gate}.sums[quarter] = ${begin(gate)};
        products<${call.h_octets}>(sums_${gate}, rows, left, right);
    % if not call.ends:
        writeincr(to, ${word(gate)});
    % endif
% endfor
% if not call.ends:
    % for _ in call.later:
        writeincr(to, Floats(readincr_v<lanes>(from)));
    % endfor
% else:
    % if gru:
        const Rounded r = ${gate_of('r')};
        const Floats total = aie::mac(begun_n, r, ${gate_of('n')});
        const Floats n = tanh.compute(rounded(total));
        const Floats before = floats(state);
        const Rounded rest = rounded(aie::sub(n, before));
        const Floats after = aie::mac(before, ${gate_of('z')}, rest), out = after;
    % else:
        const Rounded i = ${gate_of('i')};
        const Rounded g = ${gate_of('g')};
        const Rounded f = ${gate_of('f')};
        const Floats before = floats(state);
        const Floats after = aie::mac(aie::msc(before, f, rounded(before)), i, g);
        const Rounded bent = rounded(tanh.compute(rounded(after)));
        const Floats out = aie::mul(${gate_of('o')}, bent);
    % endif
        const Rounded result = rounded(out);
        if (step % ${call.group} == 0) y.acquire();
        aie::store_v(state, after.template to_vector<float>());
        aie::store_v(y.data() + ${units} * (step % ${call.group}), result);
        if (step + 1 < ${call.steps}) {  // nothing reads the last state
            sent.acquire();
            aie::store_v(sent.data(), result);
            sent.release();
        }
        if (step % ${call.group} == ${call.group - 1} || step == ${call.steps - 1}) y.release();
% endif
% if call.begins:
        const bool more = step / group * group + group < ${call.steps};  // another group
        float *next = seen + ${call.seen_size} * ((step / group + 1) % 2);
    % if len(gates) == 4:
        if (more && step % group == 3) {
            ${inputs(3, 'next')}
            x.release();
        }
    % endif
        if (step + 1 < ${call.steps}) {
            const float *__restrict then = ${sums_of('step + 1')};
    % for gate in call.handed:
            writeincr(to, floats(${at_gate('then', gate)}));
    % endfor
        }
        if (more) {
            if (step % group == 0) x.acquire();
    % for at in range(3):
            if (step % group == ${at}) ${inputs(at, 'next')}
    % endfor
    % if len(gates) == 3:
            if (step % group == 2) x.release();
    % endif
        }
% endif
    }
}
