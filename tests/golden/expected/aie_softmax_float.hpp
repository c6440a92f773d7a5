// Softmax of rows of bfloat16 elements: exponentials by a table of powers of two, sums in float.
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

namespace softmax_bfloat16 {
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
    using Table = aie::lut<4, int32>;
    using Lookup = aie::parallel_lookup<uint16, Table, aie::lut_oor_policy::truncate>;
    struct Call {
        const bfloat16 *__restrict x;
        const int32 *__restrict ab;  // 128 powers of two as floats, every 4 of them twice
        const int32 *__restrict cd;  // the same again, in another bank
        bfloat16 *__restrict y;
        unsigned rows;
        unsigned width;              // of a row, a multiple of 16; behind its elements lies minus infinity
        float beside;                // what that adds to the sum of exponentials
    };
    MATCH_AIE_INLINE Floats largest(const bfloat16 *__restrict x, unsigned width) {
        Rounded most = aie::load_v<lanes>(x);
        for (unsigned at = lanes; at < width; at += lanes) chess_prepare_for_pipelining {
            most = aie::max(most, aie::load_v<lanes>(x + at));
        }
        // A finite number, also where a mask leaves nothing of the row.
        const Rounded end = aie::broadcast<bfloat16, lanes>(3.3895313892515355e+38f);
        const Rounded finite = aie::min(aie::max(most, aie::broadcast<bfloat16, lanes>(-3.3895313892515355e+38f)), end);
        return Floats(aie::broadcast<bfloat16, lanes>(aie::reduce_max(finite)));
    }
    /// Of what an element is below the largest one.
    MATCH_AIE_INLINE Floats exponentials(Lookup &lookup, const bfloat16 *__restrict x, const Floats &most) {
        const auto below = aie::sub(Floats(aie::load_v<lanes>(x)), most).to_vector<float>().cast_to<uint32>();
        // Bits of negative floats grow with their magnitudes: none is below -64 then.
        const auto near = aie::min(below, aie::broadcast<uint32, lanes>(0xC2800000u));
        const Split d = split(Floats(near.cast_to<float>()));
        const Rounded log_high = aie::broadcast<bfloat16, lanes>(1.4453125f);
        const Rounded log_low = aie::broadcast<bfloat16, lanes>(-0.00262451171875f);
        const Floats t = aie::mac(aie::mac(aie::mul(d.high, log_high), d.high, log_low), d.low, log_high);
        // The sum with so large a number ends 7 bits behind the point.
        const Floats magic = everywhere(98304.0f), shifted = aie::add(t, magic);
        const Rounded rest = aie::sub(t, aie::sub(shifted, magic)).to_vector<bfloat16>();
        const auto steps = aie::sub(shifted.cast_to<acc32>(), aie::broadcast<int32, lanes>(1203765248)).to_vector<int16>();
        const auto whole = aie::bit_and(steps, aie::broadcast<int16, lanes>(-128));
        const auto exponent = aie::upshift(whole.unpack(), 16);
        const auto entry = lookup.fetch(steps.cast_to<uint16>());
        const Floats power(aie::add(entry, exponent).cast_to<float>());
        const Rounded more = aie::mul(rest, aie::broadcast<bfloat16, lanes>(0.69140625f)).to_vector<bfloat16>();
        return aie::mac(power, power.to_vector<bfloat16>(), more);
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
    MATCH_AIE_INLINE void softmax(const Call &call, Lookup &lookup, unsigned row) {
        const bfloat16 *__restrict x = call.x + row * call.width;
        bfloat16 *__restrict y = call.y + row * call.width;
        const Floats most = largest(x, call.width);
        Floats sums = aie::zeros<accfloat, lanes>();
        for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
            sums = aie::add(sums, exponentials(lookup, x + at, most));
        }
        const Split scale = inverse(aie::sub(summed(sums), everywhere(call.beside)));
        for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
            const Floats share = times(split(exponentials(lookup, x + at, most)), scale);
            aie::store_v(y + at, share.to_vector<bfloat16>());
        }
    }
    MATCH_AIE_INLINE void run(const Call &call) {
        const Table table(128, call.ab, call.cd);
        Lookup lookup(table, 0);
        for (unsigned row = 0; row < call.rows; ++row) softmax(call, lookup, row);
    }
}  // namespace softmax_bfloat16
