// Rearrangements of lanes.
#pragma once

#include <utility>

#include "vector.hpp"

namespace aie {

/// A matrix of `rows` x `columns` lanes, row-major, to its transpose.
template <typename T, unsigned N>
vector<T, N> transpose(const vector<T, N> &lanes, unsigned rows, unsigned columns,
                       AIE_EMULATION_HERE) {
    if (rows * columns != N) {
        aie_emulation::stop(AIE_EMULATION_PLACE, "transpose: rows x columns is not the vector");
    }
    vector<T, N> turned;
    for (unsigned r = 0; r < rows; ++r) {
        for (unsigned c = 0; c < columns; ++c) turned[c * rows + r] = lanes[r * columns + c];
    }
    return turned;
}

template <typename T, unsigned N>
vector<T, N> shuffle_down(const vector<T, N> &lanes, unsigned by) {
    vector<T, N> moved;
    for (unsigned i = 0; i < N; ++i) moved[i] = i + by < N ? lanes[i + by] : T{};
    return moved;
}

/// Moves lanes down by `by`; the first lanes of `fill` come in behind them.
template <typename T, unsigned N>
vector<T, N> shuffle_down_fill(const vector<T, N> &lanes, const vector<T, N> &fill, unsigned by,
                               AIE_EMULATION_HERE) {
    if (by > N) {
        aie_emulation::stop(AIE_EMULATION_PLACE, "shuffle_down_fill: by more lanes than there are");
    }
    vector<T, N> moved;
    for (unsigned i = 0; i < N; ++i) moved[i] = i + by < N ? lanes[i + by] : fill[i + by - N];
    return moved;
}

/// Chunks of `chunk` lanes of `a` and of `b` in turns: the first and the second half of them.
template <typename T, unsigned N>
std::pair<vector<T, N>, vector<T, N>> interleave_zip(const vector<T, N> &a, const vector<T, N> &b,
                                                     unsigned chunk, AIE_EMULATION_HERE) {
    if (chunk > N || !std::has_single_bit(chunk)) {
        aie_emulation::stop(AIE_EMULATION_PLACE, "interleave_zip: a chunk is a power of two of lanes");
    }
    std::pair<vector<T, N>, vector<T, N>> zipped;
    for (unsigned i = 0; i < 2 * N; ++i) {
        const auto &from = i / chunk % 2 == 0 ? a : b;
        auto &to = i < N ? zipped.first : zipped.second;
        to[i % N] = from[i / (2 * chunk) * chunk + i % chunk];
    }
    return zipped;
}

/// The inverse: even chunks of `a` and then of `b`, and odd ones.
template <typename T, unsigned N>
std::pair<vector<T, N>, vector<T, N>> interleave_unzip(const vector<T, N> &a, const vector<T, N> &b,
                                                       unsigned chunk, AIE_EMULATION_HERE) {
    if (2 * chunk > N || !std::has_single_bit(chunk)) {
        aie_emulation::stop(AIE_EMULATION_PLACE, "interleave_unzip: a chunk is a power of two of half the lanes");
    }
    std::pair<vector<T, N>, vector<T, N>> parts;
    for (unsigned i = 0; i < 2 * N; ++i) {
        auto &to = i / chunk % 2 == 0 ? parts.first : parts.second;
        to[i / (2 * chunk) * chunk + i % chunk] = i < N ? a[i] : b[i - N];
    }
    return parts;
}

template <typename T, unsigned N>
vector<T, N / 2> filter_even(const vector<T, N> &lanes, unsigned step = 1) {
    vector<T, N / 2> kept;
    for (unsigned i = 0; i < N / 2; ++i) kept[i] = lanes[i / step * 2 * step + i % step];
    return kept;
}

template <typename T, unsigned N>
vector<T, N / 2> filter_odd(const vector<T, N> &lanes, unsigned step = 1) {
    vector<T, N / 2> kept;
    for (unsigned i = 0; i < N / 2; ++i) kept[i] = lanes[i / step * 2 * step + step + i % step];
    return kept;
}

}  // namespace aie
