// Element types and accumulator tags of the vendor's API.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core.hpp"

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;

struct acc32 {};
struct acc48 {};
struct acc64 {};
struct accfloat {};
struct bfp16ebs8 {};  // blocks of eight: a mantissa of 8 bits each, and one exponent
struct accauto {};  // the accumulator that the operation's types ask for

namespace aie_emulation {

/// Drops the low 16 bits of `value` in the given direction, as VCONV does with the core's mode.
inline std::uint16_t to_bfloat16(float value, Rounding mode) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto kept = static_cast<std::uint16_t>(bits >> 16);
    const std::uint32_t rest = bits & 0xffffu;
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return static_cast<std::uint16_t>(kept | 0x0040u);  // NaN stays NaN
    }
    if (rest == 0 || (bits & 0x7f800000u) == 0x7f800000u) {
        return kept;
    }
    const bool negative = (bits >> 31) != 0;
    const bool above = rest > 0x8000u;
    const bool half = rest == 0x8000u;
    bool away = false;
    switch (mode) {
        case Rounding::floor: away = negative; break;
        case Rounding::ceil: away = !negative; break;
        case Rounding::symmetric_floor: away = false; break;
        case Rounding::symmetric_ceil: away = true; break;
        case Rounding::negative_inf: away = above || (half && negative); break;
        case Rounding::positive_inf: away = above || (half && !negative); break;
        case Rounding::symmetric_zero: away = above; break;
        case Rounding::symmetric_inf: away = above || half; break;
        case Rounding::conv_even: away = above || (half && (kept & 1u)); break;
        case Rounding::conv_odd: away = above || (half && !(kept & 1u)); break;
    }
    return static_cast<std::uint16_t>(kept + (away ? 1u : 0u));
}

/// The upper half of a float.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    /// Rounds halves to even, as scalar conversions do.
    explicit(false) bfloat16(float value)
        : bits(to_bfloat16(value, Rounding::conv_even)) {}
    operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

    static bfloat16 from_bits(std::uint16_t bits) {
        bfloat16 value;
        value.bits = bits;
        return value;
    }
};

}  // namespace aie_emulation

#if __AIE_ARCH__ >= 20  // AIE has no such numbers
using bfloat16 = aie_emulation::bfloat16;
#endif

