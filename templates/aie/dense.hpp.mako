<%
    t, r = k.tiling, k.requantise
    cells = [(i, j) for i in range(k.rows) for j in range(k.columns)]
    size_c = t.m * t.n
    part = min(size_c, 32 if k.lane_bits == 32 else 16)
    a_type, b_type, y_type, bias_type = (k.c_type(d) for d in (k.a, k.b, r.dtype, k.bias_dtype))
    name = k.family
    join = k.joined
    units = cells[::join]
    size_y = size_c * join
    drains = k.share(k.drains, k.drain_steps)

    def sums(unit, of):
        parts = [f'{of}.s{unit[0]}{unit[1] + j}.to_accum()' for j in range(join)]
        return parts[0] if join == 1 else f"aie::concat({', '.join(parts)})"
    refills = k.share(k.accumulators, k.refill_steps)

    def start(column, place='next'):
        if k.receives:
            return 'start(call)'
        return f'start(call, {place}.n * {k.columns} + {column})' if k.bias else 'start()'
%>\
// Matrix kernel: x [M, K] times w [K, N] in mmul tiles ${t.m}x${t.k}x${t.n}, blocks of ${k.rows} x ${k.columns}
// accumulators; place in the cascade: ${k.position}.
//
// The block loop is software-pipelined here, in the source: while the first K steps of a block
// run, the block before it is drained (${'rounded and stored' if k.stores else 'passed on'}), and the accumulators so freed are
// set to what the block after it starts from.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

