<%
    t, r = k.tiling, k.requantise
    name, y_type = k.family, k.c_type(r.dtype)
    groups, parts = t.groups
    # Halves of an accumulator as a tile has them, row after row: 32 columns each.
    if t.high == 1:
        halves = [(g, h, p) for g in range(groups) for h in range(parts) for p in range(2)]
    else:
        halves = [(g, h, p) for g in range(groups) for p in range(2) for h in range(parts)]

    def together(parts):
        """Vectors side by side; `concat` takes two or more."""
        return parts[0] if len(parts) == 1 else f"aie::concat({', '.join(parts)})"

    def of(g, h, half):
        """Where a half of an accumulator begins in a tile."""
        return (g * t.n + h * 64 + half * 32) if t.high == 1 else (g * 2 + half) * t.n + h * 32
%>\
// ${k.describe}
//
// A product has 64 lanes: elements of ${t.high} row${'s' if t.high > 1 else ''} of x times ${t.lanes} columns of w. The core has no exact product of tiles
// of bfloat16. A block ends before the next one begins: it has nearly all accumulators.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${name} {

constexpr unsigned lanes = 64;
% if k.upright:
constexpr unsigned size_a = 32;       // elements of a row of x that are loaded at a time
% else:
constexpr unsigned size_a = ${t.m * t.k};
% endif
constexpr unsigned size_b = ${t.k * t.n};

using Sum = aie::accum<accfloat, lanes>;
using Half = aie::accum<accfloat, 32>;
using Values = aie::vector<bfloat16, lanes>;

/// Accumulators of one tile.
struct Sums {
    Sum ${', '.join(f's{g}{h}' for g in range(groups) for h in range(parts))};
};

/// Where the kernel reads and writes.
struct Call {
    const bfloat16 *__restrict x;
    const bfloat16 *__restrict w;
% if k.bias:
    const float *__restrict bias;
% endif
% if k.resumes:
    const float *partial;             // a block's are read before y is stored, which may lie there
    unsigned partial_m_step;          // elements from one tile of rows to the next
    unsigned partial_n_step;          // from one tile of columns to the next
% endif
% if k.receives:
    input_cascade<accfloat> *from;
% endif
% if k.stores:
    ${y_type} *${'' if k.resumes else '__restrict '}y;
    unsigned y_m_step;                // elements of y from one tile of rows to the next
    unsigned y_n_step;                // from one tile of columns to the next
% else:
    output_cascade<accfloat> *to;
% endif
    unsigned m_blocks;
    unsigned k_steps;
    unsigned n_blocks;
};

/// What a tile's sums start from.
% if k.receives:
MATCH_AIE_INLINE Sums start(const Call &call) {
    % for g, h, p in halves:
    const Half from${g}${h}${p} = readincr_v<32>(call.from);
    % endfor
    return {${', '.join(f'aie::concat(from{g}{h}0, from{g}{h}1)' for g in range(groups) for h in range(parts))}};
}
% elif k.resumes:
MATCH_AIE_INLINE Half half(const float *sums) { return Half(aie::load_v<32>(sums)); }

MATCH_AIE_INLINE Sums start(const float *sums) {
    return {
    % for g in range(groups):
        % for h in range(parts):
        aie::concat(half(sums + ${of(g, h, 0)}), half(sums + ${of(g, h, 1)})),
        % endfor
    % endfor
    };
}
% elif k.bias:
MATCH_AIE_INLINE Half half(const float *bias) { return Half(aie::load_v<32>(bias)); }

/// A row of the bias for every row.
MATCH_AIE_INLINE Sums start(const float *bias) {
    return {
    % for g in range(groups):
        % for h in range(parts):
        aie::concat(half(bias + ${of(g, h, 0) % t.n}), half(bias + ${of(g, h, 1) % t.n})),
        % endfor
    % endfor
    };
}
% else:
MATCH_AIE_INLINE Sums start() {
    const Sum none = aie::zeros<accfloat, lanes>();
    return {${', '.join(['none'] * groups * parts)}};
}
% endif

