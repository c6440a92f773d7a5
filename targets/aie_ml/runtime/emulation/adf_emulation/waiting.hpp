// Actors whose connections run in a circle: one after the other goes on until it reads what is not
// there yet. Each has a thread of its own, of which one runs at a time.
#pragma once

#include <functional>

#include "../aie_api/emulation/core.hpp"

// What depends on no network is compiled apart where AIE_EMULATION_APART is defined (adf.cpp), as
// emitted projects do; elsewhere the headers are all there is to it.
#ifdef AIE_EMULATION_APART
#define AIE_EMULATION_BODY
#else
#define AIE_EMULATION_BODY inline
#endif

namespace aie_emulation {

/// How often something was put into a queue: where nothing is, who waits waits for ever.
std::uint64_t &arrivals();

/// Gives the others of a circle their turn. Empty outside of circles.
std::function<void()> &others();

/// Does all `jobs` to their ends, a circle.
void run_circle(const std::vector<std::function<void()>> &jobs);

}  // namespace aie_emulation
