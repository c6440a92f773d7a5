<%
    n = call.numbers
    s = call.scores.spec
    addends = [product.spec for product in call.products if product.spec.row_bias]
    rows = max((k.m * k.tiling.n for k in addends), default=0)
    columns = max((k.n for k in addends), default=0)
    x_type, p_type = s.c_type(call.spec.a), s.c_type(call.spec.dtype)
%>\
// One layer's attention: ${s.m} rows of queries by ${call.columns} keys, ${call.heads} heads one after the other.
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

% for k in {each.family: each for each in (*call.sums, *(p.spec for p in call.products)) if each}.values():
// Stands in program memory once.
static __attribute__((noinline)) void ${call.symbol}_${k.family}(const ${k.family}::Call &product) { ${k.family}::run(product); }

% endfor
void ${call.symbol}(${', '.join(call.arguments)}) {
    alignas(aie::vector_decl_align) ${x_type} scores[${s.m * s.n}];
    alignas(aie::vector_decl_align) int32 exponentials[${call.divided * s.n}], sums[16 * 16];
% if addends:
    alignas(aie::vector_decl_align) int32 row_sums[${rows}], bias[${columns}];
% endif
    const ${p_type} *scores_of = reinterpret_cast<const ${p_type} *>(scores);
    aie::set_rounding(aie::rounding_mode::${s.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${s.requantise.saturation});
    for (unsigned head = 0; head < ${call.heads}; ++head) {
        (void)head;
% for at, product in enumerate(call.products):
<% k, held = product.spec, call.seconds[at] %>\
    % if at == 0:
        q.acquire();
    % endif
        ${held}.acquire();
    % if at == 1:
        y.acquire();
    % endif
    % if k.row_bias:
        ${call.symbol}_${call.sums[at].family}({
            .a = ${dict(call.fields(at))['x']},
            .b = ${held}.data(),
            .row_sums = row_sums,
            .bias = bias,
            .a_zero = ${product.a_zero},
            .b_zero = ${product.b_zero},
            .constant = ${product.constant},
            .m_blocks = ${k.m // k.tiling.m // call.sums[at].rows},
            .k_steps = ${k.k_steps},
            .n_blocks = ${k.n // k.tiling.n // call.sums[at].columns},
        });
    % endif
        ${call.symbol}_${k.family}({
    % for name, value in call.fields(at):
            .${name} = ${value},
    % endfor
        });
        ${held}.release();
    % if at == 0:
        ${call.spec.family}::run({
            .x = scores,
            .ab = w,
            .cd = cd,
            .e = exponentials,
            .sums = sums,
            .rows = ${s.m},
            .width = ${s.n},
            .columns = ${call.columns},
            .divided = ${call.divided},
            .known = ${call.known},
            .unknown = ${call.unknown},
            .multiplier = ${n.multiplier},
            .shift = ${n.tail.shift},
            .zero_point = ${n.tail.zero_point},
        });
    % endif
% endfor
        y.release();
        q.release();
    }
}
