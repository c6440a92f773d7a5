// The array emulated on the host. One translation unit: the headers dominate compilation. What all
// networks have is in adf.cpp.
#define AIE_EMULATION_APART
#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

#include <cstring>
#include <mutex>

% for path in kernels:
#include "../${path}"
% endfor
% if logics:
#include <adf_emulation/logic.hpp>
    % for path, _, _ in logics:
#include "../${path}"
    % endfor
% endif

// Graphs are made once, statement by statement: nothing is gained by optimising that.
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
% for path in graphs:
#include "../${path}"
% endfor
% for _, name, call in logics:
<% streams = ', '.join(f'streams[{at}]' for at in range(call.tiles + len(call.back))) %>\
const aie_emulation::Logic ${name}_beside(
    {${', '.join(f'{name}.sums[{at}]' for at in range(call.tiles))}}, {${', '.join(f'{name}.{port}' for port in ('states', 'results')[: len(call.back)])}}, ${call.sends},
    [](aie_emulation::LogicActor::Streams &streams) { ${call.symbol}(${streams}); });
% endfor
