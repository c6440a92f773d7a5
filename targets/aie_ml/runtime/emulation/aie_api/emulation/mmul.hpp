// aie::mmul: C (M x N) += A (M x K) * B (K x N), all row-major, for the legal shapes only.
#pragma once

#include "tilings.hpp"
#include "vector.hpp"

namespace aie_emulation {

template <typename T>
constexpr Element element_of() {
    if constexpr (std::is_same_v<T, bfloat16>) {
        return Element::bf16;
    } else if constexpr (std::is_same_v<T, float>) {
        return Element::fp32;
    } else if constexpr (sizeof(T) == 1) {
        return Element::i8;
    } else if constexpr (sizeof(T) == 2) {
        return Element::i16;
    } else {
        return Element::i32;
    }
}

/// The shape of that name; one of no elements where the vendor's headers have none.
constexpr Shape shape_of(Element a, Element b, unsigned m, unsigned k, unsigned n,
                         unsigned tag_bits) {
    for (const Shape &s : shapes) {
        if (s.arch == __AIE_ARCH__ && s.a == a && s.b == b && s.m == m && s.k == k && s.n == n &&
            s.tag_bits == tag_bits) {
            return s;
        }
    }
    return {};
}

constexpr unsigned parts(unsigned size, unsigned part) { return (size + part - 1) / part; }

/// Vector instructions of one mmul: the fewest native shapes that cover it; where none is native,
/// as many as the rate says.
constexpr unsigned instructions(Element a, Element b, unsigned m, unsigned k, unsigned n) {
    unsigned fewest = 0;
    for (const Shape &s : shapes) {
        if (s.arch == __AIE_ARCH__ && s.a == a && s.b == b && s.native) {
            const unsigned needed = parts(m, s.m) * parts(k, s.k) * parts(n, s.n);
            fewest = fewest == 0 || needed < fewest ? needed : fewest;
        }
    }
    for (const Rate &r : rates) {
        if (fewest == 0 && r.arch == __AIE_ARCH__ && r.a == a && r.b == b) {
            return parts(m * k * n, r.macs);
        }
    }
    return fewest == 0 ? 1 : fewest;
}

/// Bits that a tag's name says; `accauto` is the tag under which the shape is listed.
template <typename A, typename B, typename Tag>
constexpr unsigned tag_bits(unsigned m, unsigned k, unsigned n) {
    if constexpr (!std::is_same_v<Tag, accauto>) {
        return std::is_same_v<Tag, acc64> ? 64 : std::is_same_v<Tag, acc48> ? 48 : 32;
    }
    for (const Shape &s : shapes) {
        if (s.arch == __AIE_ARCH__ && s.a == element_of<A>() && s.b == element_of<B>() &&
            s.m == m && s.k == k && s.n == n) {
            return s.tag_bits;
        }
    }
    return 0;
}

/// The tag of the accumulators that hold a shape's sums.
template <typename A, unsigned lane_bits>
using SumTag = std::conditional_t<
    is_floating<A>, accfloat,
    std::conditional_t<lane_bits == 64, acc64, std::conditional_t<lane_bits == 48, acc48, acc32>>>;

}  // namespace aie_emulation

namespace aie {

template <unsigned M, unsigned K, unsigned N, typename A, typename B = A, typename Tag = accauto>
class mmul {
    static constexpr auto a_element = aie_emulation::element_of<A>();
    static constexpr auto b_element = aie_emulation::element_of<B>();
    static constexpr auto shape = aie_emulation::shape_of(
        a_element, b_element, M, K, N, aie_emulation::tag_bits<A, B, Tag>(M, K, N));
    static_assert(shape.m != 0,
                  "no such mmul shape for these element types on this architecture");

