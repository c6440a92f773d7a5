// Lane by lane: products into accumulators, sums, shifts, comparisons.
#pragma once

#include "vector.hpp"

namespace aie_emulation {

/// Products per vector instruction, in lanes: 512-bit accumulators' worth (AIE-ML: 1024 bits).
template <typename Tag>
inline constexpr unsigned product_lanes = sizeof(typename Lane<Tag>::type) == 8 ? 16 : 32;

template <typename Tag, typename A, typename B>
typename Lane<Tag>::type product(A a, B b) {
    static_assert(multiplies<Tag, A, B>, "no such product of lanes: floats are of one type, 8 by 32 bits is none");
    using L = typename Lane<Tag>::type;
    return wrap_multiply<L>(static_cast<L>(a), static_cast<L>(b));
}

/// The accumulator's tag where the source names none.
template <typename A, typename B>
using DefaultTag = std::conditional_t<
    is_floating<A> || is_floating<B>, accfloat,
    std::conditional_t<(sizeof(A) + sizeof(B) <= 4), acc32,
                       std::conditional_t<(sizeof(A) + sizeof(B) < 8), acc48, acc64>>>;

/// Vector products of one lane by lane product: those of 32-bit integers are made of the products of
/// their 16-bit halves (detail/aie2/emulated_mul_intrinsics.hpp).
template <typename A, typename B>
inline constexpr unsigned halves =
    is_floating<A> || is_floating<B> ? 1 : (sizeof(A) == 4 ? 2 : 1) * (sizeof(B) == 4 ? 2 : 1);

template <typename Tag, unsigned N, typename A, typename B>
void count_products(Place place) {
    core(place).counters.multiply += words(N, product_lanes<Tag>) * halves<A, B>;
}

}  // namespace aie_emulation

namespace aie {

template <typename Tag, typename A, typename B, unsigned N>
accum<Tag, N> mul(const vector<A, N> &a, const vector<B, N> &b, AIE_EMULATION_HERE) {
    aie_emulation::count_products<Tag, N, A, B>(AIE_EMULATION_PLACE);
    accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) sum.lane(i) = aie_emulation::product<Tag>(a[i], b[i]);
    return sum;
}

template <typename A, typename B, unsigned N>
auto mul(const vector<A, N> &a, const vector<B, N> &b, AIE_EMULATION_HERE) {
    return mul<aie_emulation::DefaultTag<A, B>>(a, b, file, line);
}

template <typename Tag, typename A, typename B, unsigned N>
accum<Tag, N> mac(const accum<Tag, N> &before, const vector<A, N> &a, const vector<B, N> &b,
                  AIE_EMULATION_HERE) {
    aie_emulation::count_products<Tag, N, A, B>(AIE_EMULATION_PLACE);
    accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) {
        sum.lane(i) = aie_emulation::wrap_add(before.lane(i),
                                              aie_emulation::product<Tag>(a[i], b[i]));
    }
    return sum;
}

/// Lane = sum + product with one element, as of a vector that says which.
template <typename Tag, typename A, unsigned N>
accum<Tag, N> mac(const accum<Tag, N> &before, const vector<A, N> &a, A b, AIE_EMULATION_HERE) {
    return mac(before, a, broadcast<A, N>(b), file, line);
}

/// Lane = sum - product.
template <typename Tag, typename A, typename B, unsigned N>
accum<Tag, N> msc(const accum<Tag, N> &before, const vector<A, N> &a, const vector<B, N> &b,
                  AIE_EMULATION_HERE) {
    aie_emulation::count_products<Tag, N, A, B>(AIE_EMULATION_PLACE);
    accum<Tag, N> rest;
    for (unsigned i = 0; i < N; ++i) {
        rest.lane(i) = aie_emulation::wrap_subtract(before.lane(i),
                                                    aie_emulation::product<Tag>(a[i], b[i]));
    }
    return rest;
}

/// Lane = sum + value squared.
template <typename Tag, typename T, unsigned N>
accum<Tag, N> mac_square(const accum<Tag, N> &before, const vector<T, N> &a, AIE_EMULATION_HERE) {
    return mac(before, a, a, file, line);
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
    for (unsigned i = 0; i < N; ++i) rest[i] = aie_emulation::wrap_subtract(T(a[i]), T(b[i]));
    return rest;
}

template <typename Tag, typename T, unsigned N>
accum<Tag, N> add(const accum<Tag, N> &a, const vector<T, N> &b) {
    return add(a, accum<Tag, N>(b));
}

template <typename Tag, unsigned N>
accum<Tag, N> sub(const accum<Tag, N> &a, const accum<Tag, N> &b) {
    accum<Tag, N> rest;
    for (unsigned i = 0; i < N; ++i) {
        rest.lane(i) = aie_emulation::wrap_subtract(a.lane(i), b.lane(i));
    }
    return rest;
}

template <typename Tag, typename T, unsigned N>
accum<Tag, N> sub(const accum<Tag, N> &a, const vector<T, N> &b) {
    return sub(a, accum<Tag, N>(b));
}

/// Goes through an accumulator in the vendor's headers (detail/aie2/shift.hpp): what is shifted out
/// is rounded and the result saturated as the core's modes say.
template <typename T, unsigned N>
vector<T, N> downshift(const vector<T, N> &a, unsigned by, AIE_EMULATION_HERE) {
    static_assert(!aie_emulation::is_floating<T>, "downshift of integers only");
    const aie_emulation::Core &core = aie_emulation::core(AIE_EMULATION_PLACE);
    vector<T, N> less;
    for (unsigned i = 0; i < N; ++i) less[i] = aie_emulation::srs<T>(a[i], static_cast<int>(by), core);
    return less;
}

/// Through an accumulator, too: saturated as the core's mode says.
template <typename T, unsigned N>
vector<T, N> upshift(const vector<T, N> &a, unsigned by, AIE_EMULATION_HERE) {
    static_assert(!aie_emulation::is_floating<T>, "upshift of integers only");
    const aie_emulation::Core &core = aie_emulation::core(AIE_EMULATION_PLACE);
    vector<T, N> more;
    for (unsigned i = 0; i < N; ++i) {
        more[i] = aie_emulation::srs<T>(std::int64_t{a[i]}, -static_cast<int>(by), core);
    }
    return more;
}

template <typename T, unsigned N>
vector<T, N> bit_and(const vector<T, N> &a, const vector<T, N> &b) {
    static_assert(!aie_emulation::is_floating<T>, "bit_and of integers only");
    vector<T, N> both;
    for (unsigned i = 0; i < N; ++i) both[i] = static_cast<T>(a[i] & b[i]);
    return both;
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

/// Halves of the lanes are added, again and again (detail/aie2/add_reduce.hpp).
template <typename T, unsigned N>
T reduce_add(const vector<T, N> &lanes) {
    vector<T, N> sums = lanes;
    for (unsigned half = N / 2; half > 0; half /= 2) {
        for (unsigned i = 0; i < half; ++i) {
            sums[i] = aie_emulation::wrap_add(T(sums[i]), T(sums[i + half]));
        }
    }
    return sums[0];
}

template <typename T, unsigned N>
T reduce_max(const vector<T, N> &lanes) {
    T most = lanes[0];
    for (unsigned i = 1; i < N; ++i) most = most < lanes[i] ? lanes[i] : most;
    return most;
}

}  // namespace aie
