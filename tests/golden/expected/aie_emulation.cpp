// The array emulated on the host. One translation unit: the headers dominate compilation. What all
// networks have is in adf.cpp.
#define AIE_EMULATION_APART
#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

#include <cstring>
#include <mutex>

#include "../aie/fc_first.cpp"
#include "../aie/fc_last.cpp"

// Graphs are made once, statement by statement: nothing is gained by optimising that.
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
#include "../aie/net_graphs.cpp"
#include "../aie/net_host.cpp"
