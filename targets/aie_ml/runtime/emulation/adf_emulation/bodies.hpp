// What of the graph's emulation depends on no network.
#pragma once

#include "bodies/attributes.hpp"
#include "bodies/graph.hpp"
#include "bodies/kernel.hpp"
#include "bodies/memory.hpp"
#include "bodies/outside.hpp"
#include "bodies/port.hpp"
#include "bodies/stream.hpp"
#include "bodies/tiling.hpp"
#include "bodies/waiting.hpp"
