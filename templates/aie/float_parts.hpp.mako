// Attention in bfloat16 of which a part of the keys is there at a time, beside its products: queries times a factor; ${"each" if k.shifted else "weights,"}
% if k.shifted:
// row's largest score; weights, which are powers of two, and their sums; results. Tiles of scores are four keys by four rows.
% else:
// which are powers of two by scores as they are, and their sums; results. Tiles of scores are four keys by four rows.
% endif
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

<%include file="aie/floats.mako"/>
constexpr unsigned tile = 32;
using Steps = aie::vector<int16, tile>;

struct Call {
    float *x;        // [rows/4][width/4][4 keys][4 rows]; weights begin where they do: [rows/4][width/8][4 rows][8 keys]
% if k.shifted:
    int16 *most;     // [rows/4][8][4 rows]: the largest steps so far of every eighth key, then what is far below all
% endif
    float *totals;   // [rows/4][${k.sums}][4 rows][4]: sums of weights, of every ${k.sums}th eight keys, four times each
    bfloat16 *ones;  // [width/8][8][4]: what a part's keys count
    unsigned rows;   // a multiple of 4
    unsigned width;  // keys of a part, a multiple of ${8 * k.sums}
};

/// Queries times a factor, tiles of four by eight elements turned: [columns/8][rows/4][8][4].
MATCH_AIE_INLINE void scale(const bfloat16 *__restrict x, bfloat16 *__restrict y, unsigned first, unsigned count, unsigned across, unsigned down, float high, float low) {
    const auto left = aie::broadcast<bfloat16, lanes>(high), right = aie::broadcast<bfloat16, lanes>(low);
    for (unsigned at = first; at < first + count; ++at) chess_prepare_for_pipelining {
        const auto queries = aie::load_v<tile>(x);
        x += tile;
        const auto even = queries.template extract<lanes>(0), odd = queries.template extract<lanes>(1);
        const Rounded above = aie::mac(aie::mul(even, left), even, right).template to_vector<bfloat16>();
        const Rounded below = aie::mac(aie::mul(odd, left), odd, right).template to_vector<bfloat16>();
        aie::store_v(y + (at % across * down + at / across) * tile, aie::transpose(aie::concat(above, below), 4, 8));
    }
}

/// What lies behind so many keys is less than all else.
MATCH_AIE_INLINE void hide(const Call &call, unsigned columns) {
    const auto least = aie::broadcast<float, lanes>(-1e30f);
    for (unsigned row = 0; row < call.rows; row += 4) {
        float *x = call.x + row * call.width;
        for (unsigned at = columns / 4; at < call.width / 4; ++at) {
            const unsigned kept = columns > at * 4 ? columns - at * 4 : 0;
            const auto behind = aie::mask<lanes>::from_uint32(0xffffu << kept * 4 & 0xffffu);
            aie::store_v(x + at * lanes, aie::select(aie::load_v<lanes>(x + at * lanes), least, behind));
        }
    }
}

/// Scores of four keys in steps of a power of two: the sum with so large a number ends where they do.
MATCH_AIE_INLINE aie::vector<int16, lanes> counted(const float *x) {
    const Floats shifted = aie::add(Floats(aie::load_v<lanes>(x)), everywhere(${k.magic}f));
    return aie::sub(shifted.cast_to<acc32>(), aie::broadcast<int32, lanes>(${k.magic_bits})).to_vector<int16>(0);
}

MATCH_AIE_INLINE Steps pair(const float *x) { return aie::concat(counted(x), counted(x + lanes)); }

% if k.shifted:
/// Larger scores than those so far; of the first part, any.
MATCH_AIE_INLINE void compare(const Call &call, bool first) {
    const unsigned groups = call.rows / 4;
    if (first) {
        for (unsigned group = 0; group < groups; ++group) aie::store_v(call.most + group * tile, aie::broadcast<int16, tile>(-32768));
    }
    for (unsigned at = 0; at < call.width; at += 8) {
        const float *x = call.x + at * 4;
        int16 *most = call.most;
        for (unsigned group = 0; group < groups; ++group) chess_prepare_for_pipelining {
            aie::store_v(most, aie::max(aie::load_v<tile>(most), pair(x)));
            x += 4 * call.width;
            most += tile;
        }
    }
}

/// Behind the last part: of each row's largest score, for all eight keys, what is so far below it that nothing counts less.
MATCH_AIE_INLINE void settle(const Call &call) {
    const auto least = aie::broadcast<int16, tile>(${k.farthest - 32768}), below = aie::broadcast<int16, tile>(${k.farthest});
    for (unsigned group = 0; group < call.rows / 4; ++group) {
        Steps most = aie::load_v<tile>(call.most + group * tile);
        most = aie::max(most, aie::shuffle_down_fill(most, most, 16));
        most = aie::max(most, aie::shuffle_down_fill(most, most, 8));
        most = aie::max(most, aie::shuffle_down_fill(most, most, 4));
        aie::store_v(call.most + group * tile, aie::sub(aie::max(most, least), below));
    }
    for (unsigned at = 0; at < call.rows * ${4 * k.sums}; at += lanes) aie::store_v(call.totals + at, aie::zeros<float, lanes>());
}
% else:
/// Before the first part: no weights are summed.
MATCH_AIE_INLINE void begin(const Call &call) {
    for (unsigned at = 0; at < call.rows * ${4 * k.sums}; at += lanes) aie::store_v(call.totals + at, aie::zeros<float, lanes>());
}
% endif

