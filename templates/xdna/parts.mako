<%page args="call, phase, kept, modes"/>\
<%
    s = call.scores.spec
    family, parts, sizes = call.spec.family, call.parts, {'int8': 1, 'uint8': 1, 'int32': 4}
    queries = call.together * call.pieces
    begin = 0
%>\
    // Call of the block: ${queries} pieces of queries, then each part of the keys and values three times.
    const unsigned step = number % ${len(call.phases)};
% if phase == 'queries':
    (void)scratch;
    const unsigned piece = step % ${call.pieces};
    if (step / ${call.pieces} == static_cast<unsigned>(turn[0])) {
        const auto *from = q.data();
        for (unsigned each = 0; each < ${call.piece}; each += 32) {
            aie::store_v(queries + piece * ${call.piece} + each, aie::load_v<32>(from + each));
        }
    }
% else:
    const unsigned part = (step - ${queries}) % ${parts};
    % for name, dtype, elements in kept:
    ${s.c_type(dtype)} *const ${name} = reinterpret_cast<${s.c_type(dtype)} *>(scratch + ${begin});
<% begin += elements * sizes[dtype] %>\
    % endfor
    % for line in modes(s.requantise):
    ${line}
    % endfor
    const ${family}::Call rows = {
        .x = scores,
        .ab = w,
        .cd = cd,
        .most = most,
        .sums = totals,
        .rows = ${s.m},
        .width = ${s.n},
        .columns = part + 1 < ${parts} ? ${s.n}u : ${call.last}u,
        .known = ${call.known},
        .unknown = ${call.unknown},
        .multiplier = ${call.numbers.multiplier},
        .shift = ${call.numbers.tail.shift},
    };
    ${call.symbol}_scores({
    % for name, value in call.scored:
        .${name} = ${value},
    % endfor
    });
% if phase == 'values':
    const auto *const weights = reinterpret_cast<const ${s.c_type(call.spec.dtype)} *>(scores);
    if (part == 0) {
        for (unsigned each = 0; each < ${call.values.spec.m * call.values.spec.n}; each += 16) {
            aie::store_v(sums + each, aie::broadcast<int32, 16>(${call.start}));
        }
    }
    ${family}::scale(rows);
    ${call.adds.family}::run({
    % for name, value in call.added:
        .${name} = ${value},
    % endfor
    });
    if (part + 1 == ${parts}) {
        ${call.symbol}_results(sums, y.data());
    }
% else:
<% each, behind = {'largest': ('compare', 'settle'), 'totals': ('add', 'divide')}[phase] %>\
    ${family}::${each}(rows, part == 0);
    if (part + 1 == ${parts}) {
        ${family}::${behind}(rows);
    }
% endif
% endif
