<%page args="call, now, own"/>\
<%
    gates, units = len(call.spec.gates), call.units
    skipped = 8 * call.chunks * gates * call.inputs if 'inputs' in call.parts else 0
    begins = gates * units if 'inputs' in call.parts else 0
    cell = call.spec.cell
%>\
% if cell == 'lstm':
    alignas(aie::vector_decl_align) float cell[${units}];
    for (unsigned at = 0; at < ${units}; at += 8) aie::store_v(cell + at, aie::zeros<float, 8>());
% endif
% if cell == 'gru_before':
    alignas(aie::vector_decl_align) float update[${units}];
    % if call.role != 'rows':
    alignas(aie::vector_decl_align) float reset[${units}];
    % endif
% endif
    ${call.spec.family}::Call call{
        .w = w + ${skipped},
% if cell == 'gru':
        .bias = ${f'bias + {begins}' if any(p.name == 'bias' for p in call.parameters) else 'nullptr'},
% endif
        .numbers = numbers,
        .now = ${now},
        .own = ${own},
% if cell == 'lstm':
        .cell = cell,
% endif
% if cell == 'gru_before':
        .update = update,
        .reset = ${'reinterpret_cast<float *>(resets)' if call.role == 'rows' else 'reset'},
% endif
    };
