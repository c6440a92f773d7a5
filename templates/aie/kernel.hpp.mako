<%
    t, r = k.tiling, k.requantise
    cells = [(i, j) for i in range(k.rows) for j in range(k.columns)]
    rows, columns = range(k.rows), range(k.columns)
    mmul = k.operation == 'mmul'
    size_c = t.m * t.n
    part = min(size_c, 32 if k.lane_bits == 32 else 16)
    part_rows = part // t.n
    a_type, b_type, y_type, bias_type = (k.c_type(d) for d in (k.a, k.b, r.dtype, k.bias_dtype))
    partial_type = y_type if k.rounded else bias_type
    up = ', call.shift' if k.rounded and r.form != 'none' else ''
    name = k.family
    join = k.joined
    units = cells[::join]
    size_y = size_c * join
    drains, refills = k.shares
    operands = [(i, j) for i in rows for j in (range(1) if mmul else columns)]
    a_name = {(i, j): f'a{i}' if mmul else f'a{i}{j}' for i, j in operands}
    positioned = k.bias and (k.border_bias or k.row_bias)
    k_steps = 'k_steps' if k.flat else 'call.k_steps'

    def sums(unit, of):
        parts = [f'{of}.s{unit[0]}{unit[1] + j}' + ('.to_accum()' if mmul else '') for j in range(join)]
        return together(parts)

    def together(parts):
        """Vectors side by side; `concat` takes two or more."""
        return parts[0] if len(parts) == 1 else f"aie::concat({', '.join(parts)})"

    def start(row, column, place='next'):
        if k.receives:
            return 'start(call)'
        if k.resumes:
            return f'start(call, {place}.m * {k.rows} + {row}, {place}.n * {k.columns} + {column})'
        if not k.bias:
            return 'start()'
        at = f'{place}.n * {k.columns} + {column}'
        return f'start(call, {place}.m * {k.rows} + {row}, {at})' if positioned else f'start(call, {at})'

    def bias_rows(p):
        """Loads of one part's bias rows."""
        if not k.border_bias:
            return [f'aie::load_v<{t.n}>(row)'] * part_rows
        first = p * part_rows
        return [f'aie::load_v<{t.n}>(row + call.bias_of[tile_row * {t.m} + {first + i}])' for i in range(part_rows)]
%>\
// ${k.describe}
//
// The block loop is software-pipelined here, in the source: while the first steps of a block run,
// the block before it is drained (${'rounded and stored' if k.stores else 'passed on'}), and while its last steps run, the accumulators so
// freed are set to what the block after it starts from.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${name} {

% if mmul:
using Sum = aie::mmul<${t.m}, ${t.k}, ${t.n}, ${a_type}, ${b_type}, ${k.mmul_tag}>;
% else:
using Sum = aie::accum<${k.accumulator}, ${size_c}>;
% endif

constexpr unsigned size_a = ${t.m * t.k if mmul else size_c};
constexpr unsigned size_b = ${t.k * t.n if mmul else size_c};
constexpr unsigned size_c = ${size_c};
% if k.flat:
constexpr unsigned k_steps = ${k.k_steps};
% endif

/// Accumulators of one block.
struct Sums {
    Sum ${', '.join(f's{i}{j}' for i, j in cells)};
};

/// Where the kernel reads and writes, and its numbers.
struct Call {
    const ${a_type} *__restrict x;
% if k.gathered:
    const int32 *__restrict origins;  // element of x where each tile of rows begins
    const int32 *__restrict offsets;  // from there to what each step reads
% endif
% if not mmul:
    unsigned x_n_step;                // elements of x from one tile of columns to the next
% endif
% if k.weighted:
    const ${b_type} *__restrict w;
% endif
% if k.bias:
    const ${bias_type} *__restrict bias;
% endif
% if k.border_bias:
    const int32 *__restrict bias_of;  // where each row's bias begins
% endif
% if k.row_bias:
    const int32 *__restrict row_sums; // a tile of addends for each tile of rows
% endif
% if k.resumes:
    const ${partial_type} *partial;      // a block's are read before y is stored, which may lie there
    unsigned partial_m_step;          // elements from one tile of rows to the next
    unsigned partial_n_step;          // from one tile of columns to the next
% endif
% if k.receives:
    input_cascade<${k.accumulator}> *from;
% endif
% if k.stores:
    ${y_type} *${'' if k.resumes and (r.form == 'none' or k.rounded) else '__restrict '}y;
    unsigned y_m_step;                // elements of y from one tile of rows to the next
    unsigned y_n_step;                // from one tile of columns to the next
    % if r.form == 'channel':
    const ${'int16' if r.narrow else 'int32'} *__restrict multiplier;
    % elif r.form == 'tensor':
    int32 multiplier;
    % endif
    % if r.form != 'none':
    int shift;
    % endif
    % if r.addend == 'channel' and r.scaled:
    const int32 *__restrict addend;
    % elif r.addend == 'tensor' and r.scaled:
    int addend;
    % elif r.scaled:
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
    % if up:
    int shift;
    % endif
% endif
    unsigned m_blocks;
% if not k.flat:
    unsigned k_steps;                 // at least ${k.drain_steps + k.refill_steps}
% endif
    unsigned n_blocks;
};

