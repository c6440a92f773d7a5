// aie::vector, aie::accum and what builds them.
#pragma once

#include <array>

#include "blocks.hpp"
#include "types.hpp"

namespace aie {

enum class rounding_mode {
    floor = 0,
    ceil = 1,
#if __AIE_ARCH__ >= 20  // AIE has no others that look at the sign alone
    symmetric_floor = 2,
    symmetric_ceil = 3,
#endif
    negative_inf = 8,
    positive_inf = 9,
    symmetric_zero = 10,
    symmetric_inf = 11,
    conv_even = 12,
    conv_odd = 13,
};

enum class saturation_mode { none = 0, truncate = 1, saturate = 1, symmetric = 3 };

inline void set_rounding(rounding_mode mode, AIE_EMULATION_HERE) {
    aie_emulation::core(AIE_EMULATION_PLACE).rounding = static_cast<aie_emulation::Rounding>(mode);
}

inline void set_saturation(saturation_mode mode, AIE_EMULATION_HERE) {
    aie_emulation::core(AIE_EMULATION_PLACE).saturation =
        static_cast<aie_emulation::Saturation>(mode);
}

inline rounding_mode get_rounding(AIE_EMULATION_HERE) {
    return static_cast<rounding_mode>(aie_emulation::core(AIE_EMULATION_PLACE).rounding);
}

inline saturation_mode get_saturation(AIE_EMULATION_HERE) {
    return static_cast<saturation_mode>(aie_emulation::core(AIE_EMULATION_PLACE).saturation);
}

inline constexpr unsigned vector_decl_align = __AIE_ARCH__ >= 21 ? 64 : 32;

template <typename T, unsigned Elems>
inline constexpr unsigned vector_ldst_align_v =
    static_cast<unsigned>(aie_emulation::access_alignment(sizeof(T) * Elems));

template <typename T, unsigned Elems>
class vector {
    static_assert(sizeof(T) * Elems >= 16 && std::has_single_bit(sizeof(T) * Elems),
                  "a vector has 128, 256, 512 or 1024 bits, or is made of such");
    static_assert(aie_emulation::is_element<T>, "no vectors have these elements on this architecture");
    static_assert(!aie_emulation::first_generation || sizeof(T) * Elems <= 128, "AIE has vectors of 1024 bits at most");

  public:
    using value_type = T;
    static constexpr unsigned size() { return Elems; }
    static constexpr unsigned bits() { return Elems * sizeof(T) * 8; }

    vector() : lanes_{} {}

    T get(unsigned index, AIE_EMULATION_HERE) const { return lanes_[checked(index, AIE_EMULATION_PLACE)]; }
    void set(T value, unsigned index, AIE_EMULATION_HERE) {
        lanes_[checked(index, AIE_EMULATION_PLACE)] = value;
    }
    T operator[](unsigned index) const { return lanes_[index % Elems]; }
    T &operator[](unsigned index) { return lanes_[index % Elems]; }

    /// Part `index` of those of `Part` lanes each.
    template <unsigned Part>
    AIE_EMULATION_INLINE vector<T, Part> extract(unsigned index, AIE_EMULATION_HERE) const {
        static_assert(Part <= Elems && Elems % Part == 0);
        if (index >= Elems / Part) {
            aie_emulation::stop(AIE_EMULATION_PLACE, "extract: no such part of the vector");
        }
        vector<T, Part> part;
        for (unsigned i = 0; i < Part; ++i) part[i] = lanes_[index * Part + i];
        return part;
    }

    template <unsigned Part>
    AIE_EMULATION_INLINE vector &insert(unsigned index, const vector<T, Part> &part, AIE_EMULATION_HERE) {
        static_assert(Part <= Elems && Elems % Part == 0);
        if (index >= Elems / Part) {
            aie_emulation::stop(AIE_EMULATION_PLACE, "insert: no such part of the vector");
        }
        for (unsigned i = 0; i < Part; ++i) lanes_[index * Part + i] = part[i];
        return *this;
    }

    /// A wider vector that begins with this one; the emulation fills the rest with zeros.
    template <unsigned Wide>
    vector<T, Wide> grow() const {
        vector<T, Wide> wide;
        for (unsigned i = 0; i < Elems; ++i) wide[i] = lanes_[i];
        return wide;
    }

    /// The same bits as other elements.
    template <typename U>
    auto cast_to() const {
        constexpr unsigned count = Elems * sizeof(T) / sizeof(U);
        vector<U, count> other;
        std::array<U, count> bits = std::bit_cast<std::array<U, count>>(lanes_);
        for (unsigned i = 0; i < count; ++i) other[i] = bits[i];
        return other;
    }

