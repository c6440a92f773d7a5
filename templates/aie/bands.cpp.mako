<%
    k = call.call.spec
%>\
// One layer's kernel${'' if k.position == 'only' else f', {k.position} of its cascade'}: ${call.count} bands of ${k.m} x ${k.k} x ${k.n}.
#include "${k.family}.hpp"
#include "${call.call.header}"

% for name, values in call.call.tables:
static const int32 ${call.symbol}_${name}[${len(values)}] = {
    % for first in range(0, len(values), 12):
    ${', '.join(str(v) for v in values[first : first + 12])},
    % endfor
};

% endfor
void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::${k.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${k.requantise.saturation});
    for (unsigned band = 0; band < ${call.count}; ++band) {
        x.acquire();
% if k.stores:
        y.acquire();
% endif
        ${k.family}::run({
% for name, value in call.fields:
            .${name} = ${value},
% endfor
        });
% if k.stores:
        y.release();
% endif
        x.release();
    }
}
