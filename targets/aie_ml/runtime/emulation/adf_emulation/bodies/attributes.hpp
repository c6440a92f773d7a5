// What a graph's statements set.
#pragma once

#include "../attributes.hpp"

namespace adf {

AIE_EMULATION_BODY tile_slot &tile_slot::operator=(const location_constraint &place) {
    actor_.tile = {place.column, place.row};
    actor_.core.name = actor_.name + " on tile " + std::to_string(place.column) + "," +
                       std::to_string(place.row);
    return *this;
}

AIE_EMULATION_BODY std::size_t &stack_size(const kernel &of) { return of.actor().core.stack_bytes; }
AIE_EMULATION_BODY unsigned &repetition_count(const actor_handle &of) { return of.actor().repetition; }
AIE_EMULATION_BODY aie_emulation::List<std::uint32_t> &dimensions(const port_handle &port) {
    return port.state()->dimensions;
}

AIE_EMULATION_BODY access_slot::access_slot(const port_handle &port) : port_(port) {}
AIE_EMULATION_BODY access_slot &access_slot::operator=(tiling_parameters parameters) {
    port_.state()->access = std::move(parameters);
    return *this;
}

AIE_EMULATION_BODY access_slot read_access(const port_handle &port) { return access_slot(port); }
AIE_EMULATION_BODY access_slot write_access(const port_handle &port) { return access_slot(port); }

}  // namespace adf