    /// Elements of twice the width.
    auto unpack() const {
        static_assert(!aie_emulation::is_floating<T> && sizeof(T) <= 2, "unpack of 8 or 16 bits only");
        using Wide = std::conditional_t<
            std::is_same_v<T, int8>, int16,
            std::conditional_t<std::is_same_v<T, uint8>, uint16,
                               std::conditional_t<std::is_same_v<T, int16>, int32, uint32>>>;
        vector<Wide, Elems> wide;
        for (unsigned i = 0; i < Elems; ++i) wide[i] = lanes_[i];
        return wide;
    }

    /// Elements of half the width, saturated as the core's mode says.
    auto pack(AIE_EMULATION_HERE) const {
        static_assert(!aie_emulation::is_floating<T> && sizeof(T) >= 2, "pack of 16 or 32 bits only");
        using Narrow = std::conditional_t<
            std::is_same_v<T, int16>, int8,
            std::conditional_t<std::is_same_v<T, uint16>, uint8,
                               std::conditional_t<std::is_same_v<T, int32>, int16, uint16>>>;
        const auto mode = aie_emulation::core(AIE_EMULATION_PLACE).saturation;
        vector<Narrow, Elems> narrow;
        for (unsigned i = 0; i < Elems; ++i) {
            narrow[i] = aie_emulation::saturate<Narrow>(lanes_[i], mode);
        }
        return narrow;
    }

  private:
    static unsigned checked(unsigned index, aie_emulation::Place place) {
        if (index >= Elems) aie_emulation::stop(place, "no such lane of the vector");
        return index;
    }

    std::array<T, Elems> lanes_;
};

/// One bit a lane.
template <unsigned Elems>
class mask {
  public:
    /// Lane by lane, from the least bit on.
    static mask from_uint32(std::uint32_t bits) {
        static_assert(Elems <= 32);
        mask made;
        for (unsigned i = 0; i < Elems; ++i) made.set(i, bits >> i & 1u);
        return made;
    }
    /// Whether no lane is set.
    bool empty() const {
        for (const bool lane : lanes_) {
            if (lane) return false;
        }
        return true;
    }
    bool test(unsigned index) const { return lanes_[index % Elems]; }
    void set(unsigned index, bool value) { lanes_[index % Elems] = value; }

  private:
    std::array<bool, Elems> lanes_{};
};

template <typename Tag, unsigned Elems>
class accum {
  public:
    using tag = Tag;
    using lane_type = typename aie_emulation::Lane<Tag>::type;
    static_assert(std::has_single_bit(Elems) && sizeof(lane_type) * Elems >= (std::is_same_v<Tag, accfloat> ? 16 : 32),
                  "sums of 256 bits or more, floats of 128");
    static_assert(!aie_emulation::first_generation || !std::is_same_v<Tag, acc32>, "AIE has no sums of 32 bits");
    static_assert(!aie_emulation::first_generation ||
                      Elems <= (std::is_same_v<Tag, accfloat> ? 32 : std::is_same_v<Tag, acc64> ? 64 : 128),
                  "more sums at once than AIE has");
    static_assert(!aie_emulation::first_generation || !std::is_same_v<Tag, acc48> || Elems >= 8,
                  "AIE has eight sums of 48 bits or more");
    static constexpr unsigned size() { return Elems; }
    static constexpr unsigned bits() { return Elems * sizeof(lane_type) * 8; }

    accum() : lanes_{} {}
    template <typename T>
    explicit accum(const vector<T, Elems> &values, int shift = 0) : lanes_{} {
        from_vector(values, shift);
    }

    /// Lane = value * 2^shift, wrapped.
    template <typename T>
    void from_vector(const vector<T, Elems> &values, int shift = 0, AIE_EMULATION_HERE) {
        static_assert(aie_emulation::suits<Tag, T>, "floats go into float sums, integers into others");
        if (sizeof(T) == sizeof(lane_type) && shift != 0) {
            aie_emulation::stop(AIE_EMULATION_PLACE, "from_vector: no shift at the same width");
        }
        for (unsigned i = 0; i < Elems; ++i) {
            if constexpr (std::is_same_v<Tag, accfloat>) {
                lanes_[i] = static_cast<float>(values[i]);
            } else if constexpr (sizeof(T) == sizeof(lane_type)) {
                lanes_[i] = static_cast<lane_type>(values[i]);  // a move: the hardware cannot shift
            } else {
                const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
                lanes_[i] = static_cast<lane_type>(shift > 63 ? 0 : wide << shift);
            }
        }
    }

    /// Shift-round-saturate with the core's modes. Elements as wide as 32-bit sums are a move in
    /// the vendor's headers (detail/aie2/accum.hpp): the shift is not looked at.
    template <typename T>
    auto to_vector(int shift = 0, AIE_EMULATION_HERE) const {
        static_assert(std::is_same_v<T, bfp16ebs8> || aie_emulation::suits<Tag, T>,
                      "float sums become floats, others integers");
        if constexpr (std::is_same_v<T, bfp16ebs8>) {
            return to_blocks(AIE_EMULATION_PLACE);
        } else {
            return to_elements<T>(shift, AIE_EMULATION_PLACE);
        }
    }

