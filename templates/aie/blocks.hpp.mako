<%
    t, r = k.tiling, k.requantise
    name, y_type = k.family, k.c_type(r.dtype)
    cells = [(i, j) for i in range(k.rows) for j in range(k.columns)]
    size_c = t.m * t.n
    halves = range(2)

    def each(make):
        return ', '.join(make(i, j) for i, j in cells)
%>\
// ${k.describe}
//
// Operands lie as bfloat16. Eight neighbours along K become a block of mantissas with one exponent, by
// way of an accumulator, rounded as the core's mode says: w's tiles ${'are turned first' if k.turned else 'lie transposed'}, so that its blocks
// are rows, too. A block of accumulators ends before the next one begins: it has nearly all of them.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${name} {

constexpr unsigned size_a = ${t.m * t.k};
constexpr unsigned size_b = ${t.k * t.n};
constexpr unsigned size_c = ${size_c};

using Sum = aie::mmul<${t.m}, ${t.k}, ${t.n}, bfp16ebs8, bfp16ebs8, ${k.mmul_tag}>;
using Half = aie::accum<accfloat, size_c / 2>;
using Blocks = aie::block_vector<bfp16ebs8, size_a>;

/// Accumulators of one block.
struct Sums {
    Sum ${each(lambda i, j: f's{i}{j}')};
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
MATCH_AIE_INLINE Sum start(const Call &call) {
    return Sum(readincr_v<size_c>(call.from));
}
% elif k.resumes:
MATCH_AIE_INLINE Sum start(const float *sums) {
    return Sum(aie::concat(${', '.join(f'Half(aie::load_v<{size_c // 2}>(sums + {p * size_c // 2}))' for p in halves)}));
}
% elif k.bias:
/// A row of the bias for every row.
MATCH_AIE_INLINE Sum start(const float *bias) {
    const Half rows(aie::concat(${', '.join([f'aie::load_v<{t.n}>(bias)'] * (t.m // 2))}));
    return Sum(aie::concat(rows, rows));
}
% else:
MATCH_AIE_INLINE Sum start() {
    return Sum(aie::zeros<accfloat, size_c>());
}
% endif

% if k.stores:
MATCH_AIE_INLINE void drain(const Sum &sum, ${y_type} *to) {
    % if k.lo is not None:
    aie::store_v(to, aie::max(sum.to_vector<${y_type}>(), aie::zeros<${y_type}, size_c>()));
    % else:
    aie::store_v(to, sum.to_vector<${y_type}>());
    % endif
}
% endif

/// A tile's blocks, one for each of its rows as it lies.
MATCH_AIE_INLINE Blocks blocks(const bfloat16 *__restrict tile) {
    const aie::accum<accfloat, size_a> wide(aie::load_v<size_a>(tile));
    return wide.template to_vector<bfp16ebs8>();
}

% if k.turned:
/// A tile's blocks, one for each of its columns as it lies.
MATCH_AIE_INLINE Blocks turned(const bfloat16 *__restrict tile) {
    const aie::accum<accfloat, size_b> wide(aie::transpose(aie::load_v<size_b>(tile), ${t.k}, ${t.n}));
    return wide.template to_vector<bfp16ebs8>();
}

% endif
/// The whole call: blocks of accumulators along N first, then along M.
MATCH_AIE_INLINE void run(const Call &call) {
    const unsigned across = call.k_steps * size_a;
    for (unsigned m = 0; m < call.m_blocks; ++m) {
        for (unsigned n = 0; n < call.n_blocks; ++n) {
            Sums c = {
% for i, j in cells:
    % if k.receives:
                start(call),
    % elif k.resumes:
                start(call.partial + (m * ${k.rows} + ${i}) * call.partial_m_step + (n * ${k.columns} + ${j}) * call.partial_n_step),
    % elif k.bias:
                start(call.bias + (n * ${k.columns} + ${j}) * ${t.n}),
    % else:
                start(),
    % endif
% endfor
            };
            const bfloat16 *__restrict x = call.x + m * ${k.rows} * across;
            const bfloat16 *__restrict w = call.w + n * ${k.columns} * size_b;
            for (unsigned k = 0; k < call.k_steps; ++k) chess_prepare_for_pipelining {
% for i in range(k.rows):
                const Blocks a${i} = blocks(x${f' + {i} * across' if i else ''});
% endfor
% for j in range(k.columns):
                const Blocks b${j} = ${'turned' if k.turned else 'blocks'}(w${f' + {j} * size_b' if j else ''});
% endfor
% for i, j in cells:
                c.s${i}${j}.mac(a${i}, aie::op_transpose(b${j}));
% endfor
                x += size_a;
                w += call.n_blocks * ${k.columns} * size_b;
            }
% for i, j in cells:
    % if k.stores:
            drain(c.s${i}${j}, call.y + (m * ${k.rows} + ${i}) * call.y_m_step + (n * ${k.columns} + ${j}) * call.y_n_step);
    % else:
            writeincr(call.to, c.s${i}${j}.to_accum());
    % endif
% endfor
        }
    }
}

}  // namespace ${name}
