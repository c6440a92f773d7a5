<%
    s = call.scores.spec
    r = s.requantise
    family, parts = call.spec.family, call.parts
%>\
// One layer's attention in block floating point: blocks of ${call.rows} rows of queries by ${call.columns} keys, of which ${call.part} are there at a time.
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
% for name, dtype, size in call.local:
    alignas(aie::vector_decl_align) ${s.c_type(dtype)} ${name}[${size}];
% endfor
    const bfloat16 *const weights = reinterpret_cast<const bfloat16 *>(scores);
    aie::set_rounding(aie::rounding_mode::${r.rounding});
    aie::set_saturation(aie::saturation_mode::${r.saturation});
    const ${family}::Call rows = {.x = scores, .totals = totals, .marks = marks, .rows = ${call.rows}, .width = ${call.part}};
    for (unsigned block = 0; block < ${call.blocks}; ++block) {
        for (int tile = 0; tile < ${call.together}; ++tile) {
            for (unsigned piece = 0; piece < ${call.pieces}; ++piece) {
                q.acquire();
                if (tile == turn[0]) {
                    ${family}::scale(q.data(), queries + piece * ${call.piece}, ${call.piece}, ${repr(call.factor[0])}f, ${repr(call.factor[1])}f);
                }
                q.release();
            }
        }
        ${family}::begin(rows);
        for (unsigned at = 0; at < ${call.rows * call.width}; at += 32) {
            aie::store_v(sums + at, aie::zeros<float, 32>());
        }
        // Keys and values of a part, which stay until `kv` is released.
        for (unsigned part = 0; part < ${parts}; ++part) {
            kv.acquire();
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
            kv.release();
        }
        y.acquire();
        ${family}::divide(rows, sums, y.data(), ${call.width});
        y.release();
    }
}