/// A block's place: along M and along N, in blocks.
struct Place {
    unsigned m, n;
};

MATCH_AIE_INLINE Place after(Place place, const Call &call) {
    const unsigned n = place.n + 1;
    return n == call.n_blocks ? Place{place.m + 1, 0} : Place{place.m, n};
}

/// What a block's sums start from.
% if k.receives:
MATCH_AIE_INLINE Sum start(const Call &call) {
    return Sum(readincr_v<size_c>(call.from));
}
% elif k.resumes:
MATCH_AIE_INLINE Sum start(const Call &call, unsigned tile_row, unsigned tile_column) {
    const ${partial_type} *tile = call.partial + tile_row * call.partial_m_step + tile_column * call.partial_n_step;
    % for p in range(size_c // part):
    const aie::accum<${k.accumulator}, ${part}> sums${p}(aie::load_v<${part}>(tile + ${p * part})${up});
    % endfor
    % if part == size_c:
    return Sum(sums0);
    % else:
    return Sum(aie::concat(${', '.join(f'sums{p}' for p in range(size_c // part))}));
    % endif
}
% elif k.bias:
MATCH_AIE_INLINE Sum start(const Call &call, ${'unsigned tile_row, ' if positioned else ''}unsigned tile_column) {
    const ${bias_type} *row = call.bias + tile_column * ${t.n};
    % for p in range(size_c // part if positioned else 1):
        % if part_rows == 1:
    auto rows${p} = ${bias_rows(p)[0]};
        % else:
    auto rows${p} = aie::concat(${', '.join(bias_rows(p))});
        % endif
        % if k.row_bias:
    rows${p} = aie::add(rows${p}, aie::load_v<${part}>(call.row_sums + tile_row * size_c + ${p * part}));
        % endif
    const aie::accum<${k.accumulator}, ${part}> sums${p}(rows${p});
    % endfor
    % if part == size_c:
    return Sum(sums0);
    % else:
    return Sum(aie::concat(${', '.join(f'sums{p if positioned else 0}' for p in range(size_c // part))}));
    % endif
}
% else:
MATCH_AIE_INLINE Sum start() {
    return Sum(aie::zeros<${k.accumulator}, size_c>());
}
% endif

/// Drains the sums that begin at (row, column) of block `place`.
MATCH_AIE_INLINE void drain(const aie::accum<${k.accumulator}, ${size_y}> &sum, const Call &call, Place place, unsigned row, unsigned column) {
% if k.stores:
    const unsigned tile_row = place.m * ${k.rows} + row;
    const unsigned tile_column = place.n * ${k.columns} + column;
    ${y_type} *to = call.y + tile_row * call.y_m_step + tile_column * call.y_n_step;
    % if r.scaled:
    const auto sums = sum.template to_vector<int32>(0);
        % if r.form == 'channel':
    const ${'int16' if r.narrow else 'int32'} *row_of = call.multiplier + tile_column * ${t.n};
            % if join == 1:
    const auto factor = ${together([f'aie::load_v<{t.n}>(row_of)'] * (16 // t.n))};
            % else:
    const auto factor = aie::load_v<16>(row_of);
            % endif
        % else:
    % if r.narrow:
    const auto factor = aie::broadcast<int16, 16>(static_cast<int16>(call.multiplier));
    % else:
    const auto factor = aie::broadcast<int32, 16>(call.multiplier);
    % endif
        % endif
        % if r.addend == 'channel':
    const int32 *addend_of = call.addend + tile_column * ${t.n};
            % if join == 1:
    const aie::accum<acc64, 16> addend(${together([f'aie::load_v<{t.n}>(addend_of)'] * (16 // t.n))});
            % else:
    const aie::accum<acc64, 16> addend(aie::load_v<16>(addend_of));
            % endif
        % elif r.addend == 'tensor':
    const aie::accum<acc64, 16> addend(aie::broadcast<int32, 16>(call.addend));
        % else:
    const aie::accum<acc64, 16> addend(aie::broadcast<int32, 16>(call.zero), call.shift);
        % endif
        % for p in range(size_y // 16):
    const auto wide${p} = aie::mac(addend, sums.template extract<16>(${p}), factor);
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

/// What the next step of a block reads.
struct Walk {
% for at in operands:
    const ${a_type} *__restrict ${a_name[at]};
% endfor
% if k.weighted:
    const ${b_type} *__restrict b;
% endif
% if k.gathered:
    const int32 *__restrict offset;
% endif
};

MATCH_AIE_INLINE Walk begin(const Call &call, Place place) {
    Walk at;
% for i, j in operands:
    % if k.gathered:
    at.${a_name[i, j]} = call.x + call.origins[place.m * ${k.rows} + ${i}]${'' if mmul else f' + (place.n * {k.columns} + {j}) * call.x_n_step'};
    % else:
    at.${a_name[i, j]} = call.x + (place.m * ${k.rows} + ${i}) * ${k_steps} * size_a;
    % endif
% endfor
% if k.weighted:
    at.b = call.w + place.n * ${k.columns} * ${'size_b' if mmul else f'{k_steps} * size_b'};
% endif
% if k.gathered:
    at.offset = call.offsets;
% endif
    return at;
}

% if k.carries:
/// What one step multiplies.
struct Operands {
    % for i in rows:
    aie::vector<${a_type}, size_a> a${i};
    % endfor
    % for j in columns:
    aie::vector<${b_type}, size_b> b${j};
    % endfor
};

MATCH_AIE_INLINE Operands fetch(Walk &at, const Call &call) {
    Operands o;
    % for i in rows:
    o.a${i} = aie::load_v<size_a>(at.a${i});
    at.a${i} += size_a;
    % endfor
    % for j in columns:
    o.b${j} = aie::load_v<size_b>(at.b${f' + {j} * size_b' if j else ''});
    % endfor
    at.b += call.n_blocks * ${k.columns} * size_b;
    return o;
}

MATCH_AIE_INLINE void multiply(Sums &c, const Operands &o) {
    % for i, j in cells:
    c.s${i}${j}.mac(o.a${i}, o.b${j});
    % endfor
}

% endif
/// One step: every accumulator of the block takes one product.
MATCH_AIE_INLINE void step(Sums &c, Walk &at, const Call &call) {
% if k.carries:
    multiply(c, fetch(at, call));
}
% else:
% if k.gathered:
    const int32 offset = *at.offset++;
% endif
% for at in operands:
    % if k.gathered:
    const auto ${a_name[at]} = aie::load_unaligned_v<size_a>(at.${a_name[at]} + offset, ${t.k if mmul else t.n});
    % else:
    const auto ${a_name[at]} = aie::load_v<size_a>(at.${a_name[at]});
    at.${a_name[at]} += size_a;
    % endif
% endfor
% for j in columns:
    % if not k.weighted:
    const auto b${j} = aie::broadcast<${b_type}, size_b>(1);
    % elif mmul:
    const auto b${j} = aie::load_v<size_b>(at.b${f' + {j} * size_b' if j else ''});
    % else:
    const auto b${j} = aie::load_v<size_b>(at.b${f' + {j} * {k_steps} * size_b' if j else ''});
    % endif
% endfor
% for i, j in cells:
    % if mmul:
    c.s${i}${j}.mac(a${i}, b${j});
    % else:
    c.s${i}${j} = aie::mac(c.s${i}${j}, a${i}${j}, b${j});
    % endif
% endfor
% if k.weighted:
    at.b += ${f'call.n_blocks * {k.columns} * size_b' if mmul else 'size_b'};
% endif
    (void)call;
}
% endif

% if k.flat and k.rest_steps:
/// So many steps, one after the other: there is no loop to set up.
template <unsigned count>
MATCH_AIE_INLINE void steps(Sums &c, Walk &at, const Call &call) {
    step(c, at, call);
    if constexpr (count > 1) steps<count - 1>(c, at, call);
}

% endif
/// Sums block `here` in `c`. With `drains`, the block `before` leaves `p` meanwhile; with
/// `refills`, `p` is then set to what block `next` starts from.
% if k.carries:
/// Its first step multiplies `first`, and `at` is where the others read.
template <bool drains, bool refills>
MATCH_AIE_INLINE void block(Sums &c, Sums &p, const Call &call, Place before, Walk at, Operands first, Place next) {
% else:
template <bool drains, bool refills>
MATCH_AIE_INLINE void block(Sums &c, Sums &p, const Call &call, Place before, Place here, Place next) {
    Walk at = begin(call, here);
% endif
% for units_now in drains:
    % if k.carries and loop.first:
    multiply(c, first);
    % else:
    step(c, at, call);
    % endif
    if constexpr (drains) {
    % for n in units_now:
        drain(${sums(units[n], 'p')}, call, before, ${units[n][0]}, ${units[n][1]});
    % endfor
    }
% endfor
% if k.flat and k.rest_steps:
    steps<${k.rest_steps}>(c, at, call);
% elif not k.flat:
    for (unsigned k = ${k.drain_steps + k.refill_steps}; k < call.k_steps; ++k) chess_prepare_for_pipelining {
        step(c, at, call);
    }
% endif
% for cells_now in refills:
    step(c, at, call);
    if constexpr (refills) {
    % for n in cells_now:
        p.s${cells[n][0]}${cells[n][1]} = ${start(*cells[n])};
    % endfor
    }
% endfor
% if not refills:
    if constexpr (refills) {
    % for i, j in cells:
        p.s${i}${j} = ${start(i, j)};
    % endfor
    }
% endif
    (void)before, (void)next;
}

MATCH_AIE_INLINE void drain_all(const Sums &p, const Call &call, Place place) {
% for unit in units:
    drain(${sums(unit, 'p')}, call, place, ${unit[0]}, ${unit[1]});
% endfor
}

% if k.carries:
template <bool drains, bool refills>
MATCH_AIE_INLINE void block(Sums &c, Sums &p, const Call &call, Place before, Place here, Place next) {
    Walk at = begin(call, here);
    const Operands first = fetch(at, call);
    block<drains, refills>(c, p, call, before, at, first, next);
}

/// So many calls, one after the other without an end between them: blocks along N first, then along
/// M. `go_on` hands one call's activations back and takes the next one's; the last block of a call
/// is drained in the first one of the next, then `hand_over` does so with its results. What the step
/// behind that multiplies is of activations that the call has, and loaded before.
template <typename GoOn, typename HandOver>
MATCH_AIE_INLINE void passes(Call call, unsigned count, GoOn &&go_on, HandOver &&hand_over) {
    const unsigned blocks = call.m_blocks * call.n_blocks;
    Sums even, odd;
    Place before{0, 0}, here{0, 0}, next = after(here, call);
    % for i, j in cells:
    even.s${i}${j} = ${start(i, j, 'here')};
    % endfor
    const auto advance = [&]() {
        before = here;
        here = next;
        next = after(next, call);
    };
    block<false, true>(even, odd, call, before, here, next);
    for (unsigned pass = 1;; ++pass) {
        advance();
        Walk at = begin(call, here);
        Operands first = fetch(at, call);
        if (pass > 1) hand_over(call);
        for (unsigned pair = 0; pair < (blocks - 2) / 2; ++pair) {
            block<true, true>(odd, even, call, before, at, first, next);
            advance();
            block<true, true>(even, odd, call, before, here, next);
            advance();
            at = begin(call, here);
            first = fetch(at, call);
        }
        if (pass == count) {
            block<true, false>(odd, even, call, before, at, first, next);
            drain_all(odd, call, here);
            return;
        }
        next = Place{0, 0};
        block<true, true>(odd, even, call, before, at, first, next);
        go_on(call);
        advance();
        block<true, true>(even, odd, call, before, here, next);
    }
}
% else:
/// The whole call: blocks along N first, then along M.
MATCH_AIE_INLINE void run(const Call &call) {
    const unsigned blocks = call.m_blocks * call.n_blocks;
    Sums even, odd;
    Place before{0, 0}, here{0, 0}, next = after(here, call);
% for i, j in cells:
    even.s${i}${j} = ${start(i, j, 'here')};
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
% endif

}  // namespace ${name}
