// Host emulation: vector reads and writes of streams and cascades.
#pragma once

#include <adf.h>

#include "aie.hpp"
