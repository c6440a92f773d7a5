<%
    s = call.scores.spec
    r = s.requantise
    family, parts, across = call.spec.family, call.parts, call.width // 8
    tiles = call.piece // 32
%>\
// One layer's attention in bfloat16: blocks of ${call.rows} rows of queries by ${call.columns} keys, of which ${call.part} are there at a time.
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

// Stands in program memory once.
static __attribute__((noinline)) void ${call.symbol}_scores(const ${s.family}::Call &product) { ${s.family}::run(product); }

void ${call.symbol}(${', '.join(call.arguments)}) {
% for name, dtype, size in call.local:
    alignas(aie::vector_decl_align) ${s.c_type(dtype)} ${name}[${size}];
% endfor
    const bfloat16 *const weights = reinterpret_cast<const bfloat16 *>(scores);
    aie::set_rounding(aie::rounding_mode::${r.rounding});
    aie::set_saturation(aie::saturation_mode::${r.saturation});
    const ${family}::Call rows = {
        .x = scores,
% if call.spec.shifted:
        .most = most,
% endif
        .totals = totals,
% if not call.laned:
        .ones = ones,
% endif
        .rows = ${call.rows},
        .width = ${call.part},
    };
    // Keys of a part, which stay until `kv` is released.
    const auto score = [&](unsigned part) {
        kv.acquire();
        ${call.symbol}_scores({
% for name, value in call.scored:
            .${name} = ${value},
% endfor
        });
% if call.last < call.part:
        if (part + 1 == ${parts}) ${family}::hide(rows, ${call.last});
% else:
        (void)part;
% endif
    };
    for (unsigned block = 0; block < ${call.blocks}; ++block) {
        for (int tile = 0; tile < ${call.together}; ++tile) {
            for (unsigned piece = 0; piece < ${call.pieces}; ++piece) {
                q.acquire();
                if (tile == turn[0]) {
                    ${family}::scale(q.data(), queries, piece * ${tiles}, ${tiles}, ${across}, ${call.rows // 4}, ${repr(call.factor[0])}f, ${repr(call.factor[1])}f);
                }
                q.release();
            }
        }
% if call.spec.shifted:
        for (unsigned part = 0; part < ${parts}; ++part) {
            score(part);
            kv.release();
            ${family}::compare(rows, part == 0);
        }
        ${family}::settle(rows);
% else:
        ${family}::begin(rows);
% endif
        for (unsigned at = 0; at < ${call.rows * call.width}; at += 16) {
            aie::store_v(sums + at, aie::zeros<float, 16>());
        }
        for (unsigned part = 0; part < ${parts}; ++part) {
            score(part);
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