% if k.stores:
MATCH_AIE_INLINE void store(const Half &sums, ${y_type} *to) {
    % if k.lo is not None:
    aie::store_v(to, aie::max(sums.to_vector<${y_type}>(), aie::zeros<${y_type}, 32>()));
    % else:
    aie::store_v(to, sums.to_vector<${y_type}>());
    % endif
}

MATCH_AIE_INLINE void drain(const Sums &c, ${y_type} *to) {
    % for g, h, p in halves:
    store(c.s${g}${h}.extract<32>(${p}), to + ${of(g, h, p)});
    % endfor
}
% else:
MATCH_AIE_INLINE void drain(const Sums &c, const Call &call) {
    % for g, h, p in halves:
    writeincr(call.to, c.s${g}${h}.extract<32>(${p}));
    % endfor
}
% endif

/// An element of each row of a product, in all lanes of its row.
MATCH_AIE_INLINE Values repeated(const aie::vector<bfloat16, size_a> &a, unsigned first) {
    return ${together([f'aie::broadcast<bfloat16, {t.lanes}>(a.get(first + {(1 if k.upright else t.k) * h}))' for h in range(t.high)])};
}

/// Columns of a row of w for each row of a product.
MATCH_AIE_INLINE Values columns(const bfloat16 *w) {
    return ${together([f'aie::load_v<{t.lanes}>(w)'] * t.high)};
}

/// Every accumulator takes ${t.k} products of each lane, one after the other.
% if k.upright:
MATCH_AIE_INLINE void step(Sums &c, const bfloat16 *__restrict x, unsigned across, unsigned first, const bfloat16 *__restrict w) {
% else:
MATCH_AIE_INLINE void step(Sums &c, const aie::vector<bfloat16, size_a> &a, const bfloat16 *__restrict w) {
% endif
% for at in range(t.k):
    {
    % if k.upright:
        const auto a = aie::load_v<size_a>(x + ${at} * across);
    % endif
    % for h in range(parts):
        const auto b${h} = columns(w + ${at * t.n + h * t.lanes});
    % endfor
    % for g in range(groups):
        const auto e${g} = repeated(a, ${f'first + {g * t.high}' if k.upright else g * t.high * t.k + at});
        % for h in range(parts):
        c.s${g}${h} = aie::mac(c.s${g}${h}, e${g}, b${h});
        % endfor
    % endfor
    }
% endfor
}

/// The whole call: blocks along N first, then along M.
MATCH_AIE_INLINE void run(const Call &call) {
% if k.upright:
    const unsigned across = call.m_blocks * ${t.m};  // x is [K, M]
% else:
    const unsigned across = call.k_steps * size_a;
% endif
    for (unsigned m = 0; m < call.m_blocks; ++m) {
        for (unsigned n = 0; n < call.n_blocks; ++n) {
% if k.receives:
            Sums c = start(call);
% elif k.resumes:
            Sums c = start(call.partial + m * call.partial_m_step + n * call.partial_n_step);
% elif k.bias:
            Sums c = start(call.bias + n * ${t.n});
% else:
            Sums c = start();
% endif
% if k.upright:
            const unsigned first = m * ${t.m} % size_a;
            const bfloat16 *__restrict x = call.x + (m * ${t.m} - first);
% else:
            const bfloat16 *__restrict x = call.x + m * across;
% endif
            const bfloat16 *__restrict w = call.w + n * size_b;
            for (unsigned k = 0; k < call.k_steps; ++k) chess_prepare_for_pipelining {
% if k.upright:
                step(c, x, across, first, w);
                x += ${t.k} * across;
% else:
                step(c, aie::load_v<size_a>(x), w);
                x += size_a;
% endif
                w += call.n_blocks * size_b;
            }
% if k.stores:
            drain(c, call.y + m * call.y_m_step + n * call.y_n_step);
% else:
            drain(c, call);
% endif
        }
    }
}

}  // namespace ${name}
