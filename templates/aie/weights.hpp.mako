<%
    x_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
    steps = 'uint16' if k.dtype == 'uint8' else 'int16'
    least = -128 if k.a == 'int8' else 0
%>\
// Softmax of rows of ${k.a} that lie in tiles of 4 x 8, in place: exponentials of distances from each row's
// largest element out of a table, sums of up to 16 rows made, normalised and divided side by side.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = 16;
constexpr unsigned tile = 32;
using Table = aie::lut<4, int32>;
using Lookup = aie::parallel_lookup<uint8, Table>;
using Sum = aie::accum<acc64, lanes>;
using Numbers = aie::vector<int32, lanes>;

struct Call {
    ${x_type} *x;                // [rows/4][width/8][4][8]
    const int32 *__restrict ab;  // 256 entries, every 4 of them (8 on XDNA2) twice
    const int32 *__restrict cd;  // the same again, in another bank
    int32 *e;                    // [divided][width]: exponentials of so many rows
    int32 *sums;                 // [16][16]: what is left to add up for each; then [2][16], see `divide`
    unsigned rows;               // a multiple of 4
    unsigned width;              // of a row, a multiple of 16
    unsigned columns;            // the first of them, which count
    unsigned divided;            // rows whose sums are divided at once: 4, 8 or 16
    int known;                   // bits beyond 15 that every sum has
    unsigned unknown;            // and that some have beyond these
    int multiplier;
    int shift;
    int zero_point;
};

/// `value` behind the columns that count, in four rows.
template <typename T>
MATCH_AIE_INLINE void fill(T *x, const Call &call, T value) {
    for (unsigned at = call.columns / 8; at < call.width / 8; ++at) {
        const unsigned here = at * 8 < call.columns ? call.columns - at * 8 : 0;
        const auto behind = aie::mask<tile>::from_uint32((0xffu << here & 0xffu) * 0x01010101u);
        aie::store_v(x + at * tile, aie::select(aie::load_v<tile>(x + at * tile), aie::broadcast<T, tile>(value), behind));
    }
}

<%include file="aie/softmax_tiles.mako"/>
/// Each of four rows' largest element, eight times.
MATCH_AIE_INLINE aie::vector<${x_type}, tile> largest(const ${x_type} *x, unsigned width) {
    auto even = aie::load_v<tile>(x), odd = aie::load_v<tile>(x + tile);
    for (unsigned at = 16; at < width; at += 16) chess_prepare_for_pipelining {
        even = aie::max(even, aie::load_v<tile>(x + at * 4));
        odd = aie::max(odd, aie::load_v<tile>(x + at * 4 + tile));
    }
    return in_all_columns(aie::max(even, odd));
}

/// Exponentials of a pair of tiles, row by row; those that `counted` says join the sums.
MATCH_AIE_INLINE void pair(const ${x_type} *x, int32 *e, unsigned width, Lookup &lookup, const aie::vector<${x_type}, tile> &most,
                          const aie::vector<int16, lanes> &counted, Sum *sums) {
    const auto first = aie::sub(most, aie::load_v<tile>(x)), second = aie::sub(most, aie::load_v<tile>(x + tile));
    const auto [low, high] = aie::interleave_zip(first, second, 8);
    for (unsigned row = 0; row < 4; ++row) chess_unroll_loop() {
        const auto distance = (row < 2 ? low : high).template extract<lanes>(row % 2);
        const Numbers found = lookup.fetch(distance${'' if k.a == 'uint8' else '.template cast_to<uint8>()'});
        sums[row] = aie::mac(sums[row], found, counted);
        aie::store_v(e + row * width, found);
    }
}

/// Exponentials of four rows, and what is left to add up.
MATCH_AIE_INLINE void exponentials(const Call &call, Lookup &lookup, unsigned block, unsigned row) {
    ${x_type} *x = call.x + (block + row) * call.width;
    int32 *e = call.e + row * call.width;
    fill(x, call, static_cast<${x_type}>(${least}));
    const auto most = largest(x, call.width);
    const auto ones = aie::broadcast<int16, lanes>(1);
    Sum sums[4];
    const unsigned whole = call.columns / 16;
    for (unsigned at = 0; at < whole; ++at) chess_prepare_for_pipelining {
        pair(x + at * 64, e + at * 16, call.width, lookup, most, ones, sums);
    }
    if (whole * 16 < call.width) {
        const auto behind = aie::mask<lanes>::from_uint32(0xffffu << (call.columns - whole * 16) & 0xffffu);
        const auto counted = aie::select(ones, aie::zeros<int16, lanes>(), behind);
        pair(x + whole * 64, e + whole * 16, call.width, lookup, most, counted, sums);
    }
    for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
        aie::store_v(call.sums + (row + i) * lanes, sums[i].template to_vector<int32>(0));
    }
}

/// Weights of four rows.
MATCH_AIE_INLINE void scale(const Call &call, unsigned block, unsigned row) {
    ${y_type} *y = reinterpret_cast<${y_type} *>(call.x) + (block + row) * call.width;
    const int32 *e = call.e + row * call.width;
    aie::vector<int16, lanes> factor[4];
    int shift[4];
    for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
        factor[i] = aie::broadcast<int16, lanes>(static_cast<int16>((call.sums[row + i] * call.multiplier) >> 15));
        shift[i] = call.sums[lanes + row + i];
    }
    const auto zero_point = aie::broadcast<${steps}, lanes>(static_cast<${steps}>(call.zero_point));
    for (unsigned at = 0; at < call.width; at += 16) chess_prepare_for_pipelining {
        aie::vector<${steps}, lanes> found[4];
        for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() {
            const auto product = aie::mul<acc64>(aie::load_v<lanes>(e + i * call.width + at), factor[i]);
            found[i] = aie::add(product.template to_vector<${steps}>(shift[i]), zero_point);
        }
        const auto both = aie::concat(aie::concat(found[0], found[1]).pack(), aie::concat(found[2], found[3]).pack());
        aie::store_v(y + at * 4, aie::filter_even(both, 8));
        aie::store_v(y + at * 4 + tile, aie::filter_odd(both, 8));
    }
    fill(y, call, static_cast<${y_type}>(0));
}

MATCH_AIE_INLINE void run(const Call &call) {
    const Table table(256, call.ab, call.cd);
    Lookup lookup(table, 0);
    for (unsigned block = 0; block < call.rows; block += call.divided) {
        const unsigned rows = call.rows - block < call.divided ? call.rows - block : call.divided;
        for (unsigned row = 0; row < rows; row += 4) exponentials(call, lookup, block, row);
        divide(call, rows);
        for (unsigned row = 0; row < rows; row += 4) scale(call, block, row);
    }
}

}  // namespace ${k.family}
