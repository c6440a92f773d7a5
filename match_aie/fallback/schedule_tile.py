"""Blocks sums: a tile of results stays in registers while the reduction runs outside of it.

The compiler vectorises over the results of a tile, and the order of every single sum is kept.
Where results lie apart in the operands, as those of a reduction along the last axis, some go side
by side, so that an addition need not wait for the one before.
"""

from __future__ import annotations

from math import prod
from typing import Any

import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import (
    REDUCTION,
    SPATIAL,
    attempt,
    extent,
    is_choice,
    mentions,
)

#: Results per tile along the vectorised axis, at most.
WIDEST = 64
#: The same where a tile has a single row (a matrix times a vector): long runs through memory.
WIDEST_ROW = 128
#: Rows of up to this many results may be a tile as a whole.
WHOLE_ROW = 4096
#: Rows of results per tile, at most.
TALLEST = 8
#: Results side by side that are worth a place of their own, at least.
FEWEST = 4
#: Terms of each of them at least: compilers unroll loops of fewer and make vectors over rows, where
#: sums go one after the other (up to six times as fast; gcc 12, Zen 4, other programs running).
SHORTEST = 9
#: Elements of a row that is read in order and written across, where runs of results are as long as
#: `LONG_RUN`. Floats 4 at a time take about 0.6 of the time, whole rows of 16 a quarter to a half
#: (gcc 12 and clang 14, Zen 4, other programs running). Other lengths may be slower.
WHOLE = (4, 8, 16, 3)
LONG_RUN = 32
#: Results per vector, vector registers for sums, and cycles of an addition, of a usual core.
LANES = 8
REGISTERS = 16
LATENCY = 4
#: Operands read at steps of up to this many elements along the columns still make a tile.
LARGEST_STRIDE = 2


def tile(sch: Any, block: Any, *, apart: bool = True) -> bool:
    """Block the sum `block` where its operands allow; whether that was done.

    `apart` tells whether results that lie apart in the operands go side by side.

    The tile's columns are the innermost axis of the result. Its rows are an axis on which the
    operands that change along the columns do not depend, so that every vector loaded serves all
    rows.
    """
    stmt = sch.get(block)
    loops = sch.get_loops(block)
    kinds = [int(axis.iter_type) for axis in stmt.iter_vars]
    if len(loops) != len(kinds) or not isinstance(stmt.body, tirx.BufferStore):
        return False
    wide = [i for i, loop in enumerate(loops) if kinds[i] == SPATIAL and extent(sch, loop) > 1]
    if not wide:
        return False
    if not _streams(stmt, wide[-1]):
        return apart and attempt(lambda: _side_by_side(sch, block, loops, loops[wide[-1]]))
    return attempt(lambda: _split(sch, block, wide[-1], _rows(stmt, wide)))


def _split(sch: Any, block: Any, columns: int, rows: int | None) -> None:
    """Split the axes `columns` and `rows`, and move the reduction between the halves."""
    stmt, loops = sch.get(block), sch.get_loops(block)
    kinds = [int(axis.iter_type) for axis in stmt.iter_vars]
    height = 1 if rows is None else extent(sch, loops[rows])
    tall, broad = _tile_shape(height, extent(sch, loops[columns]))
    column, lane = sch.split(loops[columns], [None, broad])
    outer, inner = [column], [lane]
    if rows is not None:
        row, line = sch.split(loops[rows], [None, tall])
        outer, inner = [column, row], [line, lane]
        sch.unroll(line)
    spatial = [i for i, kind in enumerate(kinds) if kind == SPATIAL and i not in (rows, columns)]
    reduction = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == REDUCTION]
    sch.reorder(*(loops[i] for i in spatial), *outer, *reduction, *inner)
    consumers = sch.get_consumers(block)
    if len(consumers) == 1 and _reads_always(sch.get(consumers[0]), stmt.body.buffer):
        if attempt(lambda: sch.reverse_compute_at(consumers[0], outer[-1])):
            return
    copy = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(copy, outer[-1])


