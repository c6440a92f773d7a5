// Attention in bfloat16 of which a part of the keys is there at a time, beside its products lane by lane: queries times a
% if k.shifted:
// factor; each row's largest score; weights, which are powers of two, and their sums; results. Rows of queries lie in lanes.
% else:
// factor; weights, which are powers of two by scores as they are, and their sums; results. Rows of queries lie in lanes.
% endif
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

<%include file="aie/floats.mako"/>
constexpr unsigned wide = 32, tile = 32;
using Steps = aie::vector<int16, wide>;

struct Call {
    float *x;        // [width][rows]: scores; weights begin where they do, likewise
% if k.shifted:
    int16 *most;     // [rows]: the largest steps so far, then what is far below all
% endif
    float *totals;   // [${k.sums}][rows]: sums of weights, of every ${k.sums}th eight keys
    unsigned rows;   // a multiple of 32
    unsigned width;  // keys of a part, a multiple of ${8 * k.sums}
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
            % for each in range(8):
            aie::store_v(to + ${each} * rows, turned.template extract<8>(${each}));
            % endfor
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
    const Floats shifted = aie::add(Floats(aie::load_v<lanes>(x)), everywhere(${k.magic}f));
    return aie::sub(shifted.cast_to<acc32>(), aie::broadcast<int32, lanes>(${k.magic_bits})).to_vector<int16>(0);
}

MATCH_AIE_INLINE Steps pair(const float *x) { return aie::concat(counted(x), counted(x + lanes)); }

% if k.shifted:
/// Larger scores than those so far; of the first part, any.
MATCH_AIE_INLINE void compare(const Call &call, bool first) {
    for (unsigned row = 0; row < call.rows; row += wide) {
        Steps most = first ? aie::broadcast<int16, wide>(-32768) : aie::load_v<wide>(call.most + row);
        const float *x = call.x + row;
        for (unsigned key = 0; key < call.width; ++key) chess_prepare_for_pipelining {
            most = aie::max(most, pair(x));
            x += call.rows;
        }
        aie::store_v(call.most + row, most);
    }
}

/// Behind the last part: of each row's largest score, what is so far below it that nothing counts less.
MATCH_AIE_INLINE void settle(const Call &call) {
    const auto least = aie::broadcast<int16, wide>(${k.farthest - 32768}), below = aie::broadcast<int16, wide>(${k.farthest});
    for (unsigned row = 0; row < call.rows; row += wide) {
        aie::store_v(call.most + row, aie::sub(aie::max(aie::load_v<wide>(call.most + row), least), below));
    }
    for (unsigned at = 0; at < call.rows * ${k.sums}; at += lanes) aie::store_v(call.totals + at, aie::zeros<float, lanes>());
}
% else:
/// Before the first part: no weights are summed.
MATCH_AIE_INLINE void begin(const Call &call) {
    for (unsigned at = 0; at < call.rows * ${k.sums}; at += lanes) aie::store_v(call.totals + at, aie::zeros<float, lanes>());
}
% endif

/// 2^(x - 1) of numbers between 1 and 2.
MATCH_AIE_INLINE Rounded power(const Rounded &x) {
    const Rounded inner = aie::mac(everywhere(${k.linear}f), x, aie::broadcast<bfloat16, lanes>(${k.square}f)).to_vector<bfloat16>();
    return aie::mac(everywhere(${k.start}f), inner, x).to_vector<bfloat16>();
}

/// Weights in place of what they are made of; those of so many keys join the sums of their rows.
MATCH_AIE_INLINE void weigh(const Call &call, unsigned columns) {
    const auto fraction = aie::broadcast<int16, wide>(${k.steps - 1}), exponent = aie::broadcast<int16, wide>(-${k.steps});
    const auto one = aie::broadcast<int16, wide>(${k.one});
% if not k.shifted:
    const auto least = aie::broadcast<int16, wide>(-${k.farthest}), largest = aie::broadcast<int16, wide>(${k.largest});
% endif
    const float *x = call.x;
    bfloat16 *y = reinterpret_cast<bfloat16 *>(call.x);
    for (unsigned key = 0; key < call.width; ++key) {
        const auto counts = aie::broadcast<bfloat16, wide>(key < columns ? 1.0f : 0.0f);
        float *totals = call.totals + key / 8 % ${k.sums} * call.rows;
        for (unsigned row = 0; row < call.rows; row += wide) chess_prepare_for_pipelining {
% if k.shifted:
            const Steps least = aie::load_v<wide>(call.most + row);
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
            const auto weights = whole.template cast_to<bfloat16>();
            const aie::accum<accfloat, wide> sum(aie::load_v<wide>(totals + row));
            aie::store_v(totals + row, aie::mac(sum, weights, counts).template to_vector<float>());
            aie::store_v(y, weights);
            x += wide;
            y += wide;
        }
    }
}

<%include file="aie/float_inverse.mako" args="start=k.inverse, steps=k.inverse_steps"/>
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

}  // namespace ${k.family}