    /// Blocks of floating point.
    block_vector<bfp16ebs8, Elems> to_blocks(aie_emulation::Place place) const {
        static_assert(std::is_same_v<Tag, accfloat>, "blocks are made of floats");
        if (aie_emulation::core(place).rounding != aie_emulation::Rounding::conv_even) {
            aie_emulation::stop(place, "blocks are emulated with halves to even alone");
        }
        block_vector<bfp16ebs8, Elems> made;
        for (unsigned at = 0; at < Elems / 8; ++at) {
            made.exponent(at) = aie_emulation::made_block(&lanes_[at * 8], &made.mantissa(at * 8));
        }
        return made;
    }

    template <typename T>
    vector<T, Elems> to_elements(int shift, aie_emulation::Place place) const {
        if constexpr (sizeof(T) == 4 && sizeof(lane_type) == 4) shift = 0;
        aie_emulation::Core &core = aie_emulation::core(place);
        if (sizeof(T) < sizeof(lane_type)) {
            core.counters.srs += aie_emulation::words(sizeof(T) * Elems, 32);
        }
        vector<T, Elems> values;
        for (unsigned i = 0; i < Elems; ++i) {
            if constexpr (aie_emulation::first_generation && std::is_same_v<Tag, acc48>) {
                constexpr std::int64_t end = std::int64_t{1} << 47;
                if (lanes_[i] < -end || lanes_[i] >= end) {
                    aie_emulation::stop(place, "a sum left the 48 bits that AIE has");
                }
            }
            values[i] = aie_emulation::srs<T>(lanes_[i], shift, core);
        }
        return values;
    }

    template <unsigned Part>
    AIE_EMULATION_INLINE accum<Tag, Part> extract(unsigned index) const {
        static_assert(Part <= Elems && Elems % Part == 0);
        accum<Tag, Part> part;
        for (unsigned i = 0; i < Part; ++i) part.lane(i) = lanes_[(index * Part + i) % Elems];
        return part;
    }

    template <unsigned Part>
    AIE_EMULATION_INLINE accum &insert(unsigned index, const accum<Tag, Part> &part) {
        static_assert(Part <= Elems && Elems % Part == 0);
        for (unsigned i = 0; i < Part; ++i) lanes_[(index * Part + i) % Elems] = part.lane(i);
        return *this;
    }

    /// The same bits as other sums, of lanes as wide.
    template <typename Other>
    accum<Other, Elems> cast_to() const {
        using To = typename accum<Other, Elems>::lane_type;
        static_assert(sizeof(To) == sizeof(lane_type), "casts that are emulated keep the lanes");
        accum<Other, Elems> other;
        for (unsigned i = 0; i < Elems; ++i) other.lane(i) = std::bit_cast<To>(lanes_[i]);
        return other;
    }

    /// The emulation's own door to a lane.
    lane_type lane(unsigned index) const { return lanes_[index]; }
    lane_type &lane(unsigned index) { return lanes_[index]; }

  private:
    std::array<lane_type, Elems> lanes_;
};

/// A vector of zeros, or an accumulator where T is an accumulator's tag.
template <typename T, unsigned Elems>
auto zeros() {
    if constexpr (aie_emulation::is_tag<T>) {
        return accum<T, Elems>();
    } else {
        return vector<T, Elems>();
    }
}

template <typename T, unsigned Elems>
vector<T, Elems> broadcast(T value) {
    vector<T, Elems> lanes;
    for (unsigned i = 0; i < Elems; ++i) lanes[i] = value;
    return lanes;
}

/// Two vectors or more side by side.
template <typename T, unsigned Elems, typename... More>
AIE_EMULATION_INLINE auto concat(const vector<T, Elems> &first, const vector<T, Elems> &second,
                                 const More &...more) {
    constexpr unsigned count = 2 + sizeof...(More);
    vector<T, Elems * count> whole;
    const vector<T, Elems> parts[] = {first, second, more...};
    for (unsigned p = 0; p < count; ++p) whole.insert(p, parts[p]);
    return whole;
}

template <typename Tag, unsigned Elems, typename... More>
AIE_EMULATION_INLINE auto concat(const accum<Tag, Elems> &first, const accum<Tag, Elems> &second,
                                 const More &...more) {
    constexpr unsigned count = 2 + sizeof...(More);
    accum<Tag, Elems * count> whole;
    const accum<Tag, Elems> parts[] = {first, second, more...};
    for (unsigned p = 0; p < count; ++p) whole.insert(p, parts[p]);
    return whole;
}

}  // namespace aie
