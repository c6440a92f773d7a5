<%
    t = b.spec.tiling
    r = b.spec.requantise
    x_type, y_type = b.spec.c_type(b.spec.a), b.spec.c_type(r.dtype)

    def braces(numbers):
        return '{' + ', '.join(str(n) for n in numbers) + '}'

    def access(a):
        parts = [f'.buffer_dimension = {braces(a.buffer)}', f'.tiling_dimension = {braces(a.tile)}',
                 f'.offset = {braces(a.offset)}']
        if a.traversal:
            loops = ', '.join(f'{{.dimension = {d}, .stride = {s}, .wrap = {w}}}' for d, s, w in a.traversal)
            parts.append(f'.tile_traversal = {{{loops}}}')
        if a.boundary:
            parts.append(f'.boundary_dimension = {braces(a.boundary)}')
        return 'adf::tiling({' + ', '.join(parts) + '})'

    ports = list(dict.fromkeys(p.name for call in calls for p in call.parameters))

    def tile(column, row):
        return f'{b.column + column}, {b.row + row}'
%>\
// Layer ${b.name}: x [${b.m}, ${b.k}] times w [${b.k}, ${b.n}] on ${b.length} x ${b.count} tiles, slices of
// ${b.spec.m} x ${b.spec.k} x ${b.spec.n}.
#pragma once

#include <adf.h>

#include "${b.name}_kernels.h"

class ${b.name}_block : public adf::graph {
public:
    adf::input_port x;
    adf::output_port y;
% for name in ports:
    adf::input_port ${name}[${b.length * b.count}];
% endfor
    adf::kernel tile[${b.length * b.count}];
    adf::shared_buffer<${x_type}> x_memory;
    adf::shared_buffer<${y_type}> y_memory;

    ${b.name}_block() {
        x_memory = adf::shared_buffer<${x_type}>::create({${b.k}, ${b.m}}, 1, ${b.length});
        adf::num_buffers(x_memory) = 2;
        adf::connect(x, x_memory.in[0]);
        adf::write_access(x_memory.in[0]) = adf::tiling({.buffer_dimension = {${b.k}, ${b.m}}, .tiling_dimension = {${b.k}, ${b.m}}, .offset = {0, 0}});
        y_memory = adf::shared_buffer<${y_type}>::create(${braces(b.y_buffer)}, ${b.count}, 1);
        adf::num_buffers(y_memory) = 2;
        adf::connect(y_memory.out[0], y);
        adf::read_access(y_memory.out[0]) = ${access(b.read_y)};
% for row in range(b.count):
    % for column in range(b.length):
<%
    n = row * b.length + column
    call = next(c for c in calls if c.spec.position == b.position(column))
    k = call.spec
%>\
        tile[${n}] = adf::kernel::create(${call.symbol});
        adf::source(tile[${n}]) = "${call.symbol}.cpp";
        adf::runtime<adf::ratio>(tile[${n}]) = 1.0;
        adf::location<adf::kernel>(tile[${n}]) = adf::tile(${tile(column, row)});
        % if b.repetitions > 1:
        adf::repetition_count(tile[${n}]) = ${b.repetitions};
        % endif
        adf::connect(x_memory.out[${column}], tile[${n}].in[0]);
        adf::dimensions(tile[${n}].in[0]) = {${k.m * k.k}};
        % for number, p in enumerate(call.parameters, start=1):
        adf::connect<adf::parameter>(${p.name}[${n}], adf::async(tile[${n}].in[${number}]));
        adf::single_buffer(tile[${n}].in[${number}]);
        % endfor
        % if k.receives:
        adf::connect<adf::cascade>(tile[${n - 1}].out[0], tile[${n}].in[${1 + len(call.parameters)}]);
        % endif
        % if k.stores:
        adf::dimensions(tile[${n}].out[0]) = {${k.m * k.n}};
        adf::connect(tile[${n}].out[0], y_memory.in[${row}]);
        adf::write_access(y_memory.in[${row}]) = ${access(b.write_y(row))};
        % endif
    % endfor
% endfor
% for column in range(b.length):
        adf::read_access(x_memory.out[${column}]) = ${access(b.read_x(column))};
% endfor
    }
};
