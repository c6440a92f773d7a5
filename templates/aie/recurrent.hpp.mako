<%
    gates, lstm, before = k.gates, k.cell == 'lstm', k.cell == 'gru_before'
    quarters = range(4)
%>\
// ${'LSTM' if lstm else 'GRU'} in bfloat16${', reset gate before the product' if before else ''}: the products of four steps' inputs at a time, then step by step.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned group = 4, lanes = 16;
constexpr unsigned table_floats = 512;  // of one function in each of two arrays
using Product = aie::mmul<4, 8, 4, bfloat16, bfloat16>;
using Floats = aie::accum<accfloat, lanes>;
using Rounded = aie::vector<bfloat16, lanes>;
using Table = aie::lut<4, float, bfloat16>;
using Gate = aie::linear_approx<bfloat16, Table>;

/// Where the kernel reads and writes. Tiles of weights are 8x4: rows 0 to 3 of each lie at w, others at v.
struct Call {
    const bfloat16 *__restrict w;
    const bfloat16 *__restrict v;
    const float *__restrict bias;
    float *__restrict seen;       // [step][gate][unit]: sums of the inputs' products
    float *__restrict state;      // ${'cells' if lstm else 'states'}
    const bfloat16 *__restrict now;  // rounded states that products read
    bfloat16 *__restrict next;    // those of the step after it
% if before:
    bfloat16 *__restrict update;  // 1 - z
    bfloat16 *__restrict reset;   // r * h
% endif
    const bfloat16 *__restrict more = nullptr;  // states that products read, which do not lie with the others
    bfloat16 *__restrict sent = nullptr;  // rounded states for a neighbour
};

MATCH_AIE_INLINE aie::vector<bfloat16, 32> tile(const bfloat16 *__restrict &w, const bfloat16 *__restrict &v) {
    const auto both = aie::concat(aie::load_v<16>(w), aie::load_v<16>(v));
    w += 16;
    v += 16;
    return both;
}

/// Sums of four quarters [step][4] each, to [step][16].
template <unsigned next_step>
MATCH_AIE_INLINE void put(const Product (&sums)[4], float *to) {
    const auto [a, b] = aie::interleave_zip(sums[0].to_vector<float>(), sums[2].to_vector<float>(), 4);
    const auto [c, d] = aie::interleave_zip(sums[1].to_vector<float>(), sums[3].to_vector<float>(), 4);
    const auto [first, second] = aie::interleave_zip(a, c, 4);
    const auto [third, fourth] = aie::interleave_zip(b, d, 4);
    aie::store_v(to, first);
    aie::store_v(to + next_step, second);
    aie::store_v(to + 2 * next_step, third);
    aie::store_v(to + 3 * next_step, fourth);
}

/// Sums of a group's inputs of `count` gates: bias, then products, the rows of a tile being steps.
template <unsigned octets, unsigned chunks, unsigned steps, unsigned first, unsigned count>
MATCH_AIE_INLINE void some_inputs(const float *__restrict biases, const bfloat16 *__restrict x, float *seen, const bfloat16 *__restrict &w, const bfloat16 *__restrict &v) {
    constexpr unsigned units = chunks * lanes;
    Product sums[count][4];
    for (unsigned at = 0; at < count; ++at) chess_flatten_loop {
        const auto bias = aie::load_v<lanes>(biases + lanes * (first + at));
        const auto [low, high] = aie::interleave_zip(bias, bias, 4);
        const auto [b0, b1] = aie::interleave_zip(low, low, 8);
        const auto [b2, b3] = aie::interleave_zip(high, high, 8);
        sums[at][0] = Floats(b0);
        sums[at][1] = Floats(b1);
        sums[at][2] = Floats(b2);
        sums[at][3] = Floats(b3);
    }
    for (unsigned octet = 0; octet < octets; ++octet) chess_flatten_loop {
        const auto rows = aie::load_v<32>(x + 8 * steps * octet);
        for (unsigned at = 0; at < 4 * count; ++at) chess_flatten_loop sums[at / 4][at % 4].mac(rows, tile(w, v));
    }
    for (unsigned at = 0; at < count; ++at) chess_flatten_loop {
        const unsigned chunk = (first + at) / ${len(gates)}, gate = (first + at) % ${len(gates)};
        put<${len(gates)} * units>(sums[at], seen + gate * units + chunk * lanes);
    }
}

% if k.quartered:
/// Those of a gate of a group of steps.
template <unsigned octets, unsigned gate>
MATCH_AIE_INLINE void one_input(const float *__restrict biases, const bfloat16 *__restrict x, float *seen, const bfloat16 *__restrict w, const bfloat16 *__restrict v) {
    some_inputs<octets, 1, group, gate, 1>(biases, x, seen, w, v);
}

