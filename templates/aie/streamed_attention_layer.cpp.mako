<%
    n = call.numbers
    s = call.scores.spec
    x_type, p_type = s.c_type(call.spec.a), s.c_type(call.spec.dtype)
    parts, family = call.parts, call.spec.family
    steps = (('largest', 'compare', 'settle'), ('totals', 'add', 'divide'))
%>\
// One layer's attention: blocks of ${s.m} rows of queries by ${call.columns} keys, of which ${s.n} are there at a time.
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

<%include file="aie/streamed_parts.mako" args="call=call"/>
void ${call.symbol}(${', '.join(call.arguments)}) {
% for name, dtype, size in call.local:
    alignas(aie::vector_decl_align) ${s.c_type(dtype)} ${name}[${size}];
% endfor
    const ${p_type} *const weights = reinterpret_cast<const ${p_type} *>(scores);
    aie::set_rounding(aie::rounding_mode::${s.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${s.requantise.saturation});
    ${family}::Call rows = {
        .x = scores,
        .ab = w,
        .cd = cd,
        .most = most,
        .sums = totals,
        .rows = ${s.m},
        .width = ${s.n},
        .columns = ${s.n},
        .known = ${call.known},
        .unknown = ${call.unknown},
        .multiplier = ${n.multiplier},
        .shift = ${n.tail.shift},
    };
    // Keys of a part, which stay until `kv` is released.
    const auto score = [&](unsigned part) {
        kv.acquire();
        ${call.symbol}_scores({
% for name, value in call.scored:
            .${name} = ${value},
% endfor
        });
        rows.columns = part + 1 < ${parts} ? ${s.n} : ${call.last};
    };
    for (unsigned block = 0; block < ${call.blocks}; ++block) {
        for (int tile = 0; tile < ${call.together}; ++tile) {
            for (unsigned piece = 0; piece < ${call.pieces}; ++piece) {
                q.acquire();
                if (tile == turn[0]) {
                    const auto *from = q.data();
                    for (unsigned at = 0; at < ${call.piece}; at += 32) {
                        aie::store_v(queries + piece * ${call.piece} + at, aie::load_v<32>(from + at));
                    }
                }
                q.release();
            }
        }
% for _, each, behind in steps:
        for (unsigned part = 0; part < ${parts}; ++part) {
            score(part);
            kv.release();
            ${family}::${each}(rows, part == 0);
        }
        ${family}::${behind}(rows);
% endfor
        for (unsigned at = 0; at < ${call.values.spec.m * call.values.spec.n}; at += 16) {
            aie::store_v(sums + at, aie::broadcast<int32, 16>(${call.start}));
        }
        for (unsigned part = 0; part < ${parts}; ++part) {
            score(part);
            ${family}::scale(rows);
            ${call.adds.family}::run({
% for name, value in call.added:
                .${name} = ${value},
% endfor
            });
            kv.release();
        }
        y.acquire();
        ${call.symbol}_results(sums, y.data());
        y.release();
    }
}
