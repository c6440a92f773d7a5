// The two ends of a core's cascade, for the functions that the core's program calls.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

namespace ma_npu {

#ifdef AIE_EMULATION
/// Whoever runs a core sets them.
inline aie_emulation::Queue *from_west = nullptr, *to_east = nullptr;

template <typename Tag>
input_cascade<Tag> input() { return {from_west}; }
template <typename Tag>
output_cascade<Tag> output() { return {to_east}; }
#else
template <typename Tag>
input_cascade<Tag> input() { return {}; }
template <typename Tag>
output_cascade<Tag> output() { return {}; }
#endif

}  // namespace ma_npu
