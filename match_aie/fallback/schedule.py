"""The default schedule of a PrimFunc: what stands between TVM's loops and usable C.

Unscheduled, every operator of a fused function fills a temporary of its own, and a sum is
initialised by a test in its innermost loop. Here elementwise producers are inlined where that
computes nothing twice, and sums are blocked: a tile of results stays in registers while the
reduction runs outside of it, so that the compiler vectorises over results and keeps the order of
every single sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir import prim

#: Results per tile along the vectorised axis, at most; a multiple of any vector length.
WIDEST = 32
#: The same where a tile has a single row (a matrix times a vector): long runs through memory.
WIDEST_ROW = 256
#: Rows of results per tile, at most.
TALLEST = 4
#: A producer of plain arithmetic may be computed this many times rather than stored.
MOST_REPEATS = 4

#: What TVM raises where a transformation does not apply; it checks before it changes anything.
_REFUSALS = (s_tir.ScheduleError, ValueError, tvm.error.InternalError)

_SPATIAL = 0
_REDUCTION = 2


def schedule(prim_func: Any) -> Any:
    """`prim_func` with better loops and the same results.

    Where TVM refuses a transformation, that block stays as it was.
    """
    named = prim_func.with_attr("global_symbol", "main")
    sch = s_tir.Schedule(named, error_render_level="none")
    try:
        root = sch.get_sblock("root")
    except s_tir.ScheduleError:  # loops written by hand, without blocks
        return prim_func
    for block in sch.get_child_blocks(root):
        _inline(sch, block)
    for block in sch.get_child_blocks(root):
        if _is_sum(sch, block):
            _block_sum(sch, block)
    return sch.mod["main"]


# Inlining.


@dataclass
class _Work:
    """What a block computes per element.

    Attributes:
        arithmetic: more than moving and casting.
        costly: calls, divisions or decisions.
    """

    arithmetic: bool = False
    costly: bool = False


def _work(block: Any) -> _Work:
    work = _Work()

    def is_arithmetic(_node: Any) -> None:
        work.arithmetic = True

    def is_costly(_node: Any) -> None:
        work.costly = True

    store = block.body
    if not isinstance(store, tirx.BufferStore):
        return _Work(True, True)
    plain = (prim.Add, prim.Sub, prim.Mul, prim.Max, prim.Min)
    costly = (ir.Call, prim.Div, prim.FloorDiv, prim.FloorMod, prim.Select)
    # Indices do not count: only what becomes of the values.
    value = tvm_ffi.structural_map(store.value, _without_indices)
    tvm_ffi.structural_walk(value, [(plain, is_arithmetic), (costly, is_costly)])
    return work


def _without_indices(node: Any) -> Any:
    return prim.IntImm("int32", 0) if isinstance(node, ir.TensorLoad) else node


def _inline(sch: Any, block: Any) -> None:
    """Inline a block into its consumers where that is no more work."""
    consumers = sch.get_consumers(block)
    stmt = sch.get(block)
    if not consumers or not _is_elementwise(stmt):
        return
    own = _volume(sch, block)
    repeats = sum(_volume(sch, consumer) for consumer in consumers) / max(1, own)
    into_sum = any(_is_sum(sch, consumer) for consumer in consumers)
    work = _work(stmt)
    worthwhile = repeats <= 1 or (
        not into_sum and not work.costly and (not work.arithmetic or repeats <= MOST_REPEATS)
    )
    if worthwhile:
        _attempt(lambda: sch.compute_inline(block))


def _is_elementwise(stmt: Any) -> bool:
    kinds = [int(axis.iter_type) for axis in stmt.iter_vars]
    return all(kind == _SPATIAL for kind in kinds) and stmt.init is None


def _is_sum(sch: Any, block: Any) -> bool:
    return any(int(axis.iter_type) == _REDUCTION for axis in sch.get(block).iter_vars)


def _volume(sch: Any, block: Any) -> int:
    return prod(int(sch.get(loop).extent) for loop in sch.get_loops(block))


def _attempt(transformation: Any) -> bool:
    """Whether TVM accepted `transformation`; a refused one leaves the schedule as it was."""
    try:
        transformation()
    except _REFUSALS:
        return False
    return True


# Sums.


def _block_sum(sch: Any, block: Any) -> None:
    """Keep a tile of sums in registers, and initialise it before the reduction."""
    stmt = sch.get(block)
    loops = sch.get_loops(block)
    kinds = [int(axis.iter_type) for axis in stmt.iter_vars]
    if len(loops) != len(kinds):
        return
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == _SPATIAL]
    reduction = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == _REDUCTION]
    wide = [i for i, loop in enumerate(loops) if kinds[i] == _SPATIAL and _extent(sch, loop) > 1]
    if wide and isinstance(stmt.body, tirx.BufferStore) and _streams(stmt, wide[-1]):
        _attempt(lambda: _tile(sch, block, spatial, [loops[i] for i in wide], reduction))
    _attempt(lambda: sch.decompose_reduction(block, reduction[0]))


def _tile(sch: Any, block: Any, spatial: list[Any], wide: list[Any], reduction: list[Any]) -> None:
    consumers = sch.get_consumers(block)
    rows = wide[-2] if len(wide) > 1 else None
    columns = wide[-1]
    tall = 1 if rows is None else _largest_divisor(_extent(sch, rows), TALLEST)
    widest = WIDEST if tall > 1 else WIDEST_ROW
    column, lane = sch.split(columns, [None, _largest_divisor(_extent(sch, columns), widest)])
    inner = [lane]
    outer = [column]
    if rows is not None:
        row, line = sch.split(rows, [None, tall])
        inner, outer = [line, lane], [row, column]
        sch.unroll(line)
    rest = [loop for loop in spatial if not (loop.same_as(rows) or loop.same_as(columns))]
    sch.reorder(*rest, *outer, *reduction, *inner)
    if len(consumers) == 1 and _attempt(lambda: sch.reverse_compute_at(consumers[0], column)):
        return
    copy = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(copy, column)


def _extent(sch: Any, loop: Any) -> int:
    return int(sch.get(loop).extent)


def _largest_divisor(size: int, bound: int) -> int:
    """The largest divisor of `size` up to `bound`; multiples of 8 first.

    >>> _largest_divisor(56, 32), _largest_divisor(14, 32), _largest_divisor(768, 32)
    (8, 14, 32)
    """
    divisors = [n for n in range(1, min(size, bound) + 1) if size % n == 0]
    return max(divisors, key=lambda n: (n % 8 == 0, n))


def _streams(stmt: Any, axis: int) -> bool:
    """Whether neighbours along `axis` are neighbours in memory, in the result and the operands."""
    var = stmt.iter_vars[axis].var
    verdict = [_steps_by_one(stmt.body.indices, var)]

    def note(load: Any) -> None:
        verdict.append(_steps_by_one(load.indices, var))

    tvm_ffi.structural_walk(stmt.body.value, [(ir.TensorLoad, note)])
    return all(verdict)


def _steps_by_one(indices: Any, var: Any) -> bool:
    """Whether `var` is absent from `indices`, or is added to the last one."""
    return not any(_mentions(i, var) for i in list(indices)[:-1]) and _adds(indices[-1], var)


def _adds(index: Any, var: Any) -> bool:
    if not _mentions(index, var) or index.same_as(var):
        return True
    if isinstance(index, prim.Add):
        parts = [index.a, index.b]
        return sum(_mentions(p, var) for p in parts) == 1 and all(_adds(p, var) for p in parts)
    return isinstance(index, prim.Sub) and not _mentions(index.b, var) and _adds(index.a, var)


def _mentions(expr: Any, var: Any) -> bool:
    found = []

    def note(node: Any) -> None:
        if node.same_as(var):
            found.append(node)

    tvm_ffi.structural_walk(expr, [(ir.Var, note)])
    return bool(found)
