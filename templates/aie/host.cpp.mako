<%
    def move(how, to, source, buffer):
        if not buffer.part:
            return f'std::memcpy({to}, {source}, {buffer.nbytes});'
        fields = ', '.join(f'.{name} = {value}' for name, value in buffer.part)
        struct = 'ma_array_part' if buffer.struct == 'ma_array' else buffer.struct
        return f'{buffer.struct}_{how}({to}, {source}, {struct}{{{fields}}});'

    def update(layer, n, u):
        g, value = layer.graph.name, f'static_cast<const char *>({u.operand}) + {u.offset}'
        return f'{g}.update({g}.parameter[{layer.parameter + n}], reinterpret_cast<const {u.c_type} *>({value}), {u.elements});'

    def begin(buffer, kind):
        cast = 'reinterpret_cast' if buffer.narrow else 'static_cast'
        return f'{cast}<{kind} *>({buffer.source}) + {buffer.begin}' if buffer.begin else buffer.source
%>\
// The Arm core's side of the layers on the array: called by the network's C.
//
// Weights are run-time parameters, set when a layer runs for the first time, and stay in the tiles;
// those that are streamed lie in memory that the array reaches from then on.
#include <cstring>
#include <mutex>
#ifdef MA_XRT
#include <cstdlib>

#include <adf/adf_api/XRTConfig.h>
#include <experimental/xrt_device.h>
#endif

#include "${network}_graphs.h"
#include "ma_array.h"

namespace {

/// The array runs one layer at a time.
std::mutex array_mutex;

#ifdef MA_XRT
/// Opens the device and loads what the environment variable MA_XCLBIN names.
void open_device() {
    const char *const file = std::getenv("MA_XCLBIN");
    const xrtDeviceHandle device = xrtDeviceOpen(0);
    xuid_t uuid;
    if (file == nullptr || device == nullptr || xrtDeviceLoadXclbinFile(device, file) != 0) {
        std::abort();
    }
    xrtDeviceGetXclbinUUID(device, uuid);
    adf::registerXRT(device, uuid);
}
#endif

/// Starts all graphs, once.
void start_array() {
    static bool started = false;
    if (started) {
        return;
    }
    started = true;
% if turning:
#ifdef AIE_EMULATION
    // Graphs of their own here; on the array one configuration serves them, a sequence for each.
% for g in turning:
    ${g.name}.by_turns();
% endfor
#endif
% endif
#ifdef MA_XRT
    open_device();
#endif
% for g in graphs:
    ${g.name}.init();
% endfor
}

/// Memory that the array's interfaces reach.
void *array_memory(unsigned bytes) { return adf::GMIO::malloc(bytes); }

}  // namespace
% if any(g.memory == 'plio' for g in graphs):

#ifdef AIE_EMULATION
#define MA_SEND(port, name, from, bytes) aie_emulation::feed(port, from, bytes)
#define MA_RECEIVE(port, name, to, bytes) aie_emulation::drain(port, to, bytes)
#else
// Of the platform: what moves data between memory and a stream of programmable logic, by its name.
extern "C" void ma_stream_send(const char *name, const void *from, unsigned bytes);
extern "C" void ma_stream_receive(const char *name, void *to, unsigned bytes);
#define MA_SEND(port, name, from, bytes) ma_stream_send(name, from, bytes)
#define MA_RECEIVE(port, name, to, bytes) ma_stream_receive(name, to, bytes)
#endif
% endif
% for layer in layers:
<% g = layer.graph %>\
% if layer.held:

