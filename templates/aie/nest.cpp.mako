<%
    nest, s = call, call.call.spec
    (outer, outer_count), (inner, inner_count) = nest.outer
    kernels = nest.kernels
    sums_type = s.c_type(nest.sums_dtype)

    def fetch(loop, verb):
        found = []
        if nest.fetches_x == loop:
            found.append(f'x.{verb}();')
        if nest.streamed and nest.fetches_w == loop:
            found.append(f'w.{verb}();')
        return found
%>\
// One layer's kernel, ${nest.m_tiles} x ${nest.n_tiles} x ${nest.k_tiles} tiles of ${s.m} x ${s.n} x ${s.k} (M, N, K) over time.
% for family in dict.fromkeys(k.family for k in kernels):
#include "${family}.hpp"
% endfor
#include "${nest.call.header}"

% if nest.primed:
<%include file="aie/primed.mako" args="nest=nest"/>
% endif
void ${nest.symbol}(${', '.join(nest.arguments)}) {
    aie::set_rounding(aie::rounding_mode::${s.requantise.rounding});
    aie::set_saturation(aie::saturation_mode::${s.requantise.saturation});
% if nest.k_tiles > 1:
    alignas(aie::vector_decl_align) ${sums_type} sums[${s.m * s.n}];
% endif
% if nest.halved:
    alignas(aie::vector_decl_align) int32 numbers[${nest.numbers * s.n}];
% endif
% if s.carries:
    constexpr unsigned n = 0, k = 0;
    (void)n, (void)k;
    x.acquire();
    % if s.stores:
    y.acquire();
    % endif
    ${kernels[0].family}::passes({
    % for name, value in nest.fields(0):
        .${name} = ${value},
    % endfor
    }, ${nest.m_tiles}, [&](auto &call) {
        x.release();
        x.acquire();
        call.x = x.data();
    }, [&](auto &call) {
    % if s.stores:
        y.release();
        y.acquire();
        call.y = y.data();
    % else:
        (void)call;
    % endif
    });
    % if s.stores:
    y.release();
    % endif
    x.release();
% else:
    for (unsigned ${outer} = 0; ${outer} < ${outer_count}; ++${outer}) {
% for line in fetch('outer', 'acquire'):
        ${line}
% endfor
        for (unsigned ${inner} = 0; ${inner} < ${inner_count}; ++${inner}) {
            (void)m, (void)n;
% for line in fetch('inner', 'acquire'):
            ${line}
% endfor
% if s.stores and not nest.single:
            y.acquire();
% endif
% if nest.k_tiles == 1:
            constexpr unsigned k = 0;
            (void)k;
            ${kernels[0].family}::run({
    % for name, value in nest.fields(0):
                .${name} = ${value},
    % endfor
            });
% else:
            for (unsigned k = 0; k < ${nest.k_tiles}; ++k) {
    % for line in fetch('k', 'acquire'):
                ${line}
    % endfor
    % for number, kernel in enumerate(kernels):
        % if number == 0:
                if (k == 0) {
        % elif number + 1 == len(kernels):
                } else {
        % else:
                } else if (k + 1 < ${nest.k_tiles}) {
        % endif
        % if s.stores and nest.single and number + 1 == len(kernels):
                    y.acquire();
        % endif
        % if nest.halved and number in (0, len(kernels) - 1):
                    ${nest.holds[number > 0]}
        % endif
        % if nest.primed and number == 0:
                    ${nest.symbol}_prime(${', '.join(str(value) for _, value in nest.begins if value)});
        % endif
                    ${nest.runs(number)}({
        % for name, value in nest.fields(number):
                        .${name} = ${value},
        % endfor
                    });
    % endfor
                }
    % for line in fetch('k', 'release'):
                ${line}
    % endfor
            }
% endif
% if s.stores:
            y.release();
% endif
% for line in fetch('inner', 'release'):
            ${line}
% endfor
        }
% for line in fetch('outer', 'release'):
        ${line}
% endfor
    }
% endif
}
