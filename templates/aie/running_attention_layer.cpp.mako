<%
    s = call.scores.spec
    family, parts = call.spec.family, call.parts
%>\
// One layer's attention: blocks of ${s.m} rows of queries by ${call.columns} keys, of which ${s.n} are there at a time, once.
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
% for name, dtype, size in call.local:
    alignas(aie::vector_decl_align) ${s.c_type(dtype)} ${name}[${size}];
% endfor
    aie::set_rounding(aie::rounding_mode::${s.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${s.requantise.saturation});
    const ${family}::Call rows = {
% for name, value in call.rules:
        .${name} = ${value},
% endfor
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
        for (unsigned part = 0; part < ${parts}; ++part) {
            const unsigned columns = part + 1 < ${parts} ? ${s.n}u : ${call.last}u;
            kv.acquire();
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
            kv.release();
        }
        y.acquire();
        ${family}::divide(rows, y.data());
        y.release();
    }
}
