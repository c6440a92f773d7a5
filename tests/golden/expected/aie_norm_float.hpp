// Layer norm of rows of bfloat16 elements, sums and roots in float.
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

namespace norm_bfloat16 {
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
    struct Call {
        const bfloat16 *__restrict x;
        const bfloat16 *__restrict weight;
        const float *__restrict bias;
        bfloat16 *__restrict y;
        unsigned rows;
        unsigned width;    // of a row, a multiple of 16
        unsigned last;     // elements of its last vector, which count
        float share;       // one over the elements
        float epsilon;
    };
    /// 1 / sqrt(value) by Newton's steps, from a guess by its bits.
    MATCH_AIE_INLINE Split inverse_root(const Floats &value) {
        const Split exact = split(value);
        const Floats some = everywhere(1.5f);
        const Rounded half = aie::broadcast<bfloat16, lanes>(0.5f);
        const auto bits = value.to_vector<float>().cast_to<int32>();
        Split guess = split(guessed(0x5f375a86, aie::downshift(bits, 1)));
        for (unsigned step = 0; step < 2; ++step) {
            const Split found = split(times(exact, split(times(guess, guess))));
            const Floats better = aie::msc(aie::msc(some, half, found.high), half, found.low);
            guess = split(times(guess, split(better)));
        }
        return guess;
    }
    /// What elements are multiplied by, of the lanes' sums of squares.
    MATCH_AIE_INLINE Split scale(const Call &call, const Floats &squares) {
        const Floats mean = times(split(summed(squares)), split(everywhere(call.share)));
        return inverse_root(aie::add(mean, everywhere(call.epsilon)));
    }
    /// Sums over their number, to the last bits of a float: of three bfloat16 numbers each.
    MATCH_AIE_INLINE Floats mean(const Floats &total, const Floats &share) {
        const Split a = split(total), b = split(share);
        const Rounded a_rest = aie::sub(aie::sub(total, Floats(a.high)), Floats(a.low)).to_vector<bfloat16>();
        const Rounded b_rest = aie::sub(aie::sub(share, Floats(b.high)), Floats(b.low)).to_vector<bfloat16>();
        return aie::mac(aie::mac(times(a, b), a.high, b_rest), a_rest, b.high);
    }
    /// With 0 behind a row's elements.
    MATCH_AIE_INLINE Floats inside(const Call &call, const Floats &value) {
        const auto counted = aie::mask<lanes>::from_uint32((1u << call.last) - 1u);
        return Floats(aie::select(aie::zeros<float, lanes>(), value.to_vector<float>(), counted));
    }
    MATCH_AIE_INLINE Floats apart(const bfloat16 *__restrict x, const Floats &first) {
        return aie::sub(Floats(aie::load_v<lanes>(x)), first);
    }
    struct Squares {
        Floats squares;
        Floats cross;
    };
    MATCH_AIE_INLINE Squares added(const Squares &sums, const Floats &centred) {
        const Split c = split(centred);
        return {aie::mac(sums.squares, c.high, c.high), aie::mac(sums.cross, c.high, c.low)};
    }
    MATCH_AIE_INLINE void norm(const Call &call, unsigned row) {
        const bfloat16 *__restrict x = call.x + row * call.width;
        bfloat16 *__restrict y = call.y + row * call.width;
        const unsigned end = call.width - lanes;
        const Floats first(aie::broadcast<bfloat16, lanes>(x[0]));
        Floats total = aie::zeros<accfloat, lanes>();
        for (unsigned at = 0; at < end; at += lanes) chess_prepare_for_pipelining {
            total = aie::add(total, apart(x + at, first));
        }
        total = summed(aie::add(total, inside(call, apart(x + end, first))));
        const Floats centre = mean(total, everywhere(call.share));
        Squares sums = {aie::zeros<accfloat, lanes>(), aie::zeros<accfloat, lanes>()};
        for (unsigned at = 0; at < end; at += lanes) chess_prepare_for_pipelining {
            sums = added(sums, aie::sub(apart(x + at, first), centre));
        }
        sums = added(sums, inside(call, aie::sub(apart(x + end, first), centre)));
        const Split factor = scale(call, aie::add(aie::add(sums.squares, sums.cross), sums.cross));
        for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
            const Split normal = split(times(split(aie::sub(apart(x + at, first), centre)), factor));
            const Floats bias(aie::load_v<lanes>(call.bias + at));
            const Rounded weight = aie::load_v<lanes>(call.weight + at);
            const Floats made = aie::mac(aie::mac(bias, normal.high, weight), normal.low, weight);
            aie::store_v(y + at, made.to_vector<bfloat16>());
        }
    }
    MATCH_AIE_INLINE void run(const Call &call) {
        for (unsigned row = 0; row < call.rows; ++row) norm(call, row);
    }
}  // namespace norm_bfloat16
