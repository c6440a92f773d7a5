// Iterators over the vectors of an array.
#pragma once

#include "memory.hpp"

namespace aie_emulation {

/// A vector in memory that may be read and written.
template <typename T, unsigned N>
class VectorReference {
  public:
    VectorReference(T *at, Place place) : at_(at), place_(place) {}
    operator aie::vector<T, N>() const {
        return aie::load_v<N>(static_cast<const T *>(at_), place_.file, place_.line);
    }
    const VectorReference &operator=(const aie::vector<T, N> &lanes) const {
        aie::store_v(at_, lanes, place_.file, place_.line);
        return *this;
    }

  private:
    T *at_;
    Place place_;
};

/// Steps from vector to vector of N elements; errors name where it was made.
template <typename T, unsigned N>
class VectorIterator {
  public:
    VectorIterator(T *at, Place place) : at_(at), place_(place) {}

    auto operator*() const {
        if constexpr (std::is_const_v<T>) {
            return aie::load_v<N>(at_, place_.file, place_.line);
        } else {
            return VectorReference<T, N>(at_, place_);
        }
    }
    VectorIterator &operator++() { return *this += 1; }
    VectorIterator operator++(int) {
        const VectorIterator before = *this;
        *this += 1;
        return before;
    }
    VectorIterator &operator--() { return *this += -1; }
    VectorIterator operator--(int) {
        const VectorIterator before = *this;
        *this += -1;
        return before;
    }
    VectorIterator &operator+=(std::ptrdiff_t by) {
        at_ += by * static_cast<std::ptrdiff_t>(N);
        return *this;
    }
    VectorIterator &operator-=(std::ptrdiff_t by) { return *this += -by; }
    VectorIterator operator+(std::ptrdiff_t by) const { return VectorIterator(*this) += by; }
    VectorIterator operator-(std::ptrdiff_t by) const { return VectorIterator(*this) += -by; }
    bool operator==(const VectorIterator &other) const { return at_ == other.at_; }

  private:
    T *at_;
    Place place_;
};

}  // namespace aie_emulation

namespace aie {

template <unsigned Elems, typename T>
auto begin_vector(T *from, AIE_EMULATION_HERE) {
    return aie_emulation::VectorIterator<T, Elems>(from, AIE_EMULATION_PLACE);
}

template <unsigned Elems, typename T>
auto cbegin_vector(const T *from, AIE_EMULATION_HERE) {
    return aie_emulation::VectorIterator<const T, Elems>(from, AIE_EMULATION_PLACE);
}

}  // namespace aie
