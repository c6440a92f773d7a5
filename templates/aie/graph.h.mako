<%
    way, width = ('plio', 'adf::plio_128_bits') if g.memory == 'plio' else ('gmio', '256, 1000')

    def file(macro, outside):
        return f' MA_{macro}("{g.name}_{outside.name}")' if g.memory == 'plio' else ''

    def braces(numbers):
        return '{' + ', '.join(str(n) for n in numbers) + '}'

    def source(end):
        if end.kind == 'outside':
            return f'{g.outside[end.of].name}.out[0]'
        if end.kind == 'shared':
            return f'{g.shared[end.of].name}.out[{end.port}]'
        if end.kind == 'logic':
            return f'{("states", "results")[end.port]}.out[0]'
        return f'tile[{end.of}].out[{end.port}]'

    def sink(end):
        if end.kind == 'outside':
            return f'{g.outside[end.of].name}.in[0]'
        if end.kind == 'shared':
            return f'{g.shared[end.of].name}.in[{end.port}]'
        if end.kind == 'logic':
            return f'sums[{end.port}].in[0]'
        k = g.kernels[end.of]
        if end.kind == 'cascade':
            packets = any(end.of in sinks for sinks in g.merges.values())
            return f'tile[{end.of}].in[{len(k.inputs) + len(k.call.parameters) + packets}]'
        return f'tile[{end.of}].in[{end.port}]'

    def joins(c):
        """A connection's two ports; those of kernels that fetch their buffers themselves are asynchronous."""
        def port(end, text):
            return f'adf::async({text})' if end.kind in ('buffer', 'lent') and g.kernels[end.of].walks else text
        return f'{port(c.source, source(c.source))}, {port(c.sink, sink(c.sink))}'
%>\
// ${'Layer ' if len(layers) == 1 else ''}${g.name}: ${g.remark}.
#pragma once

#include <adf.h>

% for name in layers:
#include "${name}_kernels.h"
% endfor
% if g.memory == 'plio':

// Simulators feed streams from files, and write them into files; elsewhere the platform moves them.
#ifndef MA_OUTPUT_FOLDER
#define MA_OUTPUT_FOLDER ""
#endif
#ifndef MA_FED
#ifdef MA_PLIO_FILES
#define MA_FED(name) , "data/" name ".txt"
#define MA_TAKEN(name) , MA_OUTPUT_FOLDER "data/" name ".txt"
#else
#define MA_FED(name)
#define MA_TAKEN(name)
#endif
#endif
% endif

class ${g.name}_graph : public adf::graph {
public:
% for outside in g.inputs:
    adf::input_${way} ${outside.name};
% endfor
% for outside in g.outputs:
    adf::output_${way} ${outside.name};
% endfor
% if g.logic:
    adf::output_plio sums[${g.logic.tiles}];
    adf::input_plio states;
    % if g.logic.narrow:
    adf::input_plio results;
    % endif
% endif
    adf::kernel tile[${len(g.kernels)}];
% if g.parameters:
    adf::input_port parameter[${len(g.parameters)}];
% endif
% for n, sources in enumerate(g.merges):
    adf::pktmerge<${len(sources)}> merge${n} = adf::pktmerge<${len(sources)}>::create();
% endfor
% for buffer in g.shared:
    adf::shared_buffer<${c_type(buffer.dtype)}> ${buffer.name};
% endfor

