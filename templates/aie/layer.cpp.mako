// One layer's kernel${'' if k.position == 'only' else f', {k.position} of its cascade'}: x [${k.m}, ${k.k}] times w [${k.k}, ${k.n}].
#include "${k.family}.hpp"
#include "${header}"

void ${symbol}(<%include file="aie/parameters.mako" args="k=k"/>) {
    aie::set_rounding(aie::rounding_mode::${k.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${k.requantise.saturation});
    ${k.family}::run({
        .x = x.data(),
        .w = w,
% if k.bias:
        .bias = bias,
% endif
% if k.receives:
        .from = from,
% endif
% if k.stores:
        .y = y.data(),
    % if k.requantise.form == 'channel':
        .multiplier = multiplier,
    % elif k.requantise.form == 'tensor':
        .multiplier = ${multiplier},
    % endif
    % if k.requantise.form != 'none':
        .shift = ${shift},
    % endif
    % if k.requantise.scaled:
        .zero = ${k.requantise.zero_point},
    % endif
    % if k.lo is not None and not k.floating:
        .lo = ${k.lo},
    % endif
    % if k.requantise.hi is not None:
        .hi = ${k.requantise.hi},
    % endif
% else:
        .to = to,
% endif
        .m_blocks = ${k.blocks[0]},
        .k_steps = ${k.k_steps},
        .n_blocks = ${k.blocks[1]},
    });
}
