<%page args="call, phase, kept, modes"/>\
<%
    s = call.scores.spec
    family, parts, sizes = call.spec.family, call.parts, {'int16': 2, 'float32': 4, 'bfloat16': 2}
    queries = call.together * call.pieces
    begin = 0
%>\
    // Call of the block: ${queries} pieces of queries, then each part of the keys and values.
    const unsigned step = number % ${len(call.phases)};
    % for line in modes(s.requantise):
    ${line}
    % endfor
% if phase == 'queries':
    (void)scratch;
    const unsigned piece = step % ${call.pieces};
    if (step / ${call.pieces} == static_cast<unsigned>(turn[0])) {
        ${family}::scale(q.data(), queries + piece * ${call.piece}, ${call.piece}, ${repr(call.factor[0])}f, ${repr(call.factor[1])}f);
    }
% else:
    const unsigned part = (step - ${queries}) % ${parts};
    % for name, dtype, elements in kept:
    ${s.c_type(dtype)} *const ${name} = reinterpret_cast<${s.c_type(dtype)} *>(scratch + ${begin});
<% begin += elements * sizes[dtype] %>\
    % endfor
    const auto *const weights = reinterpret_cast<const bfloat16 *>(scores);
    const ${family}::Call rows = {.x = scores, .totals = totals, .marks = marks, .rows = ${call.rows}, .width = ${call.part}};
    if (part == 0) {
        for (unsigned each = 0; each < ${call.rows * call.width}; each += 32) {
            aie::store_v(sums + each, aie::zeros<float, 32>());
        }
        ${family}::begin(rows);
    }
    ${s.family}::run({
    % for name, value in call.scored:
        .${name} = ${value},
    % endfor
    });
    ${family}::weigh(rows, part + 1 < ${parts} ? ${call.part}u : ${call.last}u);
    ${call.adds.family}::run({
    % for name, value in call.added:
        .${name} = ${value},
    % endfor
    });
    if (part + 1 == ${parts}) {
        ${family}::divide(rows, sums, y.data(), ${call.width});
    }
% endif
