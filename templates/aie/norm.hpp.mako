<%
    a_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
%>\
// ${'RMS norm' if k.rms else 'Layer norm'} of rows of ${k.a} elements: exact sums, a square root and a division a row.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};
using Sum = aie::accum<acc32, lanes>;

struct Call {
    const ${a_type} *__restrict x;
    const int16 *__restrict multiplier;
    const int32 *__restrict bias;
    ${y_type} *__restrict y;
    unsigned rows;
    unsigned width;    // of a row, a multiple of ${k.lanes}
    int columns;       // the first of them, which count; behind them lies 0
    int normal_bits;   // of the fraction of what is left of an element
    int shift;
    long long epsilon;
% if k.rms:
    int zero_point;    // of x
% endif
};

struct Sums {
    int total;
    int squares;
};

// What an element is multiplied by, what is taken off then, and by how much it is shifted down.
struct Row {
    int factor;
    int moved;
    int shift;
};

MATCH_AIE_INLINE Sums summed(const ${a_type} *__restrict x, unsigned width) {
    const auto one = aie::broadcast<int16, lanes>(1);
    Sum total = aie::zeros<acc32, lanes>(), squares = aie::zeros<acc32, lanes>();
    for (unsigned at = 0; at < width; at += lanes) chess_prepare_for_pipelining {
        const auto wide = aie::load_v<lanes>(x + at).unpack();
        total = aie::mac(total, wide, one);
        squares = aie::mac_square(squares, wide);
    }
    return {aie::reduce_add(total.to_vector<int32>()), aie::reduce_add(squares.to_vector<int32>())};
}

// Bit by bit, of a number below 2^30.
MATCH_AIE_INLINE int square_root(int value) {
    int root = 0;
    for (int bit = 1 << 14; bit != 0; bit >>= 1) {
        const int next = root + bit;
        if (next * next <= value) root = next;
    }
    return root;
}

MATCH_AIE_INLINE Row numbers(const Sums &sums, const Call &call) {
    const int n = call.columns, others = n > 1 ? n - 1 : 1;
% if k.rms:
    const int mean = call.zero_point;
    const long long squares = sums.squares - 2LL * mean * sums.total + static_cast<long long>(n) * mean * mean;
    const long long centred = n * squares;
% else:
    const long long centred = static_cast<long long>(n) * sums.squares -
                              static_cast<long long>(sums.total) * sums.total;
% endif
    long long variance = centred * 256 + call.epsilon;
    if (variance < others * 256LL) variance = others * 256LL;
    int half = 0;
    for (; variance >= 1 << 30; variance >>= 2) ++half;
    for (; variance < 1 << 28; variance <<= 2) --half;
    const int inverse = ((1 << 29) - 1) / square_root(static_cast<int>(variance));
    const int bits = 32 - clb(n);
% if not k.rms:
    // C++ divides towards 0, and the mean is the integer below.
    const int mean = (sums.total - (sums.total < 0 ? n - 1 : 0)) / n;
% endif
    const int factor = static_cast<int>((static_cast<long long>(n) * inverse) >> bits);
% if k.rms:
    return {factor, factor * mean, 25 + half - bits - call.normal_bits};
% else:
    const long long rest = static_cast<long long>(sums.total - n * mean) * inverse;
    return {factor, factor * mean + static_cast<int>(rest >> bits), 25 + half - bits - call.normal_bits};
% endif
}

MATCH_AIE_INLINE void norm(const Call &call, unsigned row) {
    const ${a_type} *__restrict x = call.x + row * call.width;
    ${y_type} *__restrict y = call.y + row * call.width;
    const Row n = numbers(summed(x, call.width), call);
    const Sum start(aie::broadcast<int32, lanes>(-n.moved));
    const auto factor = aie::broadcast<int16, lanes>(static_cast<int16>(n.factor));
    for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
        const auto centred = aie::mac(start, aie::load_v<lanes>(x + at).unpack(), factor);
        const auto normal = centred.to_vector<int16>(n.shift);
        const Sum addend(aie::load_v<lanes>(call.bias + at));
        const auto scaled = aie::mac(addend, normal, aie::load_v<lanes>(call.multiplier + at));
        aie::store_v(y + at, scaled.to_vector<${y_type}>(call.shift));
    }
}

MATCH_AIE_INLINE void run(const Call &call) {
    for (unsigned row = 0; row < call.rows; ++row) norm(call, row);
}

}  // namespace ${k.family}
