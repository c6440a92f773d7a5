<%page args="k"/>\
<%
    gates, gru = k.gates, k.cell == 'gru'
    names = [gate for gate, in k.products]
    def seen_at(gate):
        return f'floats(seen + {gates.index(gate)} * lanes)'
    def sums(gate):
        return f'sums_{gate}'
%>\
/// One step of a tile with half of the units: `own` and `other` are the state before, and `own` is then the one after. `hand` gets its units as they are before they are rounded.
template <bool first, bool lent, typename Hand = Nobody>
MATCH_AIE_INLINE void step(const Call &call, Rounded &own, const Rounded &other, Gate &sigmoid, Gate &tanh, unsigned number, bfloat16 *__restrict y, const Hand &hand = {}) {
    constexpr unsigned octets = 4, tiles = 16 * 4 * octets;
    const float *__restrict seen = call.seen + ${len(gates)} * lanes * number;
    const State state{{pair_of(first ? own : other), pair_of(first ? other : own)}};
% for at, gate in enumerate(names):
    const bfloat16 *__restrict w_${gate} = call.w + ${at} * tiles, *__restrict v_${gate} = call.v + ${at} * tiles;
    Quarters sums_${gate};
    for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop sums_${gate}.sums[quarter] = ${f'floats(call.bias + {len(gates)} * lanes)' if gru and gate == 'n' else seen_at(gate)};
% endfor
% for gate in names:
    products<octets>(sums_${gate}, state, w_${gate}, v_${gate});
% endfor
<%include file="aie/recurrent_cell.mako" args="k=k, seen_at=seen_at, sums_of=sums, narrow=False, many='1', first='', lends=True"/>\
}
