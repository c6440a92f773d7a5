// Runs every graph of the array on golden inputs, frame after frame, and compares what comes out.
//
// For AMD's simulators, and for the emulation of their API on any machine (Makefile, README.md).
// Where streams of programmable logic feed a graph, their files are read and written by the
// simulator, and `make check` compares them.
#define MA_PLIO_FILES
#include "${network}_graphs.cpp"

#include "ma_golden.h"

#if defined(__AIESIM__) || defined(__X86SIM__) || defined(AIE_EMULATION)

namespace {

/// Frames in the files of data.
const unsigned frames = ${frames};

const std::string data = "data/";
% for job in jobs:
<% g = job.graph.name %>
/// ${job.graph.remark}.
std::size_t run_${job.name}() {
% if job.updates:
<% kind, begin, elements = max(job.updates, key=lambda one: one[1]) %>\
    const auto parameters = ma::bytes(data + "${job.name}_parameters.txt", ${begin} + ${elements} * sizeof(${kind}));
% for n, (kind, begin, elements) in enumerate(job.updates):
    ${g}.update(${g}.parameter[${n}], reinterpret_cast<const ${kind} *>(parameters.data() + ${begin}), ${elements});
% endfor
% endif
% if job.streams:
    ${g}.run(frames);
    ${g}.wait();
    return 0;
% else:
% for way in job.inputs:
<% room = job.ahead + 1 if way.sends == 1 and not way.constant else 1 %>\
    const auto ${way.name} = ma::numbers<${way.c_type}>(data + "${job.name}_${way.name}.txt", ${way.elements}${'' if way.constant else ' * frames'});
    auto *const ${way.name}_memory = static_cast<${way.c_type} *>(adf::GMIO::malloc(${room * way.nbytes}));
% if way.constant:
    std::memcpy(${way.name}_memory, ${way.name}.data(), ${way.nbytes});
% endif
% endfor
% for way in job.outputs:
    std::vector<${way.c_type}> ${way.name}(${way.elements} * frames);
    auto *const ${way.name}_memory = static_cast<${way.c_type} *>(adf::GMIO::malloc(${2 * way.nbytes}));
% endfor
    const auto send = [&](unsigned frame) {
    % for way in job.inputs:
    % if not way.constant:
        {
            auto *const to = ${way.name}_memory + frame % ${job.ahead + 1} * ${way.elements};
            std::memcpy(to, ${way.name}.data() + frame * ${way.elements}, ${way.nbytes});
            % if way.sends == 1:
            ${g}.${way.port}.gm2aie_nb(to, ${way.nbytes});
            % endif
        }
    % elif way.sends == 1:
        ${g}.${way.port}.gm2aie_nb(${way.name}_memory, ${way.nbytes});
    % endif
    % endfor
        (void)frame;
    };
    const auto ask = [&](unsigned frame) {
    % for way in job.outputs:
        ${g}.${way.port}.aie2gm_nb(${way.name}_memory + frame % 2 * ${way.elements}, ${way.nbytes});
    % endfor
    };
    const auto take = [&](unsigned frame) {
    % for way in job.outputs:
        std::memcpy(${way.name}.data() + frame * ${way.elements}, ${way.name}_memory + frame % 2 * ${way.elements}, ${way.nbytes});
    % endfor
    };
% if job.ahead:
    // One call starts the graph for all frames: inputs are copied while it works on frames before.
    unsigned sent = 0;
    send(sent++);
    ask(0);
    ${g}.run(frames);
    for (unsigned frame = 0; frame < frames; ++frame) {
        while (sent < frames && sent <= frame + ${job.ahead}) {
            send(sent++);
        }
    % for way in job.outputs:
        ${g}.${way.port}.wait();
    % endfor
        if (frame + 1 < frames) {
            ask(frame + 1);
        }
        take(frame);
    }
    ${g}.wait();
% else:
    for (unsigned frame = 0; frame < frames; ++frame) {
        send(frame);
        ask(frame);
        ${g}.run(1);
    % if job.passes > 1:
        // A channel holds four transfers and the next one waits for room: they go while it runs.
        for (unsigned pass = 0; pass < ${job.passes}; ++pass) {
        % for way in job.inputs:
        % if way.sends > 1:
            ${g}.${way.port}.gm2aie_nb(${way.name}_memory, ${way.nbytes});
        % endif
        % endfor
        }
    % endif
    % for way in job.outputs:
        ${g}.${way.port}.wait();
    % endfor
        take(frame);
        ${g}.wait();
    }
% endif
    std::size_t wrong = 0;
    % for way in job.outputs:
    wrong += ma::compare("${job.name}_${way.name}", ${way.name}, data + "${job.name}_${way.name}_golden.txt");
    % endfor
    return wrong;
% endif
}
% endfor

}  // namespace

int main() {
    std::size_t wrong = 0;
% for graph in graphs:
    ${graph}.init();
% endfor
% for job in jobs:
    wrong += run_${job.name}();
% endfor
% for graph in graphs:
    ${graph}.end();
% endfor
    std::printf("%s\n", wrong == 0 ? "PASSED" : "FAILED");
    return wrong == 0 ? 0 : 1;
}

#endif
