// What every network's emulation has: the same for all, and compiled apart from what is their own.
#define AIE_EMULATION_APART
#include <adf.h>
#include <adf_emulation/bodies.hpp>
