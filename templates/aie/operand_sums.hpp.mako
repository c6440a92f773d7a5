<%
    t = k.tiling
    size_c = t.m * t.n
    part = min(size_c, 16)
    a_type, b_type = k.c_type(k.a), k.c_type(k.b)
    rows, columns = range(k.rows), range(k.columns)
    name = k.sums_family
    # Zero points of bytes, and their negatives, have 16 bits: half of the vector products. Four
    # lanes of 16 bits are no vector.
    factor = 'int32' if k.a not in ('int8', 'uint8') else 'int16' if min(part, t.n) >= 8 else 'Factor<Lanes>'
%>\
// What a product of two activations with zero points needs beside the product: for
// sum_k (a - za) * (b - zb), the terms -zb * sum_k a (a tile of addends for each tile of rows) and
// constant - za * sum_k b (a bias). Padding of K is 0 in both operands.
#pragma once
% if factor == 'Factor<Lanes>':

#include <type_traits>
% endif

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${name} {

using Sum = aie::mmul<${t.m}, ${t.k}, ${t.n}, ${a_type}, ${b_type}, ${k.mmul_tag}>;
constexpr unsigned size_a = ${t.m * t.k};
constexpr unsigned size_b = ${t.k * t.n};
constexpr unsigned size_c = ${size_c};

struct Call {
    const ${a_type} *__restrict a;
    const ${b_type} *__restrict b;
    int32 *__restrict row_sums;
    int32 *__restrict bias;
    int a_zero;
    int b_zero;
    int constant;
    unsigned m_blocks;
    unsigned k_steps;
    unsigned n_blocks;
};

% if factor == 'Factor<Lanes>':
template <unsigned Lanes>
using Factor = std::conditional_t<(Lanes < 8), int32, int16>;

% endif
/// constant + factor * value, lane by lane; the result fits 32 bits.
template <unsigned Lanes>
MATCH_AIE_INLINE aie::vector<int32, Lanes> scaled(const aie::vector<int32, Lanes> &values, int factor, int constant) {
    const aie::accum<acc64, Lanes> sum(aie::broadcast<int32, Lanes>(constant));
    return aie::mac(sum, values, aie::broadcast<${factor}, Lanes>(static_cast<${factor}>(factor))).template to_vector<int32>(0);
}

MATCH_AIE_INLINE void rows_of_a(const Call &call) {
    const auto ones = aie::broadcast<${b_type}, size_b>(1);
    for (unsigned block = 0; block < call.m_blocks; ++block) {
        const ${a_type} *__restrict a = call.a + block * ${k.rows} * call.k_steps * size_a;
% for i in rows:
        Sum s${i}(aie::zeros<${k.accumulator}, size_c>());
% endfor
        for (unsigned step = 0; step < call.k_steps; ++step) chess_prepare_for_pipelining {
% for i in rows:
            s${i}.mac(aie::load_v<size_a>(a + (${i} * call.k_steps + step) * size_a), ones);
% endfor
        }
% for i in rows:
        {
            const auto sums = s${i}.template to_vector<int32>(0);
            int32 *to = call.row_sums + (block * ${k.rows} + ${i}) * size_c;
    % for p in range(size_c // part):
            aie::store_v(to + ${part * p}, scaled(sums.template extract<${part}>(${p}), -call.b_zero, 0));
    % endfor
        }
% endfor
    }
}

MATCH_AIE_INLINE void columns_of_b(const Call &call) {
    const auto ones = aie::broadcast<${a_type}, size_a>(1);
    for (unsigned block = 0; block < call.n_blocks; ++block) {
        const ${b_type} *__restrict b = call.b + block * ${k.columns} * size_b;
% for j in columns:
        Sum s${j}(aie::zeros<${k.accumulator}, size_c>());
% endfor
        for (unsigned step = 0; step < call.k_steps; ++step) chess_prepare_for_pipelining {
            const ${b_type} *__restrict at = b + step * call.n_blocks * ${k.columns} * size_b;
% for j in columns:
            s${j}.mac(ones, aie::load_v<size_b>(at + ${j} * size_b));
% endfor
        }
% for j in columns:
        {
            const auto sums = s${j}.template to_vector<int32>(0).template extract<${t.n}>(0);
            aie::store_v(call.bias + (block * ${k.columns} + ${j}) * ${t.n}, scaled(sums, -call.a_zero, call.constant));
        }
% endfor
    }
}

MATCH_AIE_INLINE void run(const Call &call) {
    rows_of_a(call);
    columns_of_b(call);
}

}  // namespace ${name}
