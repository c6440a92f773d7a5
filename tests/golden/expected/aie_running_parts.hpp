// A running softmax of rows of which a part of the columns is there at a time, in tiles of 4 x 8: each row's largest score
// in powers of two, sums that are shifted where it grows, weights out of a table, results.
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

namespace running_parts_int8_12_by_4 {
    constexpr unsigned lanes = 16;
    constexpr unsigned tile = 32;
    constexpr unsigned groups = 3;  // tiles of rows that are handled at a time
    using Table = aie::lut<4, int16>;
    using Lookup = aie::parallel_lookup<uint16, Table>;
    using Scores = aie::vector<int16, tile>;
    using Sum = aie::accum<acc32, tile>;
    using Mass = aie::accum<acc32, tile>;
    using Numbers = aie::vector<int32, lanes>;
    using Count = aie::mmul<4, 4, 8, int16, int8>;
    using Counted = aie::vector<int8, tile>;
    struct Call {
        int16 *x;                    // scores [rows/4][width/8][4][8]; weights in their place, [rows/4][width/4][4][4]
        const int16 *__restrict ab;  // 512 entries, every 8 of them (16 on XDNA2) twice
        const int16 *__restrict cd;  // the same again, in another bank
        int16 *powers;               // [rows/4][4][8]: of each row, eight times
        int32 *masses;               // [rows/4][4][8]: of each row the sum of its weights, eight times
        int32 *sums;                 // [rows/4][tiles][4][8]: of results
        unsigned rows;               // a multiple of 16
        unsigned width;              // of a row's part, a multiple of 8
        unsigned tiles;
        int factor;                  // makes powers of two of scores
        int bits;                    // so many of it are behind the point
        int numerator;               // of results' factors
        int down;                    // bits that results are shifted down
        int lo;                      // the least result, before the zero point is added
        int hi;
        int zero_point;
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
    /// How many of the `size` columns of tile `at` count.
    MATCH_AIE_INLINE unsigned left(unsigned columns, unsigned at, unsigned size) {
        const unsigned begin = at * size;
        return columns <= begin ? 0 : columns - begin < size ? columns - begin : size;
    }
    /// Eight sums, shifted down.
    MATCH_AIE_INLINE void shift_down(int32 *here, int shift) {
        const aie::accum<acc64, 8> wide(aie::load_v<8>(here));
        aie::store_v(here, wide.template to_vector<int32>(shift));
    }
    /// Sums of rows whose powers grow, shifted; rounding modes are the caller's.
    static __attribute__((noinline)) void grow(int32 *sums, int32 *masses, unsigned tiles, const Scores &before, const Scores &power) {
        for (unsigned row = 0; row < 4; ++row) {
            const int by = power[8 * row] - before[8 * row];
            if (by == 0) continue;
            const int shift = by < 31 ? by : 31;
            shift_down(masses + row * 8, shift);
            for (unsigned at = 0; at < tiles; ++at) chess_prepare_for_pipelining shift_down(sums + at * tile + row * 8, shift);
        }
    }
    /// Powers of all rows with this part's scores, of which so many columns count, and where weights made much already; sums
    /// begin at 0, or become theirs.
    MATCH_AIE_INLINE void compare(const Call &call, unsigned columns, bool first) {
        const auto none = aie::broadcast<int16, tile>(-32768);
        const auto factor = aie::broadcast<int16, tile>(static_cast<int16>(call.factor));
        const Sum half(aie::broadcast<int32, tile>(1 << (call.bits - 1)));
        const unsigned tiles = (columns + 7) / 8;
        for (unsigned row = 0; row < call.rows; row += 4 * groups) {
            Scores most[groups];
            for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() most[i] = none;
            for (unsigned at = 0; at < tiles; ++at) chess_prepare_for_pipelining {
                const auto behind = aie::mask<tile>::from_uint32((0xffu << left(columns, at, 8) & 0xffu) * 0x01010101u);
                for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                    const Scores x = aie::load_v<tile>(call.x + (row + 4 * i) * call.width + at * tile);
                    most[i] = aie::max(most[i], aie::select(x, none, behind));
                }
            }
            Scores power[groups];
            for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                power[i] = aie::mac(half, in_all_columns(most[i]), factor).template to_vector<int16>(call.bits);
            }
            for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                int16 *const kept = call.powers + (row + 4 * i) * 8;
                int32 *const sums = call.sums + (row / 4 + i) * call.tiles * tile, *const masses = call.masses + (row / 4 + i) * tile;
                if (first) {
                    for (unsigned at = 0; at < tile; at += lanes) aie::store_v(masses + at, aie::zeros<int32, lanes>());
                    for (unsigned at = 0; at < call.tiles * tile; at += lanes) aie::store_v(sums + at, aie::zeros<int32, lanes>());
                } else {
                    const Scores before = aie::load_v<tile>(kept);
                    const auto full = aie::ge(aie::load_v<tile>(masses), aie::broadcast<int32, tile>(8388608));
                    const auto least = aie::select(before, aie::add(before, aie::broadcast<int16, tile>(1)), full);
                    power[i] = aie::max(power[i], least);
                    if (!aie::lt(before, power[i]).empty()) grow(sums, masses, call.tiles, before, power[i]);
                }
                aie::store_v(kept, power[i]);
            }
        }
    }
    /// Weights of a tile in its place; those of columns that count join the sums of their rows.
    MATCH_AIE_INLINE void weigh(const Call &call, int16 *x, const Scores &power, Lookup &lookup, Count &total,
    const Counted &low, const Counted &high) {
        const auto factor = aie::broadcast<int16, tile>(static_cast<int16>(call.factor));
        const auto distance = aie::msc(Sum(power, call.bits), Scores(aie::load_v<tile>(x)), factor);
        const auto found = lookup.fetch(distance.template to_vector<uint16>(call.bits - 5));
        const auto first = aie::filter_even(found, 4), second = aie::filter_odd(found, 4);
        total.mac(first, low);
        total.mac(second, high);
        aie::store_v(x, first);
        aie::store_v(x + lanes, second);
    }
    /// So many of four keys count.
    MATCH_AIE_INLINE Counted counted(unsigned keys) {
        const auto behind = aie::mask<tile>::from_uint32(keys < 4 ? ~0u << 8 * keys : 0u);
        return aie::select(aie::broadcast<int8, tile>(1), aie::zeros<int8, tile>(), behind);
    }
    /// Weights in place of scores, of so many columns; behind them anything, since values are 0 there.
    MATCH_AIE_INLINE void weigh(const Call &call, unsigned columns) {
        const Table table(512, call.ab, call.cd);
        Lookup lookup(table, 0);
        const unsigned tiles = (columns + 7) / 8;
        for (unsigned row = 0; row < call.rows; row += 4 * groups) {
            Scores power[groups];
            Count total[groups];
            for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                power[i] = aie::load_v<tile>(call.powers + (row + 4 * i) * 8);
                total[i] = Mass(aie::load_v<tile>(call.masses + (row / 4 + i) * tile));
            }
            for (unsigned at = 0; at < tiles; ++at) chess_prepare_for_pipelining {
                const auto low = counted(left(columns, 2 * at, 4)), high = counted(left(columns, 2 * at + 1, 4));
                for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                    weigh(call, call.x + (row + 4 * i) * call.width + at * tile, power[i], lookup, total[i], low, high);
                }
            }
            for (unsigned i = 0; i < groups; ++i) chess_unroll_loop() {
                aie::store_v(call.masses + (row / 4 + i) * tile, total[i].template to_vector<int32>(0));
            }
        }
    }
    /// Factors of 16 rows' results: numerator * 2^25 over their sums of weights.
    MATCH_AIE_INLINE Numbers factors(const Call &call, unsigned row) {
        Numbers weights;
        for (unsigned i = 0; i < lanes; ++i) chess_unroll_loop() {
            weights.set(call.masses[(row + i) * 8], i);
        }
        const auto one = aie::broadcast<int32, lanes>(1);
        auto rest = aie::zeros<int32, lanes>(), quotient = rest;
        for (unsigned step = 0; step < 40; ++step) chess_prepare_for_pipelining {
            const int bit = step < 15 ? call.numerator >> (14 - step) & 1 : 0;
            rest = aie::add(aie::add(rest, rest), aie::broadcast<int32, lanes>(bit));
            quotient = aie::add(quotient, quotient);
            const auto fits = aie::ge(rest, weights);
            rest = aie::select(rest, aie::sub(rest, weights), fits);
            quotient = aie::select(quotient, aie::add(quotient, one), fits);
        }
        return quotient;
    }
    /// Results of all rows, tiles of 4 x 8.
    MATCH_AIE_INLINE void divide(const Call &call, int8 *__restrict y) {
        const unsigned tiles = call.tiles;
        for (unsigned row = 0; row < call.rows; row += lanes) {
            const Numbers factor = factors(call, row);
            for (unsigned i = 0; i < lanes; i += 4) {
                const auto each = [&](unsigned at) { return aie::broadcast<int32, 8>(factor[i + at]); };
                const auto low = aie::concat(each(0), each(1)), high = aie::concat(each(2), each(3));
                const int32 *const sums = call.sums + (row + i) / 4 * call.tiles * tile;
                for (unsigned at = 0; at < tiles; ++at) chess_prepare_for_pipelining {
                    const auto first = aie::mul<acc64>(aie::load_v<lanes>(sums + at * tile), low);
                    const auto second = aie::mul<acc64>(aie::load_v<lanes>(sums + at * tile + lanes), high);
                    auto values = aie::concat(first.template to_vector<int16>(call.down), second.template to_vector<int16>(call.down));
                    values = aie::min(aie::max(values, static_cast<int16>(call.lo)), static_cast<int16>(call.hi));
                    values = aie::add(values, aie::broadcast<int16, tile>(static_cast<int16>(call.zero_point)));
                    aie::store_v(y + ((row + i) / 4 * tiles + at) * tile, values.pack());
                }
            }
        }
    }
}  // namespace running_parts_int8_12_by_4