% endif
/// Those of `some` chunks of units, two at a time.
template <unsigned octets, unsigned chunks, unsigned steps, unsigned some, unsigned first = 0>
MATCH_AIE_INLINE void all_inputs(const float *__restrict biases, const bfloat16 *__restrict x, float *seen, const bfloat16 *__restrict w, const bfloat16 *__restrict v) {
    constexpr unsigned all = ${len(gates)} * some, count = all - first < 2 ? all - first : 2;
    some_inputs<octets, chunks, steps, first, count>(biases, x, seen, w, v);
    if constexpr (first + count < all) all_inputs<octets, chunks, steps, some, first + count>(biases, x, seen, w, v);
}

/// The inputs of four of a call's `steps`, from step `first` on, in so many equal parts.
template <unsigned octets, unsigned chunks, unsigned steps, unsigned parts>
MATCH_AIE_INLINE void inputs(const Call &call, const bfloat16 *__restrict x, const bfloat16 *__restrict w, const bfloat16 *__restrict v, unsigned first) {
    constexpr unsigned some = chunks / parts, units = some * lanes;
    float *seen = call.seen + ${len(gates)} * chunks * lanes * first;
    for (unsigned part = 0; part < parts; ++part) {
        const float *__restrict biases = call.bias + ${len(gates)} * units * part;
        const unsigned weights = ${16 * 4 * len(gates)} * some * octets * part;
        all_inputs<octets, chunks, steps, some>(biases, x + 8 * first, seen + units * part, w + weights, v + weights);
    }
}

% if not k.quartered:
/// An octet of a state in one row of four, zeros in the others.
MATCH_AIE_INLINE aie::vector<bfloat16, 32> row(const aie::vector<bfloat16, 32> &octets, unsigned at) {
    return aie::select(aie::zeros<bfloat16, 32>(), octets, aie::mask<32>::from_uint32(0xffu << 8 * at));
}

/// Adds the products of a state to sums, [chunk][gate]; its octets from `split` on lie elsewhere. Weights go on behind it.
template <unsigned octets, unsigned split, unsigned count>
MATCH_AIE_INLINE void products(Product (&sums)[count], const bfloat16 *__restrict h, const bfloat16 *__restrict more, const bfloat16 *__restrict &w, const bfloat16 *__restrict &v) {
    for (unsigned octet = 0; octet < octets; ++octet) chess_flatten_loop {
        const auto one = aie::load_v<8>(octet < split ? h + 8 * octet : more + 8 * (octet - split));
        const auto octets_of = aie::concat(one, one, one, one);
        for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop {
            const auto rows = row(octets_of, quarter);
            for (unsigned at = 0; at < count; ++at) chess_flatten_loop sums[at].mac(rows, tile(w, v));
        }
    }
}

% endif
MATCH_AIE_INLINE Rounded rounded(const Floats &sums) { return sums.to_vector<bfloat16>(); }

% if k.quartered:
/// Quarters of sixteen sums, each in an accumulator of its own; others' lanes mean nothing.
struct Quarters {
    Product sums[4];
};

MATCH_AIE_INLINE Rounded rounded(const Quarters &of) {
    // One after the other, as they are there.
    Rounded found = rounded(of.sums[0].to_accum());
    found = aie::select(found, rounded(of.sums[1].to_accum()), aie::mask<lanes>::from_uint32(0x00f0u));
    found = aie::select(found, rounded(of.sums[2].to_accum()), aie::mask<lanes>::from_uint32(0x0f00u));
    return aie::select(found, rounded(of.sums[3].to_accum()), aie::mask<lanes>::from_uint32(0xf000u));
}

% if not k.held:
/// Sixteen units as two octets, each four times in a vector.
struct Pair {
    aie::vector<bfloat16, 32> even, odd;
};

MATCH_AIE_INLINE Pair pair_of(const Rounded &both) {
    const auto twice = aie::concat(both, both);
    const auto [even, odd] = aie::interleave_unzip(twice, twice, 8);
    return {even, odd};
}

    % if k.paired:
/// A state in registers.
struct State {
    Pair pairs[2];
    MATCH_AIE_INLINE const Pair &pair(unsigned at) const { return pairs[at]; }
};
    % else:
/// A state as all gates' products read it: few octets stay in registers, of more each gate loads its own. Those from `split` on lie elsewhere.
template <unsigned octets, unsigned split>
struct State {
    static_assert(split % 2 == 0 || split == octets, "octets lie in pairs");
    static constexpr bool kept = octets <= ${k.kept_octets};
    const bfloat16 *__restrict h;
    const bfloat16 *__restrict more;
    Pair pairs[kept ? (octets + 1) / 2 : 1];

