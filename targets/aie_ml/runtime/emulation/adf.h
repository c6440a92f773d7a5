// Host emulation of the part of the vendor's graph API that emitted projects use.
#pragma once

/// This is no vendor's tool.
#define AIE_EMULATION 1

#include "adf_emulation/graph.hpp"

#ifndef AIE_EMULATION_APART
#include "adf_emulation/bodies.hpp"
#endif
