// Traversals of buffers.
#pragma once

#include "../tiling.hpp"

namespace aie_emulation {

#ifdef AIE_EMULATION_APART
template class List<std::uint32_t>;
template class List<std::int32_t>;
template class List<adf::traversing_parameters>;
#endif

AIE_EMULATION_BODY std::vector<std::int64_t> traverse(const adf::tiling_parameters &t,
                                          const List<std::uint32_t> &whole, Place place) {
    const auto &buffer = t.buffer_dimension.empty() ? whole : t.buffer_dimension;
    const std::size_t rank = buffer.size();
    if (t.tiling_dimension.size() != rank || (!t.offset.empty() && t.offset.size() != rank) ||
        (!t.boundary_dimension.empty() && t.boundary_dimension.size() != rank)) {
        stop(place, "a tiling whose lists differ in length from the buffer's dimensions");
    }
    const auto &real = t.boundary_dimension.empty() ? buffer : t.boundary_dimension;
    std::vector<std::int64_t> visited;
    const auto visit_tile = [&](const std::vector<std::int64_t> &origin) {
        std::vector<std::uint32_t> in_tile(rank, 0);
        while (true) {
            std::int64_t index = 0, stride = 1;
            bool inside = true;
            for (std::size_t d = 0; d < rank; ++d) {
                const std::int64_t at = origin[d] + in_tile[d];
                inside = inside && at >= 0 && at < static_cast<std::int64_t>(real[d]);
                index += at * stride;
                stride *= buffer[d];
            }
            visited.push_back(inside ? index : outside);
            std::size_t d = 0;
            while (d < rank && ++in_tile[d] == t.tiling_dimension[d]) in_tile[d++] = 0;
            if (d == rank) return;
        }
    };
    std::vector<std::uint32_t> loop(t.tile_traversal.size(), 0);
    while (true) {
        std::vector<std::int64_t> origin(rank, 0);
        for (std::size_t d = 0; d < rank && !t.offset.empty(); ++d) origin[d] = t.offset[d];
        for (std::size_t i = 0; i < loop.size(); ++i) {
            const adf::traversing_parameters &step = t.tile_traversal[i];
            if (step.dimension >= rank || step.wrap == 0) {
                stop(place, "a tile traversal over a dimension that the buffer has not, or of no step");
            }
            origin[step.dimension] += std::int64_t{loop[i]} * step.stride;
        }
        visit_tile(origin);
        std::size_t i = 0;
        while (i < loop.size() && ++loop[i] == t.tile_traversal[i].wrap) loop[i++] = 0;
        if (i == loop.size()) break;
    }
    return visited;
}

}  // namespace aie_emulation