#ifdef AIE_EMULATION
// What stays in memory tiles, for whoever looks at the emulation after a run.
% for held in layer.held:
static unsigned char ${held.layer}_result[${held.nbytes}];
% if held.narrow:
static unsigned char ${held.layer}_bf16[${held.nbytes // 2}];
% endif
extern "C" const void *${held.layer}_held(void);
const void *${held.layer}_held(void) { return ${held.layer}_result; }
% endfor
#endif
% endif

% if layer.turn is not None and layer.updates and layer.name == g.name:

// Several layers run as this graph by turns: whose numbers its tiles hold.
static int ${g.name}_holds = -1;

% endif
% if layer.first and layer.ahead:

namespace {

/// Runs of the graph that follow each other: one call starts it for all of them. The next results'
/// memory is asked for one at a time, since waiting for a channel waits for all that it has. Of the
/// thread that is in that call: others wait for the array.
thread_local struct {
    bool on = false;
    size_t runs = 0, sent = 0, taken = 0;
} ${g.name}_many;

}  // namespace

% endif
% if not layer.last:
// Of a chain of layers: it runs when the last one is called.
% endif
% if layer.last and layer.ahead:
% for buffer in layer.outputs:
static char *${buffer.name}_of(size_t run) {
    static char *const all = static_cast<char *>(array_memory(${2 * buffer.nbytes}));
    return all + run % 2 * ${buffer.nbytes};
}
% endfor
% endif
extern "C" void ${layer.name}_array(${', '.join(f"const void *{name}" for name in layer.arguments)}, void *y) {
% if layer.first and layer.last:
    const std::lock_guard<std::mutex> one(array_mutex);
    start_array();
% elif layer.first and layer.ahead:
    if (!${g.name}_many.on) {
        array_mutex.lock();
    }
    start_array();
% elif layer.first:
    array_mutex.lock();
    start_array();
% endif
% if layer.ahead:
% for buffer in layer.inputs:
    static char *const ${buffer.name}_all = static_cast<char *>(array_memory(${(layer.ahead + 1) * buffer.nbytes}));
    char *const ${buffer.name}_memory = ${buffer.name}_all + ${g.name}_many.sent % ${layer.ahead + 1} * ${buffer.nbytes};
% endfor
% for buffer in layer.outputs:
    char *const ${buffer.name}_memory = ${buffer.name}_of(0);
% endfor
% else:
% for buffer in layer.buffers:
    static void *const ${buffer.name}_memory = array_memory(${buffer.nbytes});
% endfor
% endif
% if layer.updates or any(b.loaded for b in layer.buffers):
    static bool loaded = false;
    if (!loaded) {
        loaded = true;
    % for buffer in layer.buffers:
        % if buffer.loaded:
        ${move('cut', f'{buffer.name}_memory', begin(buffer, 'const char'), buffer)}
        % endif
    % endfor
    % if layer.turn is None:
    % for n, u in enumerate(layer.updates):
        ${update(layer, n, u)}
    % endfor
    % endif
    }
% endif
% if layer.turn is not None and layer.updates:
    if (${g.name}_holds != ${layer.turn}) {
        ${g.name}_holds = ${layer.turn};
    % for n, u in enumerate(layer.updates):
        ${update(layer, n, u)}
    % endfor
    }
% endif
% for name in layer.unused:
    (void)${name};
% endfor
% for name, elements in layer.narrow:
    static uint16_t ${name}_bf16[${elements}];
    % if name != 'y':
    ma_array_narrow(${name}_bf16, ${name}, ${elements});
    % endif
% endfor
% for buffer in layer.inputs:
    % if not buffer.loaded:
    ${move('cut', f'{buffer.name}_memory', begin(buffer, 'const char'), buffer)}
    % endif
    % if g.memory == 'plio':
    MA_SEND(${g.name}.${buffer.name}, "${g.name}_${buffer.name}", ${buffer.name}_memory, ${buffer.nbytes});
    % elif buffer.sends == 1:
    ${g.name}.${buffer.name}.gm2aie_nb(${buffer.name}_memory, ${buffer.nbytes});
    % endif
% endfor
% if layer.last and layer.ahead:
    if (${g.name}_many.on) {
        (void)y;
        if (${g.name}_many.sent++ == 0) {
% if g.memory == 'ddr':
% for buffer in layer.outputs:
            ${g.name}.${buffer.name}.aie2gm_nb(${buffer.name}_memory, ${buffer.nbytes});
% endfor
% endif
            ${g.name}.run(static_cast<unsigned>(${g.name}_many.runs));
        }
        return;
    }
% endif
% if g.memory == 'ddr':
% for buffer in layer.outputs:
    ${g.name}.${buffer.name}.aie2gm_nb(${buffer.name}_memory, ${buffer.nbytes});
% endfor
% endif
% if layer.last:
    ${g.name}.run(1);
% endif
% if layer.streams:
    // A channel holds four transfers and the next one waits for room: they go while the graph runs.
    for (unsigned pass = 0; pass < ${layer.streams[0].sends}; ++pass) {
    % for buffer in layer.streams:
        ${g.name}.${buffer.name}.gm2aie_nb(${buffer.name}_memory, ${buffer.nbytes});
    % endfor
    }
% endif
% for buffer in layer.outputs:
    % if g.memory == 'plio':
    MA_RECEIVE(${g.name}.${buffer.name}, "${g.name}_${buffer.name}", ${buffer.name}_memory, ${buffer.nbytes});
    % else:
    ${g.name}.${buffer.name}.wait();
    % endif
    ${move('paste', begin(buffer, 'char'), f'{buffer.name}_memory', buffer)}
% endfor
% for name, elements in layer.narrow:
    % if name == 'y':
    ma_array_widen(y, y_bf16, ${elements});
    % endif
% endfor
% if layer.last:
    ${g.name}.wait();
% endif
% if layer.held:
#ifdef AIE_EMULATION
% for held in layer.held:
% for part in held.parts:
    {
        static unsigned char seen[${part.view.nbytes}];
        aie_emulation::look(${part.buffer + '_seen' if part.in_kernel else f'{g.name}.{part.buffer}'}, ${part.access}, seen);
        ${move('paste', f'{held.layer}_{"bf16" if held.narrow else "result"}' + (f' + {part.view.begin}' if part.view.begin else ''), 'seen', part.view)}
    }
% endfor
% if held.narrow:
    ma_array_widen(${held.layer}_result, ${held.layer}_bf16, ${held.nbytes // 4});
% endif
% endfor
#endif
% endif
% if layer.last and not layer.first:
    array_mutex.unlock();
% endif
}
% if layer.last and layer.ahead:

extern "C" void ${layer.name}_begin(size_t runs) {
    array_mutex.lock();
    ${g.name}_many = {true, runs, 0, 0};
}

extern "C" void ${layer.name}_take(void *y) {
    const size_t run = ${g.name}_many.taken++;
% for buffer in layer.outputs:
    % if g.memory == 'plio':
    MA_RECEIVE(${g.name}.${buffer.name}, "${g.name}_${buffer.name}", ${buffer.name}_of(run), ${buffer.nbytes});
    % else:
    ${g.name}.${buffer.name}.wait();
    % endif
% endfor
% if g.memory == 'ddr':
    if (run + 1 < ${g.name}_many.runs) {
    % for buffer in layer.outputs:
        ${g.name}.${buffer.name}.aie2gm_nb(${buffer.name}_of(run + 1), ${buffer.nbytes});
    % endfor
    }
% endif
% for buffer in layer.outputs:
    ${move('paste', begin(buffer, 'char'), f'{buffer.name}_of(run)', buffer)}
% endfor
}

extern "C" void ${layer.name}_end(void) {
    ${g.name}.wait();
    ${g.name}_many = {};
    array_mutex.unlock();
}
% endif
% endfor
