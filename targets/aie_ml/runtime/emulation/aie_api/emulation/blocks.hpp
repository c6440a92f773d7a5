// Block floating point: eight mantissas with one exponent, their making and their products.
//
// As match_aie/workload/block_float.py has it, which says who measured what a core makes of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "types.hpp"

namespace aie {

/// Mantissas, and the exponents of eight of them each.
template <typename T, unsigned Elems>
class block_vector {
    static_assert(std::is_same_v<T, bfp16ebs8> && Elems % 8 == 0, "blocks of eight are emulated");

  public:
    block_vector() = default;

    /// The emulation's own door to an element.
    std::int8_t &mantissa(unsigned at) { return mantissas_[at % Elems]; }
    std::uint8_t &exponent(unsigned block) { return exponents_[block % (Elems / 8)]; }
    int mantissa(unsigned at) const { return mantissas_[at % Elems]; }
    int exponent(unsigned block) const { return exponents_[block % (Elems / 8)]; }

  private:
    std::array<std::int8_t, Elems> mantissas_{};
    std::array<std::uint8_t, Elems / 8> exponents_{};
};

/// Blocks of a matrix's columns, read as the matrix: products take the second operand so alone.
template <typename T, unsigned Elems>
struct transposed_blocks {
    const block_vector<T, Elems> &of;
};

template <typename T, unsigned Elems>
transposed_blocks<T, Elems> op_transpose(const block_vector<T, Elems> &of) {
    return {of};
}

}  // namespace aie

namespace aie_emulation {

/// The exponent field of a float, and its significand with the sign; 0 below the normal numbers.
struct Parts {
    int field;
    double significand;
};

inline Parts parts_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const int field = static_cast<int>(bits >> 23 & 0xffu);
    const double known = static_cast<double>((bits & 0x7fffffu) | 0x800000u);
    return {field, field == 0 ? 0.0 : (bits >> 31 != 0 ? -known : known)};
}

/// Eight floats as a block: halves to even. A mantissa of 128 would make the exponent one larger.
inline std::uint8_t made_block(const float *from, std::int8_t *mantissas) {
    int exponent = 0;
    for (unsigned i = 0; i < 8; ++i) exponent = std::max(exponent, parts_of(from[i]).field);
    for (bool fits = false; !fits; exponent += fits ? 0 : 1) {
        fits = true;
        for (unsigned i = 0; i < 8; ++i) {
            const Parts part = parts_of(from[i]);
            const double scaled = std::ldexp(part.significand, part.field - exponent - 17);
            const double rounded = std::nearbyint(scaled);
            fits = fits && rounded <= 127.0;
            mantissas[i] = static_cast<std::int8_t>(rounded > 127.0 ? 127.0 : rounded);
        }
    }
    return static_cast<std::uint8_t>(exponent);
}

/// A sum and a block's products, both rounded to one grid before they are added.
inline float grown(float sum, int products, int exponent) {
    const int largest = std::max(parts_of(sum).field - 127, exponent);
    const double step = std::ldexp(1.5, largest - 23 + 52);
    const double kept = (static_cast<double>(sum) + step) - step;
    const double taken = (std::ldexp(products, exponent - 12) + step) - step;
    return static_cast<float>(kept + taken);
}

}  // namespace aie_emulation