  public:
    static constexpr unsigned M_ = M, K_ = K, N_ = N;
    static constexpr unsigned size_A = M * K;
    static constexpr unsigned size_B = K * N;
    static constexpr unsigned size_C = M * N;
    using vector_A_type = vector<A, size_A>;
    using vector_B_type = vector<B, size_B>;
    using accum_type = accum<aie_emulation::SumTag<A, shape.lane_bits>, size_C>;

    mmul() = default;
    mmul(const accum_type &sum) : sum_(sum) {}
    template <typename T>
    explicit(false) mmul(const vector<T, size_C> &values, int shift = 0) : sum_(values, shift) {}

    mmul &operator=(const accum_type &sum) {
        sum_ = sum;
        return *this;
    }

    void mul(const vector_A_type &a, const vector_B_type &b, AIE_EMULATION_HERE) {
        sum_ = accum_type();
        add_product(a, b, AIE_EMULATION_PLACE);
    }

    void mac(const vector_A_type &a, const vector_B_type &b, AIE_EMULATION_HERE) {
        add_product(a, b, AIE_EMULATION_PLACE);
    }

    operator accum_type() const { return sum_; }
    accum_type to_accum() const { return sum_; }

    template <typename T>
    vector<T, size_C> to_vector(int shift = 0, AIE_EMULATION_HERE) const {
        return sum_.template to_vector<T>(shift, file, line);
    }

  private:
    /// Integers wrap in the accumulator's lanes. Floats add one product after another, k ascending,
    /// each sum rounded to float: the order within an instruction is not documented.
    void add_product(const vector_A_type &a, const vector_B_type &b, aie_emulation::Place place) {
        aie_emulation::Counters &counters = aie_emulation::core(place).counters;
        counters.mmul += 1;
        counters.vmac += aie_emulation::instructions(a_element, b_element, M, K, N);
        using Lane = typename accum_type::lane_type;
        for (unsigned m = 0; m < M; ++m) {
            Lane row[N];
            for (unsigned n = 0; n < N; ++n) row[n] = sum_.lane(m * N + n);
            for (unsigned k = 0; k < K; ++k) {
                const auto left = static_cast<Lane>(a[m * K + k]);
                for (unsigned n = 0; n < N; ++n) {
                    row[n] = aie_emulation::wrap_add(
                        row[n],
                        aie_emulation::wrap_multiply(left, static_cast<Lane>(b[k * N + n])));
                }
            }
            for (unsigned n = 0; n < N; ++n) sum_.lane(m * N + n) = row[n];
        }
    }

    accum_type sum_;
};

/// B's rows are columns of the product: both have their blocks along K.
template <typename Tag>
class mmul<8, 8, 8, bfp16ebs8, bfp16ebs8, Tag> {
  public:
    using block_type = block_vector<bfp16ebs8, 64>;
    using accum_type = accum<accfloat, 64>;

    mmul() = default;
    mmul(const accum_type &sum) : sum_(sum) {}

    void mac(const block_type &a, transposed_blocks<bfp16ebs8, 64> columns, AIE_EMULATION_HERE) {
        const block_type &b = columns.of;
        aie_emulation::Counters &counters = aie_emulation::core(AIE_EMULATION_PLACE).counters;
        counters.mmul += 1;
        counters.vmac += 1;
        for (unsigned m = 0; m < 8; ++m) {
            for (unsigned n = 0; n < 8; ++n) {
                int products = 0;
                for (unsigned k = 0; k < 8; ++k) {
                    products += a.mantissa(m * 8 + k) * b.mantissa(n * 8 + k);
                }
                const int exponent = a.exponent(m) + b.exponent(n) - 254;
                float &lane = sum_.lane(m * 8 + n);
                lane = aie_emulation::grown(lane, products, exponent);
            }
        }
    }

    accum_type to_accum() const { return sum_; }

    template <typename T>
    vector<T, 64> to_vector(int shift = 0, AIE_EMULATION_HERE) const {
        return sum_.template to_vector<T>(shift, file, line);
    }

  private:
    accum_type sum_;
};

}  // namespace aie
