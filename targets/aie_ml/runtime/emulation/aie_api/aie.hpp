// Host emulation of the part of the vendor's AI Engine API that emitted kernels use.
#pragma once

#include "emulation/arithmetic.hpp"
#include "emulation/convert.hpp"
#include "emulation/iterator.hpp"
#include "emulation/lookup.hpp"
#include "emulation/memory.hpp"
#include "emulation/mmul.hpp"
#include "emulation/rearrange.hpp"
#include "emulation/sliding.hpp"
#include "emulation/vector.hpp"

// Hints to the vendor's compiler; they mean nothing to a host's.
#define chess_prepare_for_pipelining
#define chess_flatten_loop
#define chess_loop_range(...)
#define chess_loop_count(...)
#define chess_unroll_loop(...)
#define chess_separator_scheduler(...)
#define __aie_dm_resource_a
#define __aie_dm_resource_b
#define __aie_dm_resource_c
#define __aie_dm_resource_d
