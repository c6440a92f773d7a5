// The array emulated on the host. One translation unit: the headers dominate compilation.
#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

#include <cstring>
#include <mutex>

% for path in kernels:
#include "../${path}"
% endfor

// Graphs are made once, statement by statement: nothing is gained by optimising that.
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
% for path in graphs:
#include "../${path}"
% endfor
