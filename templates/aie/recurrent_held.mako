<%page args="k"/>\
<%
    gates = k.gates
    first = k.products[0][0]
    def seen_at(gate):
        return f'floats(seen + {gates.index(gate)} * lanes)'
    def sums(gate):
        return f'sums_{gate}'
%>\
/// What a step finds in registers: the state, rounded, what the first gate's sums begin with, and its first weights.
struct Held {
    Rounded state;
    Quarters sums;
    aie::vector<bfloat16, 32> weights[${k.held_tiles}];
};

/// What the next step finds beside its state; `seen` are the sums of its inputs.
MATCH_AIE_INLINE void prepare(Held &held, const float *__restrict seen, const bfloat16 *__restrict w, const bfloat16 *__restrict v) {
    const Floats begin = ${seen_at(first)};
    for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop held.sums.sums[quarter] = begin;
    for (unsigned at = 0; at < ${k.held_tiles}; ++at) chess_flatten_loop held.weights[at] = tile(w, v);
}

/// One step of a call's, and what the step of number `following` finds; products of the state begin with tile `skipped` of the weights.
template <unsigned octets, unsigned skipped>
MATCH_AIE_INLINE void step(const Call &call, Held &held, Gate &sigmoid, Gate &tanh, unsigned number, unsigned following, bfloat16 *__restrict y) {
    static_assert(octets <= 2, "units of a single chunk");
    const bfloat16 *__restrict begin_w = call.w + 16 * skipped, *__restrict begin_v = call.v + 16 * skipped;
    const bfloat16 *__restrict w = begin_w + 16 * ${k.held_tiles}, *__restrict v = begin_v + 16 * ${k.held_tiles};
    const float *__restrict seen = call.seen + ${len(gates)} * lanes * number;
    const auto twice = aie::concat(held.state, held.state);
    const auto [even, odd] = aie::interleave_unzip(twice, twice, 8);
% for gate, in k.products:
    Quarters sums_${gate};
    for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop {
    % if gate == first:
        sums_${gate}.sums[quarter] = held.sums.sums[quarter];
        sums_${gate}.sums[quarter].mac(even, quarter < ${k.held_tiles} ? held.weights[quarter] : tile(w, v));
    % else:
        sums_${gate}.sums[quarter] = ${f'floats(call.bias + {len(gates)} * lanes)' if gate == 'n' else seen_at(gate)};
        sums_${gate}.sums[quarter].mac(even, tile(w, v));
    % endif
    }
    if constexpr (octets == 2) {
        for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop sums_${gate}.sums[quarter].mac(odd, tile(w, v));
    }
% endfor
    prepare(held, call.seen + ${len(gates)} * lanes * following, begin_w, begin_v);
<%include file="aie/recurrent_cell.mako" args="k=k, seen_at=seen_at, sums_of=sums, narrow=False, many='1', first='', lends=False"/>\
}
