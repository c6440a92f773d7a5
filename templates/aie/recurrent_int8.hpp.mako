<%
    gates, lstm, before = k.gates, k.cell == 'lstm', k.cell == 'gru_before'
    count = len(gates)
    looped_octets = k.looped_octets
%>\
// ${'LSTM' if lstm else 'GRU'} with products of 8 bits${', reset gate before the product' if before else ''}: the products of four steps' inputs at a time, then step by step.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned group = 4, lanes = 16, wide = 32;
constexpr unsigned table_floats = 512;  // of one function in each of two arrays
constexpr int large = 0x4b400000;   // the bits of 1.5 * 2^23, whose last bit means 1
constexpr int states = 0x47c00000;  // the bits of 1.5 * 2^16, whose last bit means 1/128
using Seen = aie::mmul<4, 8, 8, ${k.x}, int8>;
using Product = aie::mmul<4, 8, 8, int8, int8>;
using Wide = aie::accum<acc32, wide>;
using Integers = aie::accum<acc32, lanes>;
using Floats = aie::accum<accfloat, lanes>;
using Rounded = aie::vector<bfloat16, lanes>;
using Table = aie::lut<4, float, bfloat16>;
using Gate = aie::linear_approx<bfloat16, Table>;

/// Where the kernel reads and writes. Tiles of weights are 8x8: rows 0 to 3 of each lie at w, others at v.
struct Call {
    const int8 *__restrict w;
    const int8 *__restrict v;
    const int32 *__restrict begin;     // [chunk][gate][32]: of the inputs' sums
    const float *__restrict bias;      // [chunk][gate][octet][2][8], then those of a state's sums
    const bfloat16 *__restrict scale;  // likewise, then [gate][unit]
    float *__restrict seen;            // [step][gate][unit]: what the inputs add
    float *__restrict state;           // ${'cells' if lstm else 'states'}
    const int8 *__restrict now;        // states in steps of 1/128 that products read
    int8 *__restrict next;             // those of the step after it
% if before:
    bfloat16 *__restrict real;         // rounded states
    bfloat16 *__restrict update;       // 1 - z
    int8 *__restrict reset;            // r * h
% endif
    const int8 *__restrict more = nullptr;  // states that products read, which do not lie with the others
    int8 *__restrict sent = nullptr;        // then, those of the step after it once more
};

MATCH_AIE_INLINE aie::vector<int8, 64> tile(const int8 *__restrict &w, const int8 *__restrict &v) {
    const auto both = aie::concat(aie::load_v<32>(w), aie::load_v<32>(v));
    w += 32;
    v += 32;
    return both;
}

MATCH_AIE_INLINE Rounded rounded(const Floats &sums) { return sums.to_vector<bfloat16>(); }

MATCH_AIE_INLINE Floats floats(const float *__restrict from) { return Floats(aie::load_v<lanes>(from)); }

MATCH_AIE_INLINE Integers bits(int value) { return Integers(aie::broadcast<int32, lanes>(value)); }

/// Sums that began with `large`, rounded.
MATCH_AIE_INLINE Rounded whole(const Integers &sums) {
    return rounded(aie::sub(sums.cast_to<accfloat>(), bits(large).cast_to<accfloat>()));
}

/// States in steps of 1/128, saturated.
MATCH_AIE_INLINE aie::vector<int8, lanes> in_steps(const Floats &values) {
    const Floats moved = aie::add(values, bits(states).cast_to<accfloat>());
    return aie::sub(moved.cast_to<acc32>(), bits(states)).to_vector<int8>(0);
}

/// What the inputs of four steps add to the sums of a gate of a chunk.
template <unsigned octets, unsigned chunks, unsigned steps>
MATCH_AIE_INLINE void one_input(const Call &call, const ${k.x} *__restrict x, float *seen, const int8 *__restrict &w, const int8 *__restrict &v, unsigned chunk, unsigned gate) {
    constexpr unsigned next_step = ${count} * chunks * lanes;
    const unsigned number = ${count} * chunk + gate;
    Seen sums[4];
    for (unsigned at = 0; at < 4; ++at) chess_flatten_loop {
        const auto begin = aie::load_v<8>(call.begin + wide * number + 8 * at);
        const auto twice = aie::concat(begin, begin);
        sums[at] = Wide(aie::concat(twice, twice));
    }
    for (unsigned octet = 0; octet < octets; ++octet) chess_flatten_loop {
        const auto rows = aie::load_v<32>(x + 8 * steps * octet);
        for (unsigned at = 0; at < 4; ++at) chess_flatten_loop sums[at].mac(rows, tile(w, v));
    }
    float *to = seen + gate * chunks * lanes + chunk * wide;
    for (unsigned at = 0; at < 4; ++at) chess_flatten_loop {
        const unsigned numbers = 2 * wide * number + 16 * at;
        const auto scale = aie::load_v<lanes>(call.scale + numbers);
        const Floats bias = floats(call.bias + numbers);
        for (unsigned half = 0; half < 2; ++half) chess_flatten_loop {
            const auto sum = whole(sums[at].to_accum().template extract<lanes>(half));
            const auto made = aie::mac(bias, scale, sum).template to_vector<float>();
            aie::store_v(to + 8 * at + 2 * half * next_step, made.template extract<8>(0));
            aie::store_v(to + 8 * at + (2 * half + 1) * next_step, made.template extract<8>(1));
        }
    }
}

