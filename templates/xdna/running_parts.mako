<%page args="call, phase, modes"/>\
<%
    s = call.scores.spec
    family, parts = call.spec.family, call.parts
    queries = call.together * call.pieces
%>\
    // Call of the block: ${queries} pieces of queries, then each part of the keys and values.
    const unsigned step = number % ${len(call.phases)};
% if phase == 'queries':
    const unsigned piece = step % ${call.pieces};
    if (step / ${call.pieces} == static_cast<unsigned>(turn[0])) {
        const auto *from = q.data();
        for (unsigned each = 0; each < ${call.piece}; each += 32) {
            aie::store_v(queries + piece * ${call.piece} + each, aie::load_v<32>(from + each));
        }
    }
% else:
    const unsigned part = step - ${queries}, columns = part + 1 < ${parts} ? ${s.n}u : ${call.last}u;
    % for line in modes(s.requantise):
    ${line}
    % endfor
    const ${family}::Call rows = {
    % for name, value in call.rules:
        .${name} = ${value},
    % endfor
    };
    ${s.family}::run({
    % for name, value in call.scored:
        .${name} = ${value},
    % endfor
    });
    ${family}::compare(rows, columns, part == 0);
    ${family}::weigh(rows, columns);
    ${call.adds.family}::run({
    % for name, value in call.added:
        .${name} = ${value},
    % endfor
    });
    if (part + 1 == ${parts}) {
        ${family}::divide(rows, y.data());
    }
% endif