    MATCH_AIE_INLINE State(const bfloat16 *__restrict from, const bfloat16 *__restrict elsewhere) : h(from), more(elsewhere) {
        if constexpr (kept) {
            for (unsigned at = 0; 2 * at < octets; ++at) chess_flatten_loop pairs[at] = loaded(at);
        }
    }
    MATCH_AIE_INLINE Pair loaded(unsigned at) const { return pair_of(aie::load_v<lanes>(2 * at < split ? h + lanes * at : more + lanes * at - 8 * split)); }
    MATCH_AIE_INLINE Pair pair(unsigned at) const {
        if constexpr (kept) {
            return pairs[at];
        } else {
            return loaded(at);
        }
    }
};
    % endif

/// Adds the products of a state, from octet `first` to `octets`, to a gate's sums. Weights go on behind it.
template <unsigned octets, unsigned first = 0, typename Of>
MATCH_AIE_INLINE void products(Quarters &of, const Of &state, const bfloat16 *__restrict &w, const bfloat16 *__restrict &v) {
    for (unsigned octet = first; octet < octets; octet += 2) chess_flatten_loop {
        const Pair two = state.pair(octet / 2);
        for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop of.sums[quarter].mac(two.even, tile(w, v));
        if (octet + 1 == octets) break;
        for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop of.sums[quarter].mac(two.odd, tile(w, v));
    }
}

% endif
% endif

MATCH_AIE_INLINE Floats floats(const float *__restrict from) { return Floats(aie::load_v<lanes>(from)); }

% if not k.held:
/// Takes a chunk of a step's units, which nobody wants.
struct Nobody {
    MATCH_AIE_INLINE void operator()(const Floats &) const {}
};

% endif
% if k.held:
<%include file="aie/recurrent_held.mako" args="k=k"/>\
% elif k.quartered and k.paired:
<%include file="aie/recurrent_paired.mako" args="k=k"/>\
% else:

/// One step; products of the state begin with tile `skipped` of the weights. `hand` gets its units as they are before they are rounded.
template <unsigned octets, unsigned chunks, unsigned skipped, unsigned split = octets, bool lent = false, typename Hand = Nobody>
MATCH_AIE_INLINE void step(const Call &call, Gate &sigmoid, Gate &tanh, unsigned number, bfloat16 *__restrict y, const Hand &hand = {}) {
    constexpr unsigned units = chunks * lanes;
    const float *__restrict seen = call.seen + ${len(gates)} * units * number;
    const bfloat16 *__restrict w = call.w + 16 * skipped, *__restrict v = call.v + 16 * skipped;
<%
    def sums(gate):
        turn = next(n for n, gates_of in enumerate(k.products) if gate in gates_of)
        width = len(k.products[turn])
        if k.quartered:
            return f'sums{turn}'
        return f'sums{turn}[{width} * chunk + {k.products[turn].index(gate)}].to_accum()'
    def seen_at(gate):
        return f'floats(seen + {gates.index(gate)} * units + at)'
%>\
% if k.quartered:
    const State<octets, split> rows(call.now, call.more);
% endif
% for turn, names in enumerate(k.products):
<%
    width, last = len(names), turn + 1 == len(k.products)
    source = 'call.reset' if before and last else 'call.now'
%>\
    % if k.quartered:
    static_assert(chunks == 1, "sums of a single chunk");
    Quarters sums${turn};
    for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop {
        constexpr unsigned at = 0;
        % if names[0] == 'n':
        sums${turn}.sums[quarter] = floats(call.bias + ${16 * len(gates)} * chunks + at);
        % else:
        sums${turn}.sums[quarter] = ${seen_at(names[0])};
        % endif
    }
    products<octets>(sums${turn}, rows, w, v);
    % else:
    Product sums${turn}[${width} * chunks];
    for (unsigned chunk = 0; chunk < chunks; ++chunk) chess_flatten_loop {
        const unsigned at = chunk * lanes;
    % for n, gate in enumerate(names):
        % if gate == 'n' and not before:
        sums${turn}[${width} * chunk + ${n}] = floats(call.bias + ${16 * len(gates)} * chunks + at);
        % else:
        sums${turn}[${width} * chunk + ${n}] = ${seen_at(gate)};
        % endif
    % endfor
    }
    products<octets, split>(sums${turn}, ${source}, call.more, w, v);
    % endif
    % if before and not last:
    for (unsigned chunk = 0; chunk < chunks; ++chunk) chess_flatten_loop {
        const unsigned at = chunk * lanes;
        const Rounded r = rounded(sigmoid.compute(rounded(${sums('r')})));
        aie::store_v(call.update + at, rounded(sigmoid.compute(rounded(${sums('z')}))));
        aie::store_v(call.reset + at, rounded(aie::mul(r, aie::load_v<lanes>(call.now + at))));
    }
    % endif
% endfor
<%include file="aie/recurrent_cell.mako" args="k=k, seen_at=seen_at, sums_of=sums, narrow=False, many='chunks', first='', lends=True"/>\
}
% endif

}  // namespace ${k.family}
