<%
    k = call.spec
%>\
// One layer's product of two activations: a [${k.m}, ${k.k}] times b [${k.k}, ${k.n}].
% for header in call.headers:
#include "${header.family}.hpp"
% endfor
#include "${call.header}"

void ${call.symbol}(${', '.join(call.arguments)}) {
    aie::set_rounding(aie::rounding_mode::${k.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${k.requantise.saturation});
% if k.row_bias:
    alignas(aie::vector_decl_align) int32 row_sums[${k.m * k.tiling.n}];
    alignas(aie::vector_decl_align) int32 bias[${k.n}];
    ${k.sums_family}::run({
        .a = a.data(),
        .b = b.data(),
        .row_sums = row_sums,
        .bias = bias,
        .a_zero = ${call.a_zero},
        .b_zero = ${call.b_zero},
        .constant = ${call.constant},
        .m_blocks = ${k.blocks[0]},
        .k_steps = ${k.k_steps},
        .n_blocks = ${k.blocks[1]},
    });
% endif
    ${k.family}::run({
% for name, value in call.fields:
        .${name} = ${value},
% endfor
    });
}
