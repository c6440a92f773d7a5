<%
    gates, lstm, before = k.gates, k.cell == 'lstm', k.cell == 'gru_before'
%>\
// ${'LSTM' if lstm else 'GRU'} in float32${', reset gate before the product' if before else ''}: eight units at a time, two gates in turn.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = 8, gates = ${len(gates)};
using Floats = aie::vector<float, lanes>;
using Sums = aie::accum<accfloat, lanes>;

/// Vectors of one number each.
enum Number : unsigned { ${', '.join(k.numbers)} };

/// Where the kernel reads and writes.
struct Call {
    const float *__restrict w;        // weights of the state's products
% if k.cell == 'gru':
    const float *__restrict bias;     // of the state's products of the last gate
% endif
    const float *__restrict numbers;
    const float *__restrict now;      // the state's elements that are multiplied first
    const float *__restrict more;     // the others
    const float *__restrict own;      // the state of this tile's units
% if lstm:
    float *__restrict cell;
% endif
% if before:
    float *__restrict update;         // z
    float *__restrict reset;          // r * h
% endif
};

MATCH_AIE_INLINE Floats number(const float *__restrict numbers, Number which) { return aie::load_v<lanes>(numbers + lanes * which); }

MATCH_AIE_INLINE Floats floats(const Sums &sums) { return sums.to_vector<float>(); }

/// Products of `count` elements, gates in turn. Weights go on behind them.
template <unsigned count, unsigned width>
MATCH_AIE_INLINE void products(Sums (&sums)[width], const float *__restrict from, const float *__restrict &w) {
    for (unsigned octet = 0; octet < (count + lanes - 1) / lanes; ++octet) chess_flatten_loop {
        const Floats elements = aie::load_v<lanes>(from + lanes * octet);
        for (unsigned lane = 0; lane < lanes; ++lane) chess_flatten_loop {
            if (lanes * octet + lane >= count) continue;
            for (unsigned at = 0; at < width; ++at) chess_flatten_loop {
                sums[at] = aie::mac(sums[at], aie::load_v<lanes>(w), elements[lane]);
                w += lanes;
            }
        }
    }
}

/// tanh: a quotient of polynomials, whose reciprocal begins with an integer subtraction of bits.
MATCH_AIE_INLINE Floats bent(const Floats &x, const float *__restrict numbers) {
    const Floats held = aie::min(aie::max(x, number(numbers, least)), number(numbers, most));
    const Floats s = floats(aie::mul(held, held)), s2 = floats(aie::mul(s, s));
    const Floats q23 = floats(aie::mac(aie::mac(Sums(number(numbers, q2)), number(numbers, q3), s), number(numbers, q4), s2));
    const Floats below = floats(aie::mac(aie::mac(Sums(number(numbers, q0)), number(numbers, q1), s), q23, s2));
    const Floats p23 = floats(aie::mac(Sums(number(numbers, p2)), number(numbers, p3), s));
    const Floats p = floats(aie::mac(aie::mac(Sums(number(numbers, p0)), number(numbers, p1), s), p23, s2));
    const Floats above = floats(aie::mul(p, held));
    const Floats near = aie::sub(number(numbers, bits).cast_to<int32>(), below.cast_to<int32>()).cast_to<float>();
    const Floats nearer = floats(aie::mul(near, floats(aie::msc(Sums(number(numbers, first)), below, near))));
    const Floats off = floats(aie::msc(Sums(number(numbers, one)), below, nearer));
    const Floats more = floats(aie::mac(Sums(off), off, off));
    const Floats rough = floats(aie::mul(above, nearer));
    return floats(aie::mac(Sums(rough), rough, more));
}

/// The logistic function of twice `x`.
MATCH_AIE_INLINE Floats logistic(const Floats &x, const float *__restrict numbers) {
    const Floats part = number(numbers, half);
    return floats(aie::mac(Sums(part), part, bent(x, numbers)));
}

/// Sums of a step's inputs.
template <unsigned inputs, unsigned chunks>
MATCH_AIE_INLINE void see(const float *__restrict x, const float *__restrict w, const float *__restrict bias, float *__restrict seen) {
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        Sums sums[gates];
        for (unsigned gate = 0; gate < gates; ++gate) chess_flatten_loop sums[gate] = Sums(aie::load_v<lanes>(bias + lanes * (gate * chunks + chunk)));
        products<inputs>(sums, x, w);
        for (unsigned gate = 0; gate < gates; ++gate) chess_flatten_loop aie::store_v(seen + lanes * (gate * chunks + chunk), floats(sums[gate]));
    }
}

/// A step; ${'what leaves' if lstm else 'states'} go to `y`, and where they are `kept` to `next`. Of the state `count` elements lie at `now`, `others` at `more`.
template <unsigned count, unsigned others, unsigned chunks, bool kept = true>
MATCH_AIE_INLINE void step(const Call &call, const float *__restrict seen, float *__restrict next, float *__restrict y) {
    constexpr unsigned units = lanes * chunks;
    const float *__restrict w = call.w, *__restrict numbers = call.numbers;
% if before:
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
        Sums sums[2] = {Sums(aie::load_v<lanes>(seen + units + at)), Sums(aie::load_v<lanes>(seen + at))};
        products<count>(sums, call.now, w);
        aie::store_v(call.update + at, logistic(floats(sums[1]), numbers));
        aie::store_v(call.reset + at, floats(aie::mul(logistic(floats(sums[0]), numbers), aie::load_v<lanes>(call.own + at))));
    }
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
        Sums sums[1] = {Sums(aie::load_v<lanes>(seen + 2 * units + at))};
        products<count>(sums, call.reset, w);
        const Floats n = bent(floats(sums[0]), numbers), z = aie::load_v<lanes>(call.update + at);
% else:
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
% for turn, names in enumerate(k.products):
        Sums sums${turn}[${len(names)}] = {${', '.join(f"Sums(aie::load_v<lanes>({'call.bias + at' if gate == 'n' else f'seen + {gates.index(gate)} * units + at'}))" for gate in names)}};
        products<count>(sums${turn}, call.now, w);
        if constexpr (others > 0) products<others>(sums${turn}, call.more, w);
% endfor
% endif
% if lstm:
        const Floats f = logistic(floats(sums0[0]), numbers), i = logistic(floats(sums0[1]), numbers);
        const Floats g = bent(floats(sums1[0]), numbers);
        const Floats cell = floats(aie::mac(aie::mul(f, aie::load_v<lanes>(call.cell + at)), i, g));
        const Floats h = floats(aie::mul(logistic(floats(sums1[1]), numbers), bent(cell, numbers)));
        aie::store_v(call.cell + at, cell);
% else:
% if not before:
        const Floats r = logistic(floats(sums0[0]), numbers), z = logistic(floats(sums0[1]), numbers);
        const Floats n = bent(floats(aie::mac(Sums(aie::load_v<lanes>(seen + 2 * units + at)), r, floats(sums1[0]))), numbers);
% endif
        const Floats h = floats(aie::mac(Sums(n), z, aie::sub(aie::load_v<lanes>(call.own + at), n)));
% endif
        if constexpr (kept) aie::store_v(next + at, h);
        aie::store_v(y + at, h);
    }
}

}  // namespace ${k.family}
