// Lane by lane: products into accumulators, sums, comparisons, rearrangements.
#pragma once

#include "vector.hpp"

namespace aie_emulation {

/// Products per vector instruction, in lanes: 512-bit accumulators' worth (AIE-ML: 1024 bits).
template <typename Tag>
inline constexpr unsigned product_lanes = sizeof(typename Lane<Tag>::type) == 8 ? 16 : 32;

template <typename Tag, typename A, typename B>
typename Lane<Tag>::type product(A a, B b) {
    using L = typename Lane<Tag>::type;
    return wrap_multiply<L>(static_cast<L>(a), static_cast<L>(b));
}

template <typename Tag, unsigned N>
void count_products(Place place) {
    core(place).counters.multiply += words(N, product_lanes<Tag>);
}

}  // namespace aie_emulation

namespace aie {

template <typename Tag, typename A, typename B, unsigned N>
accum<Tag, N> mul(const vector<A, N> &a, const vector<B, N> &b, AIE_EMULATION_HERE) {
    aie_emulation::count_products<Tag, N>(AIE_EMULATION_PLACE);
    accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) sum.lane(i) = aie_emulation::product<Tag>(a[i], b[i]);
    return sum;
}

template <typename Tag, typename A, typename B, unsigned N>
accum<Tag, N> mac(const accum<Tag, N> &before, const vector<A, N> &a, const vector<B, N> &b,
                  AIE_EMULATION_HERE) {
    aie_emulation::count_products<Tag, N>(AIE_EMULATION_PLACE);
    accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) {
        sum.lane(i) = aie_emulation::wrap_add(before.lane(i),
                                              aie_emulation::product<Tag>(a[i], b[i]));
    }
    return sum;
}

template <typename Tag, unsigned N>
accum<Tag, N> add(const accum<Tag, N> &a, const accum<Tag, N> &b) {
    accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) sum.lane(i) = aie_emulation::wrap_add(a.lane(i), b.lane(i));
    return sum;
}

template <typename T, unsigned N>
vector<T, N> add(const vector<T, N> &a, const vector<T, N> &b) {
    vector<T, N> sum;
    for (unsigned i = 0; i < N; ++i) sum[i] = aie_emulation::wrap_add(T(a[i]), T(b[i]));
    return sum;
}

template <typename T, unsigned N>
vector<T, N> sub(const vector<T, N> &a, const vector<T, N> &b) {
    vector<T, N> rest;
    for (unsigned i = 0; i < N; ++i) {
        if constexpr (aie_emulation::is_floating<T>) {
            rest[i] = static_cast<T>(a[i] - b[i]);
        } else {
            using U = std::make_unsigned_t<T>;
            rest[i] = static_cast<T>(static_cast<U>(static_cast<U>(a[i]) - static_cast<U>(b[i])));
        }
    }
    return rest;
}

template <typename T, unsigned N>
vector<T, N> max(const vector<T, N> &a, const vector<T, N> &b) {
    vector<T, N> most;
    for (unsigned i = 0; i < N; ++i) most[i] = a[i] < b[i] ? b[i] : a[i];
    return most;
}

template <typename T, unsigned N>
vector<T, N> max(const vector<T, N> &a, T b) {
    return max(a, broadcast<T, N>(b));
}

template <typename T, unsigned N>
vector<T, N> min(const vector<T, N> &a, const vector<T, N> &b) {
    vector<T, N> least;
    for (unsigned i = 0; i < N; ++i) least[i] = b[i] < a[i] ? b[i] : a[i];
    return least;
}

template <typename T, unsigned N>
vector<T, N> min(const vector<T, N> &a, T b) {
    return min(a, broadcast<T, N>(b));
}

template <typename T, unsigned N>
mask<N> ge(const vector<T, N> &a, const vector<T, N> &b) {
    mask<N> answer;
    for (unsigned i = 0; i < N; ++i) answer.set(i, a[i] >= b[i]);
    return answer;
}

template <typename T, unsigned N>
mask<N> lt(const vector<T, N> &a, const vector<T, N> &b) {
    mask<N> answer;
    for (unsigned i = 0; i < N; ++i) answer.set(i, a[i] < b[i]);
    return answer;
}

/// Lane of `b` where the mask is set, of `a` where it is not.
template <typename T, unsigned N>
vector<T, N> select(const vector<T, N> &a, const vector<T, N> &b, const mask<N> &take) {
    vector<T, N> chosen;
    for (unsigned i = 0; i < N; ++i) chosen[i] = take.test(i) ? b[i] : a[i];
    return chosen;
}

template <typename T, unsigned N>
T reduce_add(const vector<T, N> &lanes) {
    T sum = lanes[0];
    for (unsigned i = 1; i < N; ++i) sum = aie_emulation::wrap_add(sum, T(lanes[i]));
    return sum;
}

template <typename T, unsigned N>
T reduce_max(const vector<T, N> &lanes) {
    T most = lanes[0];
    for (unsigned i = 1; i < N; ++i) most = most < lanes[i] ? lanes[i] : most;
    return most;
}

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
