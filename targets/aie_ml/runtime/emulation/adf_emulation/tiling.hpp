// Tiling parameters: in which order a DMA touches a buffer's elements, and where it pads with zeros.
#pragma once

#include <initializer_list>
#include <utility>

#include "stream.hpp"

// What only runs while a graph is made stays a call: graphs consist of thousands of such statements,
// and compilers would inline all of them.
#define AIE_EMULATION_ONCE __attribute__((noinline))

namespace aie_emulation {

/// Numbers of a graph.
template <typename T>
class List : public std::vector<T> {
  public:
    AIE_EMULATION_ONCE List() {}
    AIE_EMULATION_ONCE List(std::initializer_list<T> values) : std::vector<T>(values) {}
    AIE_EMULATION_ONCE List(const List &other) : std::vector<T>(other) {}
    AIE_EMULATION_ONCE List(List &&other) noexcept : std::vector<T>(std::move(other)) {}
    AIE_EMULATION_ONCE ~List() {}
    AIE_EMULATION_ONCE List &operator=(const List &other) {
        std::vector<T>::operator=(other);
        return *this;
    }
    AIE_EMULATION_ONCE List &operator=(List &&other) noexcept {
        std::vector<T>::operator=(std::move(other));
        return *this;
    }
};

}  // namespace aie_emulation

namespace adf {

struct traversing_parameters {
    std::uint32_t dimension = 0;
    std::uint32_t stride = 0;
    std::uint32_t wrap = 0;
};

/// Dimension 0 is contiguous; tile_traversal[0] is the innermost loop over tiles (XD100, "Tiling
/// parameter structure").
struct tiling_parameters {
    aie_emulation::List<std::uint32_t> buffer_dimension = {};
    aie_emulation::List<std::uint32_t> tiling_dimension = {};
    aie_emulation::List<std::int32_t> offset = {};
    aie_emulation::List<traversing_parameters> tile_traversal = {};
    int packet_port_id = -1;
    std::uint32_t repetition = 1;
    std::uint32_t phase = 0;
    aie_emulation::List<std::uint32_t> boundary_dimension = {};
};

using access_pattern = tiling_parameters;
inline access_pattern tiling(tiling_parameters parameters) { return parameters; }

}  // namespace adf

namespace aie_emulation {

/// Where one step of a traversal lands: an element's index, or outside of the data.
inline constexpr std::int64_t outside = -1;

/// The indices into the buffer that a traversal of `t` touches, in order; `outside` for padding.
/// What repeats it is up to whoever walks them.
/// `whole` are the buffer's own dimensions, used where `t` names none.
std::vector<std::int64_t> traverse(const adf::tiling_parameters &t, const List<std::uint32_t> &whole,
                                   Place place);

#ifdef AIE_EMULATION_APART
extern template class List<std::uint32_t>;
extern template class List<std::int32_t>;
extern template class List<adf::traversing_parameters>;
#endif

}  // namespace aie_emulation