    ${g.name}_graph() {
% for outside in g.inputs:
        ${outside.name} = adf::input_${way}::create("${g.name}_${outside.name}", ${width}${file('FED', outside)});
% endfor
% for outside in g.outputs:
        ${outside.name} = adf::output_${way}::create("${g.name}_${outside.name}", ${width}${file('TAKEN', outside)});
% endfor
% if g.logic:
    % for at in range(g.logic.tiles):
        sums[${at}] = adf::output_plio::create("${g.name}_sums${at}", adf::plio_128_bits);
    % endfor
        states = adf::input_plio::create("${g.name}_states", adf::plio_128_bits);
    % if g.logic.narrow:
        results = adf::input_plio::create("${g.name}_results", adf::plio_128_bits);
    % endif
% endif
% for buffer in (shared.joined for shared in g.shared):
        ${buffer.name} = adf::shared_buffer<${c_type(buffer.dtype)}>::create(${braces(buffer.dimensions)}, ${len(buffer.writes)}, ${len(buffer.reads)});
        adf::num_buffers(${buffer.name}) = ${buffer.copies};
    % if buffer.fills > 1:
        adf::repetition_count(${buffer.name}) = ${buffer.fills};
    % endif
    % for port, way in enumerate(buffer.writes):
        adf::write_access(${buffer.name}.in[${port}]) = ${tiling(way)};
    % endfor
    % for port, way in enumerate(buffer.reads):
        adf::read_access(${buffer.name}.out[${port}]) = ${tiling(way)};
    % endfor
% endfor
% for n, k in enumerate(g.kernels):
        tile[${n}] = adf::kernel::create(${k.call.symbol});
        adf::source(tile[${n}]) = "${k.call.symbol}.cpp";
        adf::runtime<adf::ratio>(tile[${n}]) = 1.0;
        adf::location<adf::kernel>(tile[${n}]) = adf::tile(${column + k.place[0]}, ${k.place[1]});
    % if k.call.stack_bytes:
        adf::stack_size(tile[${n}]) = ${stack + k.call.stack_bytes};
    % endif
    % if k.firings > 1:
        adf::repetition_count(tile[${n}]) = ${k.firings};
    % endif
    % for port, elements in enumerate(k.inputs):
        adf::dimensions(tile[${n}].in[${port}]) = {${elements}};
    % endfor
    % if k.output is not None:
        adf::dimensions(tile[${n}].out[0]) = {${k.output}};
    % if k.single:
        adf::single_buffer(tile[${n}].out[0]);
    % endif
    % endif
    % if k.sent is not None:
        adf::dimensions(tile[${n}].out[1]) = {${k.sent}};
    % endif
% endfor
% for n, (of, port, _) in enumerate(g.parameters):
        adf::connect<adf::parameter>(parameter[${n}], adf::async(tile[${of}].in[${port}]));
        adf::single_buffer(tile[${of}].in[${port}]);
% endfor
% for c in g.connections:
    % if c.sink.kind != 'packets':
        adf::connect${'<adf::cascade>' if c.source.kind == 'cascade' else ''}(${joins(c)});
    % endif
% endfor
% for c in g.connections:
    % if c.sink.kind == 'lent' and not g.kernels[c.source.of].turns:
<% place = g.kernels[c.source.of].place %>\
        adf::location<adf::buffer>(tile[${c.source.of}].out[${c.source.port}]) = {adf::bank(${column + place[0]}, ${place[1]}, 0), adf::bank(${column + place[0]}, ${place[1]}, 1)};
    % endif
% endfor
% for n, k in enumerate(g.kernels):
    % if k.turns:
<%
    there = {(c.sink.of, c.sink.port) for c in g.connections if c.sink.kind == 'lent'}
    ports = [f'in[{port}]' for port in range(len(k.inputs)) if (n, port) not in there]
    ports += [f'out[{port}]' for port in range((k.output is not None) + (k.sent is not None))]
    pair = ', '.join(f'adf::bank({column + k.place[0]}, {k.place[1]}, {bank})' for bank in k.turns)
%>\
        % for port in ports:
        adf::location<adf::buffer>(tile[${n}].${port}) = {${pair}};
        % endfor
    % endif
% endfor
% for n, k in enumerate(g.kernels):
    % for port in k.north:
        adf::location<adf::buffer>(tile[${n}].in[${port}]) = {adf::bank(${column + k.place[0]}, ${k.place[1] + 1}, 0), adf::bank(${column + k.place[0]}, ${k.place[1] + 1}, 1)};
    % endfor
% endfor
% for n, (sources, sinks) in enumerate(g.merges.items()):
    % for port, of in enumerate(sources):
        adf::connect(adf::async(tile[${of}].out[${1 if g.kernels[of].sent else 0}]), merge${n}.in[${port}]);
    % endfor
    % for of in sinks:
        adf::connect(merge${n}.out[0], tile[${of}].in[${len(g.kernels[of].inputs) + len(g.kernels[of].call.parameters)}]);
    % endfor
% endfor
    }
};
