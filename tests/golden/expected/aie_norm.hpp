// Layer norm of rows of int8 elements: exact sums of each, then square roots and divisions of
// up to 32 rows side by side.
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

namespace norm_int8_int8 {
    constexpr unsigned lanes = 32;
    constexpr unsigned half = 16;
    using Sum = aie::accum<acc32, lanes>;
    using Wide = aie::accum<acc64, half>;
    using Numbers = aie::vector<int32, half>;
    struct Call {
        const int8 *__restrict x;
        const int16 *__restrict multiplier;
        const int32 *__restrict bias;
        int8 *__restrict y;
        int32 *sums;           // [2][rows at once][16]: sums of each row and of its squares; then `Row`s
        unsigned rows;
        unsigned width;        // of a row, a multiple of 32
        int shift;             // of results
        // A row's variance is start + squares * times - (total << up)^2, in 64 bits.
        int start_high;        // of 2^30
        int start_low;
        int times;
        int up;
        int least;             // that it counts for
        int steps;             // by which pairs of bits it may be shifted down
        int above;             // what makes any row's sum no less than 0
        int share;             // 2^share_bits over the elements that count, and no more than that
        int share_bits;
        int count;             // elements that count, the first of a row; behind them lies 0
        int bits;              // of their number
        int normal_shift;      // by which z is shifted down at least
    };
    /// Lanes of `a` and of `b` in turns, each the sum of two.
    MATCH_AIE_INLINE Numbers folded(const Numbers &a, const Numbers &b) {
        const auto [low, high] = aie::interleave_zip(a, b, 1);
        return aie::add(low, high);
    }
    MATCH_AIE_INLINE void keep(int32 *to, const Sum &sums) {
        const auto found = sums.to_vector<int32>();
        aie::store_v(to, aie::add(found.extract<half>(0), found.extract<half>(1)));
    }
    /// Two rows' sums, in sixteen parts each; the second may be the first again.
    MATCH_AIE_INLINE void summed(const Call &call, const int8 *__restrict x, unsigned second, int32 *to, unsigned rows) {
        const auto one = aie::broadcast<int16, lanes>(1);
        const auto none = aie::zeros<acc32, lanes>();
        Sum total[2] = {none, none}, squares[2] = {none, none};
        for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
            for (unsigned i = 0; i < 2; ++i) chess_unroll_loop() {
                const auto wide = aie::load_v<lanes>(x + i * second + at).unpack();
                total[i] = aie::mac(total[i], wide, one);
                squares[i] = aie::mac_square(squares[i], wide);
            }
        }
        for (unsigned i = 0; i < 2; ++i) chess_unroll_loop() {
            keep(to + i * half, total[i]);
            keep(to + (rows + i) * half, squares[i]);
        }
    }
    /// Sixteen rows' parts, each row's added up.
    MATCH_AIE_INLINE Numbers folded(const int32 *parts) {
        Numbers left[8];
        for (unsigned i = 0; i < 8; ++i) chess_unroll_loop() {
            left[i] = folded(aie::load_v<half>(parts + i * half), aie::load_v<half>(parts + (i + 8) * half));
        }
        for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 4]);
        for (unsigned i = 0; i < 2; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 2]);
        return folded(left[0], left[1]);
    }
    /// A product that fits 32 bits, shifted down.
    MATCH_AIE_INLINE Numbers product(const Numbers &a, const Numbers &b, int shift = 0) {
        return aie::mul<acc64>(a, b).template to_vector<int32>(shift);
    }
    /// Variances times a power of four, exactly.
    MATCH_AIE_INLINE Wide variance(const Call &call, const Numbers &total, const Numbers &squares) {
        const auto one = aie::broadcast<int32, half>(1);
        Wide sum(aie::broadcast<int32, half>(call.start_high), 30);
        sum = aie::mac(sum, aie::broadcast<int32, half>(call.start_low), one);
        sum = aie::mac(sum, squares, aie::broadcast<int32, half>(call.times));
        const auto up = aie::upshift(total, call.up);
        return aie::msc(sum, up, up);
    }
    // What elements of rows are multiplied by, what is taken off then, and by how much it is shifted down: [rows] each.
    template <unsigned groups>
    MATCH_AIE_INLINE void numbers(const Call &call) {
        constexpr unsigned rows = groups * half;
        using Short = aie::vector<uint16, rows>;
        // Bits that are shifted out are dropped here, and rounded everywhere else.
        aie::set_rounding(aie::rounding_mode::floor);
        Numbers total[groups], kept[groups], down[groups], root[groups];
        Wide varied[groups];
        for (unsigned g = 0; g < groups; ++g) chess_unroll_loop() {
            kept[g] = down[g] = root[g] = aie::zeros<int32, half>();
            total[g] = folded(call.sums + g * half * half);
            varied[g] = variance(call, total[g], folded(call.sums + (rows + g * half) * half));
        }
        // The most of its bits that are fewer than 31, an even number of them shifted out.
        const auto bound = aie::broadcast<int32, half>(1 << 30);
        const auto least = aie::broadcast<int32, half>(call.least);
        for (int step = call.steps; step >= 0; --step) chess_prepare_for_pipelining {
            const auto shift = aie::broadcast<int32, half>(step);
            for (unsigned g = 0; g < groups; ++g) chess_unroll_loop() {
                auto found = varied[g].template to_vector<int32>(2 * step);
                if (step == 0) found = aie::max(found, least);
                const auto fits = aie::lt(found, bound);
                kept[g] = aie::select(kept[g], found, fits);
                down[g] = aie::select(down[g], shift, fits);
            }
        }
        // Square roots bit by bit: `root` has 15 more bits, `kept` what is left, times powers of two.
        for (int bit = 1 << 28; bit >= 1 << 14; bit >>= 1) chess_prepare_for_pipelining {
            const auto more = aie::broadcast<int32, half>(bit);
            for (unsigned g = 0; g < groups; ++g) chess_unroll_loop() {
                const auto next = aie::add(root[g], more);
                const auto fits = aie::ge(kept[g], next);
                kept[g] = aie::select(kept[g], aie::sub(kept[g], next), fits);
                root[g] = aie::select(root[g], aie::add(next, more), fits);
                kept[g] = aie::add(kept[g], kept[g]);
            }
        }
        // (2^29 - 1) / root, likewise: its first 14 bits are less than a root.
        Short roots, rest = aie::broadcast<uint16, rows>((1 << 14) - 1), quotient = aie::zeros<uint16, rows>();
        for (unsigned g = 0; g < groups; ++g) chess_unroll_loop() {
            roots.insert(g, aie::downshift(root[g], 15).pack().template cast_to<uint16>());
        }
        const auto one = aie::broadcast<uint16, rows>(1);
        for (unsigned step = 0; step < 15; ++step) chess_prepare_for_pipelining {
            rest = aie::add(aie::add(rest, rest), one);
            quotient = aie::add(quotient, quotient);
            const auto fits = aie::ge(rest, roots);
            rest = aie::select(rest, aie::sub(rest, roots), fits);
            quotient = aie::select(quotient, aie::add(quotient, one), fits);
        }
        const auto count = aie::broadcast<int32, half>(call.count);
        for (unsigned g = 0; g < groups; ++g) chess_unroll_loop() {
            const Numbers inverse = quotient.template extract<half>(g).template cast_to<int16>().unpack();
            const Numbers factor = product(inverse, count, call.bits);
            const auto above = aie::add(total[g], aie::broadcast<int32, half>(call.above));
            const auto share = product(above, aie::broadcast<int32, half>(call.share), call.share_bits);
            const auto mean = aie::add(share, aie::broadcast<int32, half>(-128));
            const auto left = aie::sub(total[g], product(mean, count));
            const Numbers moved = aie::add(product(factor, mean), product(left, inverse, call.bits));
            aie::store_v(call.sums + g * half, factor);
            aie::store_v(call.sums + rows + g * half, moved);
            aie::store_v(call.sums + 2 * rows + g * half, aie::add(down[g], aie::broadcast<int32, half>(call.normal_shift)));
        }
        aie::set_rounding(aie::rounding_mode::conv_even);
    }
    /// So many vectors of every row, whose factors and addends stay in registers.
    template <unsigned many>
    MATCH_AIE_INLINE void scaled(const Call &call, const int8 *__restrict x, int8 *__restrict y, unsigned at, unsigned rows, unsigned kept) {
        Sum addend[many];
        aie::vector<int16, lanes> multiplier[many];
        for (unsigned i = 0; i < many; ++i) chess_unroll_loop() {
            addend[i] = Sum(aie::load_v<lanes>(call.bias + at + i * lanes));
            multiplier[i] = aie::load_v<lanes>(call.multiplier + at + i * lanes);
        }
        for (unsigned row = 0; row < rows; ++row) chess_prepare_for_pipelining {
            const auto factor = aie::broadcast<int16, lanes>(static_cast<int16>(call.sums[row]));
            const Sum start(aie::broadcast<int32, lanes>(-call.sums[kept + row]));
            const int shift = call.sums[2 * kept + row];
            for (unsigned i = 0; i < many; ++i) chess_unroll_loop() {
                const unsigned here = row * call.width + at + i * lanes;
                const auto centred = aie::mac(start, aie::load_v<lanes>(x + here).unpack(), factor);
                const auto found = aie::mac(addend[i], centred.template to_vector<int16>(shift), multiplier[i]);
                aie::store_v(y + here, found.template to_vector<int8>(call.shift));
            }
        }
    }
    /// All rows, so many times sixteen at once.
    template <unsigned groups>
    MATCH_AIE_INLINE void run(const Call &call) {
        constexpr unsigned most = groups * half;
        for (unsigned first = 0; first < call.rows; first += most) {
            const unsigned rows = call.rows - first < most ? call.rows - first : most;
            const int8 *x = call.x + first * call.width;
            int8 *y = call.y + first * call.width;
            for (unsigned row = 0; row < rows; row += 2) {
                summed(call, x + row * call.width, row + 1 < rows ? call.width : 0, call.sums + row * half, most);
            }
            for (unsigned row = rows + rows % 2; row < most; ++row) chess_prepare_for_pipelining {
                aie::store_v(call.sums + row * half, aie::zeros<int32, half>());
                aie::store_v(call.sums + (most + row) * half, aie::zeros<int32, half>());
            }
            numbers<groups>(call);
            unsigned at = 0;
            for (; at + 2 * lanes <= call.width; at += 2 * lanes) scaled<2>(call, x, y, at, rows, most);
            if (at < call.width) scaled<1>(call, x, y, at, rows, most);
        }
    }
}  // namespace norm_int8_int8
