// Attention of which a part of the keys is there at a time, beside its products of block floating point: queries times a factor;
// weights, which are powers of two by scores as they are, and their sums; results. Tiles are of eight rows by eight keys, or elements.
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

namespace attention_unshifted_blocked_bfloat16 {
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
    constexpr unsigned wide = 32, tile = 64;  // four rows of a tile; a tile
    using Steps = aie::vector<int16, wide>;
    using Many = aie::accum<accfloat, wide>;
    using Values = aie::vector<bfloat16, wide>;
    struct Call {
        float *x;        // [rows/8][width/8][8][8]: scores; weights begin where they do, likewise
        float *totals;   // [rows/8][8][8]: sums of weights, of every eighth key
        int16 *marks;    // [width/8][4][8]: all bits of keys that count, none of others
        unsigned rows;   // a multiple of 16
        unsigned width;  // keys of a part, a multiple of 8
    };
    /// So many elements of queries times a factor; they lie as the first product reads them.
    MATCH_AIE_INLINE void scale(const bfloat16 *__restrict x, bfloat16 *__restrict y, unsigned count, float high, float low) {
        const auto left = aie::broadcast<bfloat16, wide>(high), right = aie::broadcast<bfloat16, wide>(low);
        for (unsigned at = 0; at < count; at += wide) chess_prepare_for_pipelining {
            const Values queries = aie::load_v<wide>(x + at);
            aie::store_v(y + at, aie::mac(aie::mul(queries, left), queries, right).template to_vector<bfloat16>());
        }
    }
    /// Before the first part: no weights are summed.
    MATCH_AIE_INLINE void begin(const Call &call) {
        for (unsigned at = 0; at < call.rows * 8; at += wide) aie::store_v(call.totals + at, aie::zeros<float, wide>());
    }
    /// Scores in steps of a power of two, above the least that counts: the sum with so large a number ends where they do.
    MATCH_AIE_INLINE Steps counted(const float *x) {
        const Many shifted = aie::add(Many(aie::load_v<wide>(x)), Many(aie::broadcast<float, wide>(98304.0f)));
        return aie::sub(shifted.cast_to<acc32>(), aie::broadcast<int32, wide>(1203757056)).to_vector<int16>(0);
    }
    /// 2^(x - 1) of numbers between 1 and 2.
    MATCH_AIE_INLINE Values power(const Values &x) {
        const Values inner = aie::mac(Many(aie::broadcast<float, wide>(-1.6805133398875506e-21f)), x, aie::broadcast<bfloat16, wide>(1.852884572118782e-20f)).to_vector<bfloat16>();
        return aie::mac(Many(aie::broadcast<float, wide>(3.752694841893756e-20f)), inner, x).to_vector<bfloat16>();
    }
    /// Weights in place of what they are made of; those of so many keys join the sums of their rows, others are zeros.
    MATCH_AIE_INLINE void weigh(const Call &call, unsigned columns) {
        const unsigned across = call.width / 8;
        for (unsigned at = 0; at < across; ++at) {
            const unsigned left = columns > at * 8 ? columns - at * 8 : 0;
            const auto counts = aie::mask<wide>::from_uint32(left < 8 ? 0x01010101u * ((1u << left) - 1) : 0xffffffffu);
            aie::store_v(call.marks + at * wide, aie::select(aie::zeros<int16, wide>(), aie::broadcast<int16, wide>(-1), counts));
        }
        const auto fraction = aie::broadcast<int16, wide>(127), exponent = aie::broadcast<int16, wide>(-128);
        const auto one = aie::broadcast<int16, wide>(16256), least = aie::zeros<int16, wide>();
        const auto largest = aie::broadcast<int16, wide>(16383);
        const auto counts = aie::broadcast<bfloat16, wide>(1.0f);
        const float *x = call.x;
        bfloat16 *y = reinterpret_cast<bfloat16 *>(call.x);
        float *totals = call.totals;
        unsigned at = 0;
        for (unsigned turn = 0; turn < call.rows / 4 * across; ++turn) chess_prepare_for_pipelining {
            // Steps are the bits of a bfloat16 number whose exponent is right, but for a constant, and whose mantissa is no power yet.
            const Steps steps = aie::max(aie::min(counted(x), largest), least);
            const Values near = aie::add(aie::bit_and(steps, fraction), one).template cast_to<bfloat16>();
            const Steps whole = aie::add(power(near).template cast_to<int16>(), aie::bit_and(steps, exponent));
            const Values weights = aie::bit_and(whole, aie::load_v<wide>(call.marks + at / 2 * wide)).template cast_to<bfloat16>();
            float *total = totals + at % 2 * wide;
            aie::store_v(total, aie::mac(Many(aie::load_v<wide>(total)), weights, counts).template to_vector<float>());
            aie::store_v(y, weights);
            x += wide;
            y += wide;
            const bool ends = at + 1 == 2 * across;
            totals += ends ? tile : 0;
            at = ends ? 0 : at + 1;
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
    /// Sums of neighbours.
    MATCH_AIE_INLINE aie::vector<float, lanes> added(const aie::vector<float, wide> &sums) {
        return aie::add(Floats(aie::filter_even(sums)), Floats(aie::filter_odd(sums))).template to_vector<float>();
    }
    /// Sums of eight neighbours each, of sixteen rows.
    MATCH_AIE_INLINE Floats folded(const float *sums) {
        const auto first = added(aie::concat(added(aie::load_v<wide>(sums)), added(aie::load_v<wide>(sums + wide))));
        const auto last = added(aie::concat(added(aie::load_v<wide>(sums + 2 * wide)), added(aie::load_v<wide>(sums + 3 * wide))));
        return Floats(added(aie::concat(first, last)));
    }
    /// Numbers of four rows, each for eight columns.
    MATCH_AIE_INLINE Values repeated(const Rounded &rows, unsigned first) {
        return aie::concat(aie::broadcast<bfloat16, 8>(rows.get(first + 0)), aie::broadcast<bfloat16, 8>(rows.get(first + 1)), aie::broadcast<bfloat16, 8>(rows.get(first + 2)), aie::broadcast<bfloat16, 8>(rows.get(first + 3)));
    }
    /// Sums of so many columns, tiles of eight by eight, divided by those of their rows' weights.
    MATCH_AIE_INLINE void divide(const Call &call, const float *__restrict sums, bfloat16 *__restrict y, unsigned columns) {
        for (unsigned row = 0; row < call.rows; row += lanes) {
            const Split shares = inverse(folded(call.totals + row * 8));
            for (unsigned each = 0; each < lanes; each += 4) {
                const auto high = repeated(shares.high, each), low = repeated(shares.low, each);
                const unsigned first = (row + each) / 8 * 8 * columns + each % 8 * 8;
                for (unsigned at = first; at < first + 8 * columns; at += tile) chess_prepare_for_pipelining {
                    const Many sum(aie::load_v<wide>(sums + at));
                    const Values above = sum.template to_vector<bfloat16>();
                    const Values below = aie::sub(sum, Many(above)).template to_vector<bfloat16>();
                    const Many share = aie::mac(aie::mac(aie::mul(above, high), above, low), below, high);
                    aie::store_v(y + at, share.template to_vector<bfloat16>());
                }
            }
        }
    }
}  // namespace attention_unshifted_blocked_bfloat16
