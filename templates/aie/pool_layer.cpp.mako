<%
    k = call.spec
    tiles = len(call.origins)
%>\
// One layer's maximum pool: ${tiles} tiles of ${k.m} pixels, ${call.blocks} blocks of ${k.n} channels.
#include "${k.family}.hpp"
#include "${call.header}"

% for name, values in (('origins', call.origins), ('offsets', call.offsets)):
static const int32 ${call.symbol}_${name}[${len(values)}] = {
    % for first in range(0, len(values), 12):
    ${', '.join(str(v) for v in values[first : first + 12])},
    % endfor
};

% endfor
void ${call.symbol}(${', '.join(call.arguments)}) {
    ${k.family}::run({
        .x = x.data(),
        .origins = ${call.symbol}_origins,
        .offsets = ${call.symbol}_offsets,
        .y = y.data(),
        .x_n_step = ${call.x_n_step},
        .y_n_step = ${tiles * k.m * k.n},
        .groups = ${tiles // k.rows},
        .taps = ${len(call.offsets)},
        .blocks = ${call.blocks},
    });
}
