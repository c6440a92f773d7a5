// One layer's product of two activations: a [${k.m}, ${k.k}] times b [${k.k}, ${k.n}].
#include "${k.family}.hpp"
% if k.row_bias:
#include "${k.sums_family}.hpp"
% endif
#include "${header}"

void ${symbol}(adf::input_buffer<${k.c_type(k.a)}> &__restrict a, adf::input_buffer<${k.c_type(k.b)}> &__restrict b, adf::output_buffer<${k.c_type(k.requantise.dtype)}> &__restrict y) {
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
        .a_zero = ${a_zero},
        .b_zero = ${b_zero},
        .constant = ${constant},
        .m_blocks = ${k.blocks[0]},
        .k_steps = ${k.k_steps},
        .n_blocks = ${k.blocks[1]},
    });
% endif
    ${k.family}::run({
        .x = a.data(),
        .w = b.data(),
% if k.row_bias:
        .bias = bias,
        .row_sums = row_sums,
% endif
        .y = y.data(),
        .y_m_step = ${k.n * k.tiling.m},
        .y_n_step = ${k.tiling.m * k.tiling.n},
% if k.requantise.form == 'tensor':
        .multiplier = ${numbers.multiplier},
% endif
% if k.requantise.form != 'none':
        .shift = ${numbers.shift},
% endif
% if k.requantise.scaled and k.requantise.addend == 'zero_point':
        .zero = ${k.requantise.zero_point},
% elif k.requantise.scaled:
        .addend = ${'addend' if k.requantise.addend == 'channel' else numbers.addend},
% endif
% if k.lo is not None and not k.floating:
        .lo = ${k.lo},
% endif
% if k.requantise.hi is not None:
        .hi = ${k.requantise.hi},
% endif
        .m_blocks = ${k.blocks[0]},
% if not k.flat:
        .k_steps = ${k.k_steps},
% endif
        .n_blocks = ${k.blocks[1]},
    });
}
