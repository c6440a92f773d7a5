// Host emulation of the part of the vendor's graph API that emitted projects use.
#pragma once

#include "adf_emulation/graph.hpp"