/// The inputs of four of a call's `steps`, from step `first` on.
template <unsigned octets, unsigned chunks, unsigned steps>
MATCH_AIE_INLINE void inputs(const Call &call, const ${k.x} *__restrict x, const int8 *__restrict w, const int8 *__restrict v, unsigned first) {
    float *const seen = call.seen + ${count} * chunks * lanes * first;
    for (unsigned chunk = 0; chunk < chunks / 2; ++chunk) {
        if constexpr (octets >= ${looped_octets}) {  // code of one gate
            for (unsigned gate = 0; gate < ${count}; ++gate) one_input<octets, chunks, steps>(call, x + 8 * first, seen, w, v, chunk, gate);
        } else {
            for (unsigned gate = 0; gate < ${count}; ++gate) chess_flatten_loop {
                one_input<octets, chunks, steps>(call, x + 8 * first, seen, w, v, chunk, gate);
            }
        }
    }
}

/// Adds the products of a state to sums, which may begin here, gate by gate; its vectors from `split` on lie elsewhere. Weights go on behind it.
template <unsigned vectors, unsigned split, bool begins = true, unsigned count>
MATCH_AIE_INLINE void products(Product (&sums)[count], const int8 *__restrict h, const int8 *__restrict more, const int8 *__restrict &w, const int8 *__restrict &v) {
    if constexpr (begins) {
        for (unsigned at = 0; at < count; ++at) chess_flatten_loop sums[at] = Wide(aie::broadcast<int32, wide>(large));
    }
    for (unsigned vector = 0; vector < vectors; ++vector) chess_flatten_loop {
        const auto octets = aie::load_v<wide>(vector < split ? h + wide * vector : more + wide * (vector - split));
        for (unsigned turn = 0; turn < 4; ++turn) chess_flatten_loop {
            const auto turned = aie::shuffle_down_fill(octets, octets, 8 * turn);
            for (unsigned quarter = 0; quarter < 4; ++quarter) chess_flatten_loop {
                const auto row = aie::mask<wide>::from_uint32(0xffu << 8 * quarter);
                const auto rows = aie::select(aie::zeros<int8, wide>(), turned, row);
                for (unsigned at = 0; at < count; ++at) chess_flatten_loop sums[at].mac(rows, tile(w, v));
            }
        }
    }
}

/// One step, 32 units at a time; products of `vectors` of the state begin with tile `skipped` of the weights.
template <unsigned vectors, unsigned chunks, unsigned skipped, unsigned split = vectors>
MATCH_AIE_INLINE void step(const Call &call, Gate &sigmoid, Gate &tanh, unsigned number, bfloat16 *__restrict y) {
    constexpr unsigned units = chunks * lanes;
    const float *__restrict seen = call.seen + ${count} * units * number;
    const int8 *__restrict w = call.w + 32 * skipped, *__restrict v = call.v + 32 * skipped;
% if k.cell == 'gru':
    const float *__restrict apart = call.bias + ${2 * count} * units;
% endif
    const bfloat16 *__restrict scale = call.scale + ${2 * count} * units;
<%
    def seen_at(gate):
        return f'floats(seen + {gates.index(gate)} * units + at)'
    def sums(gate):
        turn = next(n for n, gates_of in enumerate(k.products) if gate in gates_of)
        sum_of = f'whole(sums{turn}[{k.products[turn].index(gate)}].to_accum().template extract<lanes>(chunk))'
        first = 'floats(apart + at)' if gate == 'n' and not before else seen_at(gate)
        return f'aie::mac({first}, aie::load_v<lanes>(scale + {gates.index(gate)} * units + at), {sum_of})'
%>\
    for (unsigned begin = 0; begin < units; begin += wide) {
% for turn, names in enumerate(k.products):
        Product sums${turn}[${len(names)}];
        products<vectors, split>(sums${turn}, ${'call.reset' if before and turn else 'call.now'}, call.more, w, v);
    % if before and not turn:
        for (unsigned chunk = 0; chunk < 2; ++chunk) chess_flatten_loop {
            const unsigned at = begin + chunk * lanes;
            const Rounded r = rounded(sigmoid.compute(rounded(${sums('r')})));
            aie::store_v(call.reset + at, in_steps(aie::mul(r, aie::load_v<lanes>(call.real + at))));
            aie::store_v(call.update + at, rounded(sigmoid.compute(rounded(${sums('z')}))));
        }
    }
    for (unsigned begin = 0; begin < units; begin += wide) {
    % endif
% endfor
<%include file="aie/recurrent_cell.mako" args="k=k, seen_at=seen_at, sums_of=sums, narrow=True, many='2', first='begin + ', lends=False"/>\
    }
}

}  // namespace ${k.family}
