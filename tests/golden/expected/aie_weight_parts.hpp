// Softmax of rows of int8 of which a part of the columns is there at a time, in tiles of 4 x 8, in three rounds over
// all parts: each row's largest element; the sum of exponentials of distances from it, out of a table; weights.
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

namespace weight_parts_int8_uint8 {
    constexpr unsigned lanes = 16;
    constexpr unsigned tile = 32;
    using Table = aie::lut<4, int32>;
    using Lookup = aie::parallel_lookup<uint8, Table>;
    using Sum = aie::accum<acc64, lanes>;
    using Numbers = aie::vector<int32, lanes>;
    struct Call {
        int8 *x;                // [rows/4][width/8][4][8]
        const int32 *__restrict ab;  // 256 entries, every 4 of them (8 on XDNA2) twice
        const int32 *__restrict cd;  // the same again, in another bank
        int8 *most;             // [rows/4][4][8]: the largest so far of each column of tiles, then of each row
        int32 *sums;                 // [rows][16]: what is left to add up; then [rows/16][2][16], see `divide`
        unsigned rows;               // a multiple of 4
        unsigned width;              // of a row's part, a multiple of 16
        unsigned columns;            // the first of them, which count
        int known;                   // bits beyond 15 that every sum has
        unsigned unknown;            // and that some have beyond these
        int multiplier;
        int shift;
    };
    /// Each of four rows' largest element, eight times.
    template <typename T>
    MATCH_AIE_INLINE aie::vector<T, tile> in_all_columns(const aie::vector<T, tile> &of_columns) {
        auto most = aie::transpose(of_columns, 4, 8);
        most = aie::max(most, aie::shuffle_down_fill(most, most, 16));
        most = aie::max(most, aie::shuffle_down_fill(most, most, 8));
        most = aie::max(most, aie::shuffle_down_fill(most, most, 4));
        return aie::transpose(most, 8, 4);
    }
    /// Lanes of `a` and of `b` in turns, each the sum of two.
    MATCH_AIE_INLINE Numbers folded(const Numbers &a, const Numbers &b) {
        const auto [low, high] = aie::interleave_zip(a, b, 1);
        return aie::add(low, high);
    }
    /// Into the sums' place: (2^29 - 1) / the leading 15 bits of each, and how far results are shifted down.
    MATCH_AIE_INLINE void divide(const Call &call, unsigned rows) {
        Numbers left[lanes];
        for (unsigned i = 0; i < lanes; ++i) chess_unroll_loop() {
            left[i] = i < rows ? aie::load_v<lanes>(call.sums + i * lanes) : aie::zeros<int32, lanes>();
        }
        for (unsigned i = 0; i < 8; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 8]);
        for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 4]);
        for (unsigned i = 0; i < 2; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 2]);
        // Bits that are shifted out are dropped here, and rounded everywhere else.
        aie::set_rounding(aie::rounding_mode::floor);
        auto kept = aie::downshift(folded(left[0], left[1]), call.known);
        const auto one = aie::broadcast<int32, lanes>(1);
        const auto bound = aie::broadcast<int32, lanes>(1 << 15);
        auto shift = aie::broadcast<int32, lanes>(call.shift + 15 + call.known);
        for (unsigned step = 0; step < call.unknown; ++step) chess_prepare_for_pipelining {
            const auto over = aie::ge(kept, bound);
            kept = aie::select(kept, aie::downshift(kept, 1), over);
            shift = aie::select(shift, aie::add(shift, one), over);
        }
        aie::set_rounding(aie::rounding_mode::conv_even);
        auto rest = aie::broadcast<int32, lanes>((1 << 14) - 1), quotient = aie::zeros<int32, lanes>();
        for (unsigned step = 0; step < 15; ++step) chess_prepare_for_pipelining {
            rest = aie::add(aie::add(rest, rest), one);
            quotient = aie::add(quotient, quotient);
            const auto fits = aie::ge(rest, kept);
            rest = aie::select(rest, aie::sub(rest, kept), fits);
            quotient = aie::select(quotient, aie::add(quotient, one), fits);
        }
        aie::store_v(call.sums, quotient);
        aie::store_v(call.sums + lanes, shift);
    }
    /// What lies behind so many of eight columns, in four rows.
    MATCH_AIE_INLINE aie::mask<tile> behind(unsigned columns) {
        return aie::mask<tile>::from_uint32((0xffu << columns & 0xffu) * 0x01010101u);
    }
    /// Larger elements than those so far; of the first part, any.
    MATCH_AIE_INLINE void compare(const Call &call, bool first) {
        const auto none = aie::broadcast<int8, tile>(-128);
        const unsigned whole = call.columns / 16, rest = call.columns % 16;
        const auto low = behind(rest < 8 ? rest : 8), high = behind(rest < 8 ? 0 : rest - 8);
        for (unsigned row = 0; row < call.rows; row += 4) {
            const int8 *x = call.x + row * call.width;
            auto even = first ? none : aie::load_v<tile>(call.most + row * 8), odd = none;
            for (unsigned at = 0; at < whole; ++at) chess_prepare_for_pipelining {
                even = aie::max(even, aie::load_v<tile>(x + at * 64));
                odd = aie::max(odd, aie::load_v<tile>(x + at * 64 + tile));
            }
            if (rest > 0) {
                even = aie::max(even, aie::select(aie::load_v<tile>(x + whole * 64), none, low));
                odd = aie::max(odd, aie::select(aie::load_v<tile>(x + whole * 64 + tile), none, high));
            }
            aie::store_v(call.most + row * 8, aie::max(even, odd));
        }
    }
    /// Behind the last part: each row's largest element in all columns.
    MATCH_AIE_INLINE void settle(const Call &call) {
        for (unsigned row = 0; row < call.rows; row += 4) {
            aie::store_v(call.most + row * 8, in_all_columns(aie::load_v<tile>(call.most + row * 8)));
        }
    }
    /// Distances of a pair of tiles from the largest elements of their rows: two rows, and two.
    MATCH_AIE_INLINE auto distances(const int8 *x, const aie::vector<int8, tile> &most) {
        const auto first = aie::sub(most, aie::load_v<tile>(x)), second = aie::sub(most, aie::load_v<tile>(x + tile));
        return aie::interleave_zip(first, second, 8);
    }
    /// Exponentials of row `row` of such a pair.
    template <typename Two>
    MATCH_AIE_INLINE Numbers exponentials(Lookup &lookup, const Two &both, unsigned row) {
        const auto distance = (row < 2 ? both.first : both.second).template extract<lanes>(row % 2);
        return lookup.fetch(distance.template cast_to<uint8>());
    }
    /// Exponentials join the sums; those of the first part begin them.
    MATCH_AIE_INLINE void add(const Call &call, bool first) {
        const Table table(256, call.ab, call.cd);
        Lookup lookup(table, 0);
        const auto ones = aie::broadcast<int16, lanes>(1);
        const unsigned whole = call.columns / 16;
        const auto behind = aie::mask<lanes>::from_uint32(0xffffu << (call.columns - whole * 16) & 0xffffu);
        const auto counted = aie::select(ones, aie::zeros<int16, lanes>(), behind);
        for (unsigned row = 0; row < call.rows; row += 4) {
            const int8 *x = call.x + row * call.width;
            const auto most = aie::load_v<tile>(call.most + row * 8);
            Sum sums[4];
            for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
                const Numbers before = first ? aie::zeros<int32, lanes>() : aie::load_v<lanes>(call.sums + (row + i) * lanes);
                sums[i] = Sum(before);
            }
            const auto pair = [&](unsigned at, const aie::vector<int16, lanes> &which) {
                const auto both = distances(x + at * 64, most);
                for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
                    sums[i] = aie::mac(sums[i], exponentials(lookup, both, i), which);
                }
            };
            for (unsigned at = 0; at < whole; ++at) chess_prepare_for_pipelining pair(at, ones);
            if (whole * 16 < call.columns) pair(whole, counted);
            for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
                aie::store_v(call.sums + (row + i) * lanes, sums[i].template to_vector<int32>(0));
            }
        }
    }
    /// Behind the last part: sixteen rows' sums divide at a time.
    MATCH_AIE_INLINE void divide(const Call &call) {
        for (unsigned row = 0; row < call.rows; row += lanes) {
            Call here = call;
            here.sums += row * lanes;
            divide(here, call.rows - row < lanes ? call.rows - row : lanes);
        }
    }
    /// Weights in place of what they are made of. Those behind the columns that count mean nothing: values there are 0.
    MATCH_AIE_INLINE void scale(const Call &call) {
        const Table table(256, call.ab, call.cd);
        Lookup lookup(table, 0);
        for (unsigned row = 0; row < call.rows; row += 4) {
            const int32 *divided = call.sums + row / lanes * lanes * lanes + row % lanes;
            aie::vector<int16, lanes> factor[4];
            int shift[4];
            for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
                factor[i] = aie::broadcast<int16, lanes>(static_cast<int16>((divided[i] * call.multiplier) >> 15));
                shift[i] = divided[lanes + i];
            }
            const int8 *x = call.x + row * call.width;
            uint8 *y = reinterpret_cast<uint8 *>(call.x) + row * call.width;
            const auto most = aie::load_v<tile>(call.most + row * 8);
            for (unsigned at = 0; at < call.width; at += 16) chess_prepare_for_pipelining {
                const auto both = distances(x + at * 4, most);
                aie::vector<uint16, lanes> found[4];
                for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
                    found[i] = aie::mul<acc64>(exponentials(lookup, both, i), factor[i]).template to_vector<uint16>(shift[i]);
                }
                const auto packed = aie::concat(aie::concat(found[0], found[1]).pack(), aie::concat(found[2], found[3]).pack());
                aie::store_v(y + at * 4, aie::filter_even(packed, 8));
                aie::store_v(y + at * 4 + tile, aie::filter_odd(packed, 8));
            }
        }
    }
}  // namespace weight_parts_int8_uint8