def turn(sch: Any, block: Any) -> bool:
    """Read a transposed tensor along its rows, in short pieces; whether that was done.

    Written in order, a row of results takes an element of as many cache lines as it is long. Short
    pieces that are read in order write to a few lines, which the next piece goes on with, and
    compilers make vectors of them.
    """
    stmt, loops = sch.get(block), sch.get_loops(block)
    loads: list[Any] = []
    tvm_ffi.structural_walk(stmt.body, [(ir.TensorLoad, loads.append)])
    whole = isinstance(stmt.body, tirx.BufferStore) and len(loads) == 1
    if not whole or len(loops) != len(stmt.iter_vars) or not loads[0].indices:
        return False
    ends = (stmt.body.indices[-1], loads[0].indices[-1])
    found = [[i for i, axis in enumerate(stmt.iter_vars) if axis.var.same_as(end)] for end in ends]
    if not all(found) or found[0] == found[1]:
        return False
    (row,) = found[1]
    short, run = extent(sch, loops[row]), prod(extent(sch, loop) for loop in loops[row + 1 :])
    if run < LONG_RUN:
        return False
    if short in WHOLE:
        return attempt(lambda: sch.reorder(*loops[:row], *loops[row + 1 :], loops[row]))
    if short % WHOLE[0] or not str(stmt.body.value.ty.dtype).endswith(("32", "64")):
        return False
    return attempt(lambda: _in_parts(sch, loops, row))


def _in_parts(sch: Any, loops: list[Any], row: int) -> None:
    """The loop `row` innermost, a few of its iterations at a time."""
    outer, inner = sch.split(loops[row], [None, WHOLE[0]])
    sch.reorder(*loops[:row], outer, *loops[row + 1 :], inner)


def lies_apart(sch: Any, block: Any) -> bool:
    """Whether the results of the sum `block` are no neighbours in memory, or in its operands."""
    stmt = sch.get(block)
    wide = [axis for axis in stmt.iter_vars if int(axis.iter_type) == SPATIAL]
    wide = [axis for axis in wide if int(axis.dom.extent) > 1]
    return bool(wide) and isinstance(stmt.body, tirx.BufferStore) and not _along(stmt, wide[-1].var)


def beside(sch: Any, block: Any, outside: int) -> bool:
    """Put results of the sum `block` side by side, of loops behind the first `outside`.

    Whether there were `FEWEST` at least, and that was done. Inside of other loops they are few in
    all, and their sums short: whatever else a row needs is then kept for each of them.
    """
    loops = sch.get_loops(block)[outside:]
    if not all(isinstance(sch.get(loop).extent, prim.IntImm) for loop in loops):
        return False
    wide = [loop for loop in loops if not reduces(sch, loop) and extent(sch, loop) > 1]
    if not wide or together(extent(sch, wide[-1])) < FEWEST:
        return False
    rows, all_terms = (prod(extent(sch, loop) for loop in each) for each in (wide, loops))
    if all_terms < SHORTEST * rows:
        return False
    if outside and (rows > 2 * TALLEST or all_terms > WHOLE_ROW):
        return False
    return attempt(lambda: _side_by_side(sch, block, loops, wide[-1]))


def together(size: int) -> int:
    """Of so many results that lie apart, those that go side by side."""
    return max(_divisors(size, TALLEST))


def reduces(sch: Any, loop: Any) -> bool:
    """Whether `loop` runs over a reduction axis of a block inside it."""
    stmt = sch.get(loop)
    found = []

    def note(realize: Any) -> None:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if int(axis.iter_type) == REDUCTION and mentions(value, stmt.loop_var):
                found.append(axis)

    tvm_ffi.structural_walk(stmt.body, [(s_tir.SBlockRealize, note)])
    return bool(found)


def _side_by_side(sch: Any, block: Any, loops: list[Any], axis: Any) -> None:
    """Split the loop `axis`, one of `loops`, and move the reduction between the halves."""
    reduction = [loop for loop in loops if reduces(sch, loop)]
    spatial = [loop for loop in loops if not reduces(sch, loop)]
    inside = [loop for loop in spatial if not sch.get(loop).same_as(sch.get(axis))]
    outer, inner = sch.split(axis, [None, together(extent(sch, axis))])
    sch.unroll(inner)
    sch.reorder(*inside, outer, *reduction, inner)
    copy = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(copy, outer)


