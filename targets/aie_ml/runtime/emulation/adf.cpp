// What every network's emulation has: the same for all, and compiled apart from what is their own.
#ifndef AIE_EMULATION_APART
#define AIE_EMULATION_APART
#endif
#include "adf.h"
#include "adf_emulation/bodies.hpp"
