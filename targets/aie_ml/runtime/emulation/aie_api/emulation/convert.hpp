// Conversions between vectors, accumulators, integers and floats; approximations of 1/x.
#pragma once

#include <cmath>

#include "vector.hpp"

namespace aie {

/// Lane = value * 2^shift.
template <typename Tag, typename T, unsigned N>
accum<Tag, N> from_vector(const vector<T, N> &values, int shift = 0, AIE_EMULATION_HERE) {
    accum<Tag, N> sum;
    sum.from_vector(values, shift, file, line);
    return sum;
}

/// Shift-round-saturate with the core's modes.
template <typename T, typename Tag, unsigned N>
vector<T, N> to_vector(const accum<Tag, N> &sum, int shift = 0, AIE_EMULATION_HERE) {
    return sum.template to_vector<T>(shift, file, line);
}

/// Elements of twice the width.
template <typename T, unsigned N>
auto unpack(const vector<T, N> &narrow) {
    return narrow.unpack();
}

/// The same bits as other elements.
template <typename U, typename T, unsigned N>
auto vector_cast(const vector<T, N> &lanes) {
    return lanes.template cast_to<U>();
}

/// Integers whose point stands `shift` bits from the right; beyond 24 bits to the nearest float.
template <typename T, unsigned N>
vector<float, N> to_float(const vector<T, N> &values, int shift = 0) {
    static_assert(!aie_emulation::is_floating<T>, "to_float of integers only");
    static_assert(!aie_emulation::first_generation || sizeof(T) > 1, "to_float of 16 or 32 bits on AIE");
    vector<float, N> floats;
    for (unsigned i = 0; i < N; ++i) {
        floats[i] = std::ldexp(static_cast<float>(values[i]), -shift);
    }
    return floats;
}

/// The nearest integers to `values * 2^shift`, halves to even, saturated, whatever the core's
/// modes: the vendor's headers round by adding a large float (detail/aie2/elementary.hpp).
template <typename T, unsigned N>
vector<T, N> to_fixed(const vector<float, N> &values, int shift = 0) {
    static_assert(std::is_same_v<T, int16> || std::is_same_v<T, int32>, "to_fixed to int16 or int32");
    vector<T, N> whole;
    for (unsigned i = 0; i < N; ++i) {
        // A double holds any float times a power of two, and its halves, exactly.
        const double scaled = std::nearbyint(std::ldexp(static_cast<double>(values[i]), shift));
        const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        whole[i] = static_cast<T>(scaled < low ? low : scaled > high ? high : scaled);
    }
    return whole;
}

/// Nearly 1/x, by the steps of the vendor's headers: a guess by its bits, then two corrections. A
/// core multiplies floats by several bfloat16 products, which is not public: last bits may differ.
template <unsigned N>
vector<float, N> inv(const vector<float, N> &values) {
    vector<float, N> inverse;
    for (unsigned i = 0; i < N; ++i) {
        const float x = values[i];
        const float guess = std::bit_cast<float>(0x7eb53567u - std::bit_cast<std::uint32_t>(x));
        const float inner = -x * guess + 1.436142f;
        const float better = inner * guess * 1.9395974f;
        const float rest = 2.0f - better * x;
        inverse[i] = better * rest;
    }
    return inverse;
}

/// Nearly 1/sqrt(x), in the same way.
template <unsigned N>
vector<float, N> invsqrt(const vector<float, N> &values) {
    constexpr float scale = 0.703952253f, start = 2.38924456f;
    vector<float, N> inverse;
    for (unsigned i = 0; i < N; ++i) {
        const float x = values[i];
        // Half of the bits, by a shift that rounds as the core's mode says.
        const std::int32_t bits = std::bit_cast<std::int32_t>(x);
        const auto halved = aie_emulation::srs<std::int32_t>(std::int64_t{bits}, 1, aie_emulation::core());
        const float guess = std::bit_cast<float>(0x5F1FFFF9 - halved);
        const float square = guess * guess;
        const float rest = scale * start - x * scale * square;
        inverse[i] = guess * rest;
    }
    return inverse;
}

}  // namespace aie

/// How many leading bits are equal to the first.
inline int clb(int value) {
    return std::countl_zero(static_cast<std::uint32_t>(value < 0 ? ~value : value));
}
