// The Arm core's side of the layers on the array: called by the network's C.
//
// Weights are run-time parameters, set when a layer runs for the first time, and stay in the tiles.
#include <mutex>

#include "${network}_graphs.h"
#include "ma_array.h"

namespace {

/// The array runs one layer at a time.
std::mutex array_mutex;

/// Starts all graphs, once.
void start_array() {
    static bool started = false;
    if (started) {
        return;
    }
    started = true;
% for layer in layers:
    ${layer.graph.name}.init();
% endfor
}

/// Memory that the array's interfaces reach.
void *array_memory(unsigned bytes) { return adf::GMIO::malloc(bytes); }

}  // namespace
% for layer in layers:
<% g = layer.graph %>\

extern "C" void ${g.name}_array(${', '.join(f"const void *{name}" for name in layer.arguments)}, void *y) {
    const std::lock_guard<std::mutex> one(array_mutex);
    start_array();
% for buffer in layer.buffers:
    static void *const ${buffer.name}_memory = array_memory(${buffer.nbytes});
% endfor
% if layer.updates:
    static bool loaded = false;
    if (!loaded) {
        loaded = true;
    % for n, u in enumerate(layer.updates):
        ${g.name}.update(${g.name}.parameter[${n}], reinterpret_cast<const ${u.c_type} *>(static_cast<const char *>(${u.operand}) + ${u.offset}), ${u.elements});
    % endfor
    }
% endif
% for name in layer.unused:
    (void)${name};
% endfor
% for buffer in layer.inputs:
    ma_array_spread(${buffer.name}_memory, ${buffer.operand}, ${buffer.runs}, ${buffer.run_bytes}, ${buffer.pitch_bytes});
    ${g.name}.${buffer.name}.gm2aie_nb(${buffer.name}_memory, ${buffer.nbytes});
% endfor
% for buffer in layer.outputs:
    ${g.name}.${buffer.name}.aie2gm_nb(${buffer.name}_memory, ${buffer.nbytes});
% endfor
    ${g.name}.run(1);
% for buffer in layer.outputs:
    ${g.name}.${buffer.name}.wait();
    ma_array_collect(${buffer.operand}, ${buffer.name}_memory, ${buffer.runs}, ${buffer.run_bytes}, ${buffer.pitch_bytes});
% endfor
}
% endfor