namespace aie_emulation {

template <typename T>
inline constexpr bool is_floating = std::is_same_v<T, float> || std::is_same_v<T, bfloat16>;

template <typename T>
inline constexpr bool is_tag = std::is_same_v<T, acc32> || std::is_same_v<T, acc48> ||
                               std::is_same_v<T, acc64> || std::is_same_v<T, accfloat>;

/// Cores of the first generation.
inline constexpr bool first_generation = __AIE_ARCH__ < 20;

/// Elements that the vendor's headers have vectors of: none of 64 bits, on AIE neither bfloat16 nor unsigned
/// ones beyond 8 bits (detail/aie1/vector_native_types.hpp).
template <typename T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || (std::is_same_v<T, bfloat16> && !first_generation) ||
    (std::is_integral_v<T> && sizeof(T) <= 4 && (!first_generation || sizeof(T) == 1 || std::is_signed_v<T>));

/// Whether elements may go into sums of that tag, and come out: floats into float sums, and nothing else.
template <typename Tag, typename T>
inline constexpr bool suits = std::is_same_v<Tag, accfloat> == is_floating<T>;

/// Whether the headers multiply lanes of these types into sums of that tag: floats of one type, integers
/// but for 8 by 32 bits (detail/aie2/mul.hpp, detail/aie1/mul.hpp).
template <typename Tag, typename A, typename B>
inline constexpr bool multiplies =
    is_floating<A> || is_floating<B>
        ? std::is_same_v<A, B> && std::is_same_v<Tag, accfloat>
        : !std::is_same_v<Tag, accfloat> && (sizeof(A) == sizeof(B) || sizeof(A) + sizeof(B) != 5);

/// Two's complement arithmetic that wraps, without undefined behaviour.
template <typename T>
constexpr T wrap_add(T a, T b) {
    if constexpr (is_floating<T>) {
        return a + b;
    } else {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    }
}

template <typename T>
constexpr T wrap_subtract(T a, T b) {
    if constexpr (is_floating<T>) {
        return a - b;
    } else {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
    }
}

template <typename T>
constexpr T wrap_multiply(T a, T b) {
    if constexpr (is_floating<T>) {
        return a * b;
    } else {
        using U = std::make_unsigned_t<T>;
        using Wide = std::conditional_t<(sizeof(U) < 4), std::uint32_t, U>;
        return static_cast<T>(static_cast<U>(static_cast<Wide>(static_cast<U>(a)) *
                                             static_cast<Wide>(static_cast<U>(b))));
    }
}

/// What an accumulator lane of `Tag` holds.
template <typename Tag>
struct Lane;
template <>
struct Lane<acc32> {
    using type = std::int32_t;
};
template <>
struct Lane<acc48> {  // AIE-ML and later keep 48-bit accumulators in 64-bit lanes
    using type = std::int64_t;
};
template <>
struct Lane<acc64> {
    using type = std::int64_t;
};
template <>
struct Lane<accfloat> {
    using type = float;
};

/// `value / 2^shift` as an integer, rounded as `mode` says; negative shifts multiply.
inline std::int64_t round_shift(std::int64_t value, int shift, Rounding mode) {
    if (shift <= 0) {
        return shift < -63 ? 0
                           : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << -shift);
    }
    if (shift > 63) {
        shift = 63;
    }
    const std::int64_t down = value >> shift;
    const auto mask = (std::uint64_t{1} << shift) - 1;
    const auto rest = static_cast<std::uint64_t>(value) & mask;
    const auto half = std::uint64_t{1} << (shift - 1);
    const bool negative = value < 0;
    bool up = false;
    switch (mode) {
        case Rounding::floor: up = false; break;
        case Rounding::ceil: up = rest != 0; break;
        case Rounding::symmetric_floor: up = negative && rest != 0; break;
        case Rounding::symmetric_ceil: up = !negative && rest != 0; break;
        case Rounding::positive_inf: up = rest >= half; break;
        case Rounding::negative_inf: up = rest > half; break;
        case Rounding::symmetric_inf: up = rest > half || (rest == half && !negative); break;
        case Rounding::symmetric_zero: up = rest > half || (rest == half && negative); break;
        case Rounding::conv_even: up = rest > half || (rest == half && (down & 1)); break;
        case Rounding::conv_odd: up = rest > half || (rest == half && !(down & 1)); break;
    }
    return down + (up ? 1 : 0);
}

/// `value` in the range of T, or its low bits where the core does not saturate.
template <typename T>
T saturate(std::int64_t value, Saturation mode) {
    using Limits = std::numeric_limits<T>;
    if (mode == Saturation::none) {
        return static_cast<T>(static_cast<std::uint64_t>(value));
    }
    constexpr auto low = static_cast<std::int64_t>(Limits::min());
    constexpr auto high = static_cast<std::int64_t>(Limits::max());
    const std::int64_t least = mode == Saturation::symmetric && low < 0 ? low + 1 : low;
    return static_cast<T>(value < least ? least : (value > high ? high : value));
}

/// Shift-round-saturate of one lane, with the running core's modes.
template <typename T, typename From>
T srs(From value, int shift, const Core &core) {
    if constexpr (std::is_same_v<T, float>) {
        return value;
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        return bfloat16::from_bits(to_bfloat16(value, core.rounding));
    } else {
        return saturate<T>(round_shift(static_cast<std::int64_t>(value), shift, core.rounding),
                           core.saturation);
    }
}

}  // namespace aie_emulation
