// Attention in bfloat16 of which a part of the keys is there at a time, beside its products lane by lane: queries times a
// factor; weights, which are powers of two by scores as they are, and their sums; results. Rows of queries lie in lanes.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

// On the core everything must end up in one function, so that accumulators stay in registers.
#ifdef __AIENGINE__
#define MATCH_AIE_INLINE inline __attribute__((always_inline))
#else
#define MATCH_AIE_INLINE inline
#endif

namespace attention_unshifted_laned_bfloat16 {
    constexpr unsigned lanes = 16;
    using Floats = aie::accum<accfloat, lanes>;
    using Rounded = aie::vector<bfloat16, lanes>;
    /// Floats as sums of two bfloat16 numbers, but for 2^-17 of them.
    struct Split {
        Rounded high;
        Rounded low;
    };
    MATCH_AIE_INLINE Split split(const Floats &value) {
        const Rounded high = value.to_vector<bfloat16>();
        return {high, aie::sub(value, Floats(high)).to_vector<bfloat16>()};
    }
    MATCH_AIE_INLINE Floats times(const Split &a, const Split &b) {
        const Floats first = aie::mac(aie::mul(a.high, b.high), a.high, b.low);
        return aie::mac(aie::mac(first, a.low, b.high), a.low, b.low);
    }
    MATCH_AIE_INLINE Floats everywhere(float value) { return Floats(aie::broadcast<float, lanes>(value)); }
    /// The sum of all lanes, in each of them.
    MATCH_AIE_INLINE Floats summed(const Floats &value) {
        return everywhere(aie::reduce_add(value.to_vector<float>()));
    }
    /// A float whose bits are a number less those of another one.
    MATCH_AIE_INLINE Floats guessed(int32 from, const aie::vector<int32, lanes> &bits) {
        return Floats(aie::sub(aie::broadcast<int32, lanes>(from), bits).cast_to<float>());
    }
    constexpr unsigned wide = 32, tile = 32;
    using Steps = aie::vector<int16, wide>;
    struct Call {
        float *x;        // [width][rows]: scores; weights begin where they do, likewise
        float *totals;   // [4][rows]: sums of weights, of every 4th eight keys
        unsigned rows;   // a multiple of 32
        unsigned width;  // keys of a part, a multiple of 32
    };
    /// A tile of four queries by eight elements, times a factor.
    MATCH_AIE_INLINE aie::vector<bfloat16, tile> scaled(const bfloat16 *x, const Rounded &left, const Rounded &right) {
        const auto queries = aie::load_v<tile>(x);
        const auto even = queries.template extract<lanes>(0), odd = queries.template extract<lanes>(1);
        const Rounded above = aie::mac(aie::mul(even, left), even, right).template to_vector<bfloat16>();
        const Rounded below = aie::mac(aie::mul(odd, left), odd, right).template to_vector<bfloat16>();
        return aie::concat(above, below);
    }
    /// Queries times a factor, eight rows of tiles turned: [columns/8][8][rows]. Pieces have whole ones.
    MATCH_AIE_INLINE void scale(const bfloat16 *__restrict x, bfloat16 *__restrict y, unsigned first, unsigned count, unsigned across, unsigned down, float high, float low) {
        const auto left = aie::broadcast<bfloat16, lanes>(high), right = aie::broadcast<bfloat16, lanes>(low);
        const unsigned rows = 4 * down;
        for (unsigned at = 0; at < count; at += 2 * across) {
            bfloat16 *to = y + (first + at) / across * 4;
            for (unsigned column = 0; column < across; ++column) chess_prepare_for_pipelining {
                const auto above = scaled(x, left, right), below = scaled(x + across * tile, left, right);
                const auto turned = aie::transpose(aie::concat(above, below), 8, 8);
                aie::store_v(to + 0 * rows, turned.template extract<8>(0));
                aie::store_v(to + 1 * rows, turned.template extract<8>(1));
                aie::store_v(to + 2 * rows, turned.template extract<8>(2));
                aie::store_v(to + 3 * rows, turned.template extract<8>(3));
                aie::store_v(to + 4 * rows, turned.template extract<8>(4));
                aie::store_v(to + 5 * rows, turned.template extract<8>(5));
                aie::store_v(to + 6 * rows, turned.template extract<8>(6));
                aie::store_v(to + 7 * rows, turned.template extract<8>(7));
                x += tile;
                to += 8 * rows;
            }
            x += across * tile;
        }
    }
    /// What lies behind so many keys is less than all else.
    MATCH_AIE_INLINE void hide(const Call &call, unsigned columns) {
        for (unsigned at = columns * call.rows; at < call.width * call.rows; at += lanes) {
            aie::store_v(call.x + at, aie::broadcast<float, lanes>(-1e30f));
        }
    }
    /// Scores of a key in steps of a power of two: the sum with so large a number ends where they do.
    MATCH_AIE_INLINE aie::vector<int16, lanes> counted(const float *x) {
        const Floats shifted = aie::add(Floats(aie::load_v<lanes>(x)), everywhere(98304.0f));
        return aie::sub(shifted.cast_to<acc32>(), aie::broadcast<int32, lanes>(1203765248)).to_vector<int16>(0);
    }
    MATCH_AIE_INLINE Steps pair(const float *x) { return aie::concat(counted(x), counted(x + lanes)); }
    /// Before the first part: no weights are summed.
    MATCH_AIE_INLINE void begin(const Call &call) {
        for (unsigned at = 0; at < call.rows * 4; at += lanes) aie::store_v(call.totals + at, aie::zeros<float, lanes>());
    }
    /// 2^(x - 1) of numbers between 1 and 2.
    MATCH_AIE_INLINE Rounded power(const Rounded &x) {
        const Rounded inner = aie::mac(everywhere(-1.6805133398875506e-21f), x, aie::broadcast<bfloat16, lanes>(1.852884572118782e-20f)).to_vector<bfloat16>();
        return aie::mac(everywhere(3.752694841893756e-20f), inner, x).to_vector<bfloat16>();
    }
    /// Weights in place of what they are made of; those of so many keys join the sums of their rows.
    MATCH_AIE_INLINE void weigh(const Call &call, unsigned columns) {
        const auto fraction = aie::broadcast<int16, wide>(127), exponent = aie::broadcast<int16, wide>(-128);
        const auto one = aie::broadcast<int16, wide>(16256);
        const auto least = aie::broadcast<int16, wide>(-8192), largest = aie::broadcast<int16, wide>(8191);
        const float *x = call.x;
        bfloat16 *y = reinterpret_cast<bfloat16 *>(call.x);
        for (unsigned key = 0; key < call.width; ++key) {
            const auto counts = aie::broadcast<bfloat16, wide>(key < columns ? 1.0f : 0.0f);
            float *totals = call.totals + key / 8 % 4 * call.rows;
            for (unsigned row = 0; row < call.rows; row += wide) chess_prepare_for_pipelining {
                // Steps are the bits of a bfloat16 number whose exponent is right, but for a constant, and whose mantissa is no power yet.
                const Steps steps = aie::sub(aie::max(aie::min(pair(x), largest), least), least);
                const auto near = aie::add(aie::bit_and(steps, fraction), one).template cast_to<bfloat16>();
                const auto found = aie::concat(power(near.template extract<lanes>(0)), power(near.template extract<lanes>(1)));
                const Steps whole = aie::add(found.template cast_to<int16>(), aie::bit_and(steps, exponent));
                const auto weights = whole.template cast_to<bfloat16>();
                const aie::accum<accfloat, wide> sum(aie::load_v<wide>(totals + row));
                aie::store_v(totals + row, aie::mac(sum, weights, counts).template to_vector<float>());
                aie::store_v(y, weights);
                x += wide;
                y += wide;
            }
        }
    }
    /// 1 / value by Newton's steps, from a guess by its bits.
    MATCH_AIE_INLINE Split inverse(const Floats &value) {
        const Split exact = split(value);
        const Floats two = everywhere(2.0f);
        Split guess = split(guessed(0x7ef311c7, value.to_vector<float>().cast_to<int32>()));
        for (unsigned step = 0; step < 3; ++step) {
            guess = split(times(guess, split(aie::sub(two, times(exact, guess)))));
        }
        return guess;
    }
    /// Sums of so many columns, row after row, divided by those of their rows' weights.
    MATCH_AIE_INLINE void divide(const Call &call, const float *__restrict sums, bfloat16 *__restrict y, unsigned columns) {
        for (unsigned row = 0; row < call.rows; row += lanes) {
            const float *totals = call.totals + row;
            const Floats first = aie::add(Floats(aie::load_v<lanes>(totals)), Floats(aie::load_v<lanes>(totals + call.rows)));
            const Floats second = aie::add(Floats(aie::load_v<lanes>(totals + 2 * call.rows)), Floats(aie::load_v<lanes>(totals + 3 * call.rows)));
            const Split shares = inverse(aie::add(first, second));
            for (unsigned each = 0; each < lanes; ++each) {
                const auto high = aie::broadcast<bfloat16, lanes>(shares.high.get(each)), low = aie::broadcast<bfloat16, lanes>(shares.low.get(each));
                for (unsigned at = (row + each) * columns; at < (row + each + 1) * columns; at += lanes) chess_prepare_for_pipelining {
                    const Split sum = split(Floats(aie::load_v<lanes>(sums + at)));
                    const Floats share = aie::mac(aie::mac(aie::mul(sum.high, high), sum.high, low), sum.low, high);
                    aie::store_v(y + at, share.to_vector<bfloat16>());
                }
            }
        }
    }
}  // namespace attention_unshifted_laned_bfloat16