/// 2^(x - 1) of numbers between 1 and 2.
MATCH_AIE_INLINE Rounded power(const Rounded &x) {
    const Rounded inner = aie::mac(everywhere(${k.linear}f), x, aie::broadcast<bfloat16, lanes>(${k.square}f)).to_vector<bfloat16>();
    return aie::mac(everywhere(${k.start}f), inner, x).to_vector<bfloat16>();
}

/// Weights in place of what they are made of; those of so many keys join the sums of their rows.
MATCH_AIE_INLINE void weigh(const Call &call, unsigned columns) {
    const unsigned pairs = call.width / 8;
    for (unsigned pair = 0; pair < pairs; ++pair) {
        const unsigned left = columns > pair * 8 ? columns - pair * 8 : 0;
        const auto kept = aie::mask<tile>::from_uint32(left < 8 ? (1u << left * 4) - 1 : 0xffffffffu);
        aie::store_v(call.ones + pair * tile, aie::select(aie::zeros<bfloat16, tile>(), aie::broadcast<bfloat16, tile>(1.0f), kept));
    }
    const auto fraction = aie::broadcast<int16, tile>(${k.steps - 1}), exponent = aie::broadcast<int16, tile>(-${k.steps});
    const auto one = aie::broadcast<int16, tile>(${k.one});
    const float *x = call.x;
    bfloat16 *y = reinterpret_cast<bfloat16 *>(call.x);
% if k.shifted:
    const int16 *floor = call.most;
% else:
    const auto least = aie::broadcast<int16, tile>(-${k.farthest}), largest = aie::broadcast<int16, tile>(${k.largest});
% endif
    float *totals = call.totals;
    unsigned at = 0;
    for (unsigned turn = 0; turn < call.rows / 4 * pairs; ++turn) chess_prepare_for_pipelining {
% if k.shifted:
        const Steps least = aie::load_v<tile>(floor);
% endif
        // Steps are the bits of a bfloat16 number whose exponent is right, but for a constant, and whose mantissa is no power yet.
% if k.shifted:
        const Steps steps = aie::sub(aie::max(pair(x), least), least);
% else:
        const Steps steps = aie::sub(aie::max(aie::min(pair(x), largest), least), least);
% endif
        const auto near = aie::add(aie::bit_and(steps, fraction), one).template cast_to<bfloat16>();
        const auto found = aie::concat(power(near.template extract<lanes>(0)), power(near.template extract<lanes>(1)));
        const Steps whole = aie::add(found.template cast_to<int16>(), aie::bit_and(steps, exponent));
        const auto weights = aie::transpose(whole.template cast_to<bfloat16>(), 8, 4);
        float *total = totals + at % ${k.sums} * lanes;
        aie::mmul<4, 8, 4, bfloat16, bfloat16> sum(aie::load_v<lanes>(total));
        sum.mac(weights, aie::load_v<tile>(call.ones + at * tile));
        aie::store_v(total, sum.template to_vector<float>());
        aie::store_v(y, weights);
        x += tile;
        y += tile;
        const bool ends = at + 1 == pairs;
% if k.shifted:
        floor += ends ? tile : 0;
% endif
        totals += ends ? ${k.sums} * lanes : 0;
        at = ends ? 0 : at + 1;
    }
}

<%include file="aie/float_inverse.mako" args="start=k.inverse, steps=k.inverse_steps"/>
/// Sums of so many columns, tiles of four by four, divided by those of their rows' weights.
MATCH_AIE_INLINE void divide(const Call &call, const float *__restrict sums, bfloat16 *__restrict y, unsigned columns) {
    for (unsigned row = 0; row < call.rows; row += 4) {
        const float *totals = call.totals + row * ${k.sums * 4};
        const Floats first = aie::add(Floats(aie::load_v<lanes>(totals)), Floats(aie::load_v<lanes>(totals + lanes)));
        const Floats second = aie::add(Floats(aie::load_v<lanes>(totals + 2 * lanes)), Floats(aie::load_v<lanes>(totals + 3 * lanes)));
        const Split scale = inverse(aie::add(first, second));
        for (unsigned at = row * columns; at < (row + 4) * columns; at += lanes) chess_prepare_for_pipelining {
            const Split sum = split(Floats(aie::load_v<lanes>(sums + at)));
            const Floats share = aie::mac(aie::mac(aie::mul(sum.high, scale.high), sum.high, scale.low), sum.low, scale.high);
            aie::store_v(y + at, share.to_vector<bfloat16>());
        }
    }
}

}  // namespace ${k.family}
