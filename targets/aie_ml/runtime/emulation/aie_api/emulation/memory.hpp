// Loads and stores, each checked for bounds and alignment.
#pragma once

#include "vector.hpp"

namespace aie_emulation {

template <typename T, unsigned N>
aie::vector<T, N> load(const T *from, std::size_t alignment, Place place) {
    constexpr std::size_t bytes = sizeof(T) * N;
    check_access(from, bytes, alignment, false, place);
    core(place).counters.load += words(bytes, 32);
    aie::vector<T, N> lanes;
    for (unsigned i = 0; i < N; ++i) lanes[i] = from[i];
    return lanes;
}

template <typename T, unsigned N>
void store(T *to, const aie::vector<T, N> &lanes, std::size_t alignment, Place place) {
    constexpr std::size_t bytes = sizeof(T) * N;
    check_access(to, bytes, alignment, true, place);
    core(place).counters.store += words(bytes, 32);
    for (unsigned i = 0; i < N; ++i) to[i] = lanes[i];
}

}  // namespace aie_emulation

namespace aie {

template <unsigned Elems, typename T>
vector<T, Elems> load_v(const T *from, AIE_EMULATION_HERE) {
    return aie_emulation::load<T, Elems>(from, vector_ldst_align_v<T, Elems>, AIE_EMULATION_PLACE);
}

template <typename T, unsigned Elems>
void store_v(T *to, const vector<T, Elems> &lanes, AIE_EMULATION_HERE) {
    aie_emulation::store(to, lanes, vector_ldst_align_v<T, Elems>, AIE_EMULATION_PLACE);
}

/// `aligned_elems` is what the caller promises of the address, in elements. The hardware reads the
/// aligned words that the vector touches, up to one more than an aligned load.
template <unsigned Elems, typename T>
vector<T, Elems> load_unaligned_v(const T *from, unsigned aligned_elems = 1, AIE_EMULATION_HERE) {
    static_assert(sizeof(T) * Elems <= 128, "unaligned loads are of 1024 bits at most");
    aie_emulation::core(AIE_EMULATION_PLACE).counters.load += 1;
    return aie_emulation::load<T, Elems>(from, aligned_elems * sizeof(T), AIE_EMULATION_PLACE);
}

template <typename T, unsigned Elems>
void store_unaligned_v(T *to, const vector<T, Elems> &lanes, unsigned aligned_elems = 1,
                       AIE_EMULATION_HERE) {
    aie_emulation::store(to, lanes, aligned_elems * sizeof(T), AIE_EMULATION_PLACE);
}

}  // namespace aie
