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
    const float *__restrict now;      // the state
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

/// tanh as a quotient (1 + e^4) c / Q of polynomials' factors: the first reciprocal is an integer subtraction of bits, e what it leaves.
struct Quotient {
    Floats third, off4;

    MATCH_AIE_INLINE Floats value() const { return floats(aie::mac(Sums(third), third, off4)); }
    MATCH_AIE_INLINE Floats added(const Floats &base) const { return floats(aie::mac(Sums(aie::add(base, third)), third, off4)); }
};

/// b + a s + s^2
MATCH_AIE_INLINE Floats factor(const Floats &s, const float *__restrict numbers, Number b, Number a) {
    return floats(aie::mac(aie::mac(Sums(number(numbers, b)), number(numbers, a), s), s, s));
}

template <bool gated>
MATCH_AIE_INLINE Quotient quotient(const Floats &x, const Floats &gate, const float *__restrict numbers) {
    const Floats s = aie::min(floats(aie::mul(x, x)), number(numbers, square));
    const Floats held = aie::min(aie::max(x, number(numbers, least)), number(numbers, most));
    const Floats below = floats(aie::mul(factor(s, numbers, q0, q1), factor(s, numbers, r0, r1)));
    Floats more = factor(s, numbers, t0, t1);
    if constexpr (gated) more = floats(aie::mul(more, gate));
    const Floats line = floats(aie::mac(Sums(number(numbers, c0)), number(numbers, c1), s));
    const Floats above = floats(aie::mul(more, floats(aie::mul(held, line))));
    const Floats near = aie::sub(number(numbers, bits).cast_to<int32>(), below.cast_to<int32>()).cast_to<float>();
    const Floats off = floats(aie::msc(Sums(number(numbers, one)), below, near)), off2 = floats(aie::mul(off, off));
    const Floats first = floats(aie::mul(above, near)), second = floats(aie::mac(Sums(first), first, off));
    return {floats(aie::mac(Sums(second), second, off2)), floats(aie::mul(off2, off2))};
}

MATCH_AIE_INLINE Floats bent(const Floats &x, const float *__restrict numbers) { return quotient<false>(x, x, numbers).value(); }

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

% if lstm:
/// Units of a chunk, from unit `at` on, of the sums of its gates.
MATCH_AIE_INLINE Floats gated(const Call &call, const Sums &of_f, const Sums &of_i, const Sums &of_o, const Sums &of_g, unsigned at) {
    const float *__restrict numbers = call.numbers;
    const Floats f = logistic(floats(of_f), numbers), i = logistic(floats(of_i), numbers);
    const Floats cell = quotient<true>(floats(of_g), i, numbers).added(floats(aie::mul(f, aie::load_v<lanes>(call.cell + at))));
    const Floats h = quotient<true>(cell, logistic(floats(of_o), numbers), numbers).value();
    aie::store_v(call.cell + at, cell);
    return h;
}
% else:
/// Units of a chunk, from unit `at` on: what z lets through, and tanh of `total`.
MATCH_AIE_INLINE Floats moved(const Call &call, const Floats &total, const Floats &z, unsigned at) {
    const Floats rest = aie::sub(number(call.numbers, one), z);
    return quotient<true>(total, rest, call.numbers).added(floats(aie::mul(z, aie::load_v<lanes>(call.own + at))));
}
% if not before:

/// Likewise, of the sums of its gates, and what inputs add to the last one: r v is v / 2 + tanh v / 2.
MATCH_AIE_INLINE Floats gated(const Call &call, const Sums &of_r, const Sums &of_z, const Sums &of_n, const Floats &seen, unsigned at) {
    const Floats halved = floats(of_n), z = logistic(floats(of_z), call.numbers);
    const Floats base = aie::add(seen, halved);
    return moved(call, floats(aie::mac(Sums(base), bent(floats(of_r), call.numbers), halved)), z, at);
}
% endif
% endif

% if before:
/// First part of a step: z, and what r lets through of this tile's units of the state, which goes to `to`.
template <unsigned count, unsigned chunks>
MATCH_AIE_INLINE void resets(const Call &call, const float *__restrict seen, const float *__restrict &w, float *__restrict to) {
    constexpr unsigned units = lanes * chunks;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
        Sums sums[2] = {Sums(aie::load_v<lanes>(seen + units + at)), Sums(aie::load_v<lanes>(seen + at))};
        products<count>(sums, call.now, w);
        aie::store_v(call.update + at, logistic(floats(sums[1]), call.numbers));
        aie::store_v(to + at, floats(aie::mul(logistic(floats(sums[0]), call.numbers), aie::load_v<lanes>(call.own + at))));
    }
}

/// Second part: states, of what all reset gates let through.
template <unsigned count, unsigned chunks>
MATCH_AIE_INLINE void states(const Call &call, const float *__restrict seen, const float *__restrict &w, float *__restrict next, float *__restrict y) {
    constexpr unsigned units = lanes * chunks;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
        Sums sums[1] = {Sums(aie::load_v<lanes>(seen + 2 * units + at))};
        products<count>(sums, call.reset, w);
        const Floats h = moved(call, floats(sums[0]), aie::load_v<lanes>(call.update + at), at);
        aie::store_v(next + at, h);
        aie::store_v(y + at, h);
    }
}

% endif
/// A step; ${'what leaves' if lstm else 'states'} go to `y`, and to `next`. `count` elements of the state lie at `now`.
template <unsigned count, unsigned chunks>
MATCH_AIE_INLINE void step(const Call &call, const float *__restrict seen, float *__restrict next, float *__restrict y) {
    const float *__restrict w = call.w;
% if before:
    resets<count, chunks>(call, seen, w, call.reset);
    states<count, chunks>(call, seen, w, next, y);
% else:
    constexpr unsigned units = lanes * chunks;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned at = lanes * chunk;
% for turn, names in enumerate(k.products):
        Sums sums${turn}[${len(names)}] = {${', '.join(f"Sums(aie::load_v<lanes>({'call.bias + at' if gate == 'n' else f'seen + {gates.index(gate)} * units + at'}))" for gate in names)}};
        products<count>(sums${turn}, call.now, w);
% endfor
% if lstm:
        const Floats h = gated(call, sums0[0], sums0[1], sums1[0], sums1[1], at);
% else:
        const Floats h = gated(call, sums0[0], sums0[1], sums1[0], aie::load_v<lanes>(seen + 2 * units + at), at);
% endif
        aie::store_v(next + at, h);
        aie::store_v(y + at, h);
    }
% endif
}

}  // namespace ${k.family}