namespace ${name} {

using MM = aie::mmul<${t.m}, ${t.k}, ${t.n}, ${a_type}, ${b_type}, ${k.accumulator}>;

/// Accumulators of one block.
struct Sums {
    MM ${', '.join(f's{i}{j}' for i, j in cells)};
};

/// Where the kernel reads and writes, and its numbers.
struct Call {
    const ${a_type} *__restrict x;
    const ${b_type} *__restrict w;
% if k.bias:
    const ${bias_type} *__restrict bias;
% endif
% if k.receives:
    input_cascade<${k.accumulator}> *from;
% endif
% if k.stores:
    ${y_type} *__restrict y;
    % if r.form == 'channel':
    const int32 *__restrict multiplier;
    % elif r.form == 'tensor':
    int32 multiplier;
    % endif
    % if r.form != 'none':
    int shift;
    % endif
    % if r.scaled:
    int zero;
    % endif
    % if k.lo is not None and not k.floating:
    int lo;
    % endif
    % if r.hi is not None:
    int hi;
    % endif
% else:
    output_cascade<${k.accumulator}> *to;
% endif
    unsigned m_blocks;
    unsigned k_steps;  // at least ${k.drain_steps + k.refill_steps}
    unsigned n_blocks;
};

/// A block's place: along M and along N, in blocks.
struct Place {
    unsigned m, n;
};

__aie_inline Place after(Place place, const Call &call) {
    const unsigned n = place.n + 1;
    return n == call.n_blocks ? Place{place.m + 1, 0} : Place{place.m, n};
}

/// What a block's sums start from.
__aie_inline MM start(${'const Call &call, unsigned column' if k.bias else 'const Call &call' if k.receives else ''}) {
% if k.receives:
    return MM(readincr_v<${size_c}>(call.from));
% elif k.bias:
    const ${bias_type} *row = call.bias + column * ${t.n};
    const auto rows = aie::concat(${', '.join([f'aie::load_v<{t.n}>(row)'] * (part // t.n))});
    const aie::accum<${k.accumulator}, ${part}> sums(rows);
    % if part == size_c:
    return MM(sums);
    % else:
    return MM(aie::concat(${', '.join(['sums'] * (size_c // part))}));
    % endif
% else:
    return MM(aie::zeros<${k.accumulator}, ${size_c}>());
% endif
}

/// Drains the sums that begin at (row, column) of block `place`.
__aie_inline void drain(const aie::accum<${k.accumulator}, ${size_y}> &sum, const Call &call, Place place, unsigned row, unsigned column) {
% if k.stores:
    const unsigned tile_row = place.m * ${k.rows} + row;
    const unsigned tile_column = place.n * ${k.columns} + column;
    ${y_type} *to = call.y + (tile_row * call.n_blocks * ${k.columns} + tile_column) * MM::size_C;
    % if r.scaled:
    const auto sums = sum.template to_vector<int32>(0);
        % if r.form == 'channel':
    const int32 *row_of = call.multiplier + tile_column * ${t.n};
            % if join == 1:
    const auto factor = aie::concat(${', '.join([f'aie::load_v<{t.n}>(row_of)'] * (16 // t.n))});
            % else:
    const auto factor = aie::load_v<16>(row_of);
            % endif
        % else:
    const auto factor = aie::broadcast<int32, 16>(call.multiplier);
        % endif
    const auto zero = aie::broadcast<int32, 16>(call.zero);
        % for p in range(size_y // 16):
    aie::accum<acc64, 16> wide${p}(zero, call.shift);
    wide${p} = aie::mac(wide${p}, sums.template extract<16>(${p}), factor);
        % endfor
        % if size_y == 16:
    auto values = wide0.to_vector<${y_type}>(call.shift);
        % else:
    auto values = aie::concat(${', '.join(f'wide{p}.to_vector<{y_type}>(call.shift)' for p in range(size_y // 16))});
        % endif
    % elif r.form == 'none':
    auto values = sum.template to_vector<${y_type}>(0);
    % else:
    auto values = sum.template to_vector<${y_type}>(call.shift);
    % endif
    % if k.lo is not None and k.floating:
    values = aie::max(values, aie::zeros<${y_type}, ${size_y}>());
    % elif k.lo is not None:
    values = aie::max(values, static_cast<${y_type}>(call.lo));
    % endif
    % if r.hi is not None:
    values = aie::min(values, static_cast<${y_type}>(call.hi));
    % endif
    aie::store_v(to, values);
% else:
    (void)place, (void)row, (void)column;
    writeincr(call.to, sum);
% endif
}

/// One K step: every accumulator of the block takes one product.
__aie_inline void step(Sums &c, const ${a_type} *__restrict &a, const ${b_type} *__restrict &b, const Call &call) {
    const unsigned a_row = call.k_steps * MM::size_A;
% for i in range(k.rows):
    const auto a${i} = aie::load_v<MM::size_A>(a${f' + {i} * a_row' if i else ''});
% endfor
% if k.rows == 1:
    (void)a_row;
% endif
% for j in range(k.columns):
    const auto b${j} = aie::load_v<MM::size_B>(b${f' + {j} * MM::size_B' if j else ''});
% endfor
% for i, j in cells:
    c.s${i}${j}.mac(a${i}, b${j});
% endfor
    a += MM::size_A;
    b += call.n_blocks * ${k.columns} * MM::size_B;
}

/// Sums block `here` in `c`. With `drains`, the block `before` leaves `p` meanwhile; with
/// `refills`, `p` is then set to what block `next` starts from.
template <bool drains, bool refills>
__aie_inline void block(Sums &c, Sums &p, const Call &call, Place before, Place here, Place next) {
    const ${a_type} *__restrict a = call.x + here.m * ${k.rows} * call.k_steps * MM::size_A;
    const ${b_type} *__restrict b = call.w + here.n * ${k.columns} * MM::size_B;
% for units_now in drains:
    step(c, a, b, call);
    if constexpr (drains) {
    % for n in units_now:
        drain(${sums(units[n], 'p')}, call, before, ${units[n][0]}, ${units[n][1]});
    % endfor
    }
% endfor
% for cells_now in refills:
    step(c, a, b, call);
    if constexpr (refills) {
    % for n in cells_now:
        p.s${cells[n][0]}${cells[n][1]} = ${start(cells[n][1])};
    % endfor
    }
% endfor
    for (unsigned k = ${k.drain_steps + k.refill_steps}; k < call.k_steps; ++k) chess_prepare_for_pipelining {
        step(c, a, b, call);
    }
% if not refills:
    if constexpr (refills) {
    % for i, j in cells:
        p.s${i}${j} = ${start(j)};
    % endfor
    }
% endif
    (void)before, (void)next;
}

__aie_inline void drain_all(const Sums &p, const Call &call, Place place) {
% for unit in units:
    drain(${sums(unit, 'p')}, call, place, ${unit[0]}, ${unit[1]});
% endfor
}

/// The whole call: blocks along N first, then along M.
__aie_inline void run(const Call &call) {
    const unsigned blocks = call.m_blocks * call.n_blocks;
    Sums even, odd;
    Place before{0, 0}, here{0, 0}, next = after(here, call);
% for i, j in cells:
    even.s${i}${j} = ${start(j, 'here')};
% endfor
    if (blocks == 1) {
        block<false, false>(even, odd, call, before, here, next);
        drain_all(even, call, here);
        return;
    }
    block<false, true>(even, odd, call, before, here, next);
    const auto advance = [&]() {
        before = here;
        here = next;
        next = after(next, call);
    };
    advance();
    for (unsigned pair = 0; pair < (blocks - 2) / 2; ++pair) {
        block<true, true>(odd, even, call, before, here, next);
        advance();
        block<true, true>(even, odd, call, before, here, next);
        advance();
    }
    if (blocks % 2 == 0) {
        block<true, false>(odd, even, call, before, here, next);
        drain_all(odd, call, here);
    } else {
        block<true, true>(odd, even, call, before, here, next);
        advance();
        block<true, false>(even, odd, call, before, here, next);
        drain_all(even, call, here);
    }
}

}  // namespace ${name}