def _reads_always(consumer: Any, buffer: Any) -> bool:
    """Whether every element of `consumer` reads `buffer`.

    Moved to a tile, a consumer makes what it makes of that tile. A padding makes its border of
    nothing: it would never be written.
    """
    reads = [False]

    def note(load: Any) -> None:
        reads[0] |= load.source.same_as(buffer)

    def without_choices(node: Any) -> Any:
        choice = is_choice(node)
        return prim.IntImm("int32", 0) if choice else node

    if not isinstance(consumer.body, tirx.BufferStore):
        return False
    value = tvm_ffi.structural_map(consumer.body.value, without_choices)
    tvm_ffi.structural_walk(value, [(ir.TensorLoad, note)])
    return reads[0]


def _rows(stmt: Any, wide: list[int]) -> int | None:
    """The axis for the rows of a tile, out of the spatial axes `wide`."""
    column = stmt.iter_vars[wide[-1]].var
    vectors: list[Any] = []

    def note(load: Any) -> None:
        if any(mentions(index, column) for index in load.indices):
            vectors.append(load)

    tvm_ffi.structural_walk(stmt.body.value, [(ir.TensorLoad, note)])
    operands = [load for load in vectors if not load.source.same_as(stmt.body.buffer)]
    for axis in reversed(wide[:-1]):
        var = stmt.iter_vars[axis].var
        if not any(mentions(i, var) for load in operands for i in load.indices):
            return axis
    return wide[-2] if len(wide) > 1 else None


def _tile_shape(rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a tile: divisors of the extents that take the least time per result.

    >>> _tile_shape(128, 768), _tile_shape(64, 56), _tile_shape(1, 1200), _tile_shape(64, 14)
    ((4, 32), (2, 56), (1, 120), (8, 14))
    """
    if rows == 1:
        return 1, max(_divisors(columns, WIDEST_ROW), key=lambda n: (n % LANES == 0, n))
    widths = _divisors(columns, WIDEST)
    if columns <= WHOLE_ROW:  # a prime number of columns, say
        widths.append(columns)
    shapes = [(t, w) for t in _divisors(rows, TALLEST) for w in widths]
    return min(shapes, key=lambda shape: (_cycles(*shape), -shape[0] * shape[1]))


def _divisors(size: int, bound: int) -> list[int]:
    return [n for n in range(1, min(size, bound) + 1) if size % n == 0]


def _cycles(tall: int, broad: int) -> float:
    """Cycles per result and term of the sums: a rough model of a core with 16 vector registers.

    A multiplication and an addition start per cycle, an addition takes `LATENCY` cycles, loads
    mostly hide behind them, and sums that do not fit the registers are loaded and stored.
    """
    vectors = -(-broad // LANES)
    arithmetic = tall * vectors
    loads = (vectors + tall) / 2
    spilled = max(0, tall * vectors - REGISTERS)
    return (max(arithmetic, LATENCY) + loads / 8 + spilled) / (tall * broad)


def _streams(stmt: Any, axis: int) -> bool:
    """Whether neighbours along `axis` are neighbours in memory, in the result and the operands."""
    return _along(stmt, stmt.iter_vars[axis].var)


def _along(stmt: Any, var: Any) -> bool:
    verdict = [_steps_by_one(stmt.body.indices, var)]

    def note(load: Any) -> None:
        verdict.append(_steps_by_one(load.indices, var))

    tvm_ffi.structural_walk(stmt.body.value, [(ir.TensorLoad, note)])
    return all(verdict)


def _steps_by_one(indices: Any, var: Any) -> bool:
    """Whether `var` is absent from `indices`, or is added to the last one."""
    *outer, last = [*indices] or [None]  # a scalar has no indices
    return not any(mentions(i, var) for i in outer) and (last is None or _adds(last, var))


def _adds(index: Any, var: Any) -> bool:
    """Whether `var` takes part in `index` by additions only."""
    if not mentions(index, var) or index.same_as(var):
        return True
    if isinstance(index, prim.Add):
        parts = [index.a, index.b]
        return sum(mentions(p, var) for p in parts) == 1 and all(_adds(p, var) for p in parts)
    if isinstance(index, prim.Mul) and isinstance(index.b, prim.IntImm):
        return index.b.value <= LARGEST_STRIDE and _adds(index.a, var)
    return isinstance(index, prim.Sub) and not mentions(index.b, var) and _adds(index.a, var)
