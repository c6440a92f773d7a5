"""Inlines elementwise producers into what reads them, where that computes nothing much twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import SPATIAL, attempt, is_sum, volume

#: A producer of plain arithmetic may be computed this many times rather than stored.
MOST_REPEATS = 4

#: Parts of the expression of a block that a producer was inlined into more than once. Where values
#: are read twice along a chain, every operator would double or nearly double what is printed.
MOST_PARTS = 512


def inline(sch: Any, block: Any) -> None:
    """Inline a block into its consumers where that is no more work."""
    consumers = sch.get_consumers(block)
    stmt = sch.get(block)
    if not consumers or not _is_elementwise(stmt):
        return
    own = volume(sch, block)
    repeats = sum(volume(sch, consumer) for consumer in consumers) / max(1, own)
    into_sum = any(is_sum(sch, consumer) for consumer in consumers)
    work = _work(stmt)
    # One element is the same for all that read it: compilers take it out of their loops. Stored, it
    # would stand between a sum and what is made of it.
    few = repeats <= MOST_REPEATS or own == 1
    worthwhile = (
        repeats <= 1
        or _is_copy(stmt)
        or (not into_sum and not work.costly and (not work.arithmetic or few))
    )
    if worthwhile and _stays_small(sch, stmt, consumers):
        attempt(lambda: sch.compute_inline(block))


def _stays_small(sch: Any, stmt: Any, consumers: list[Any]) -> bool:
    """Whether the block's result is read once, or consumers are short with it inlined."""
    made = stmt.writes[0].source
    own = _loads_and_parts(stmt.body, made)[1]
    found = [_loads_and_parts(sch.get(consumer).body, made) for consumer in consumers]
    longest = max(parts + loads * own for loads, parts in found)
    return sum(loads for loads, _ in found) <= 1 or longest <= MOST_PARTS


def _loads_and_parts(body: Any, buffer: Any) -> tuple[int, int]:
    """How often `body` loads from `buffer`, and of how many expressions it consists."""
    loads = parts = 0

    def load(node: Any) -> None:
        nonlocal loads
        loads += node.source.same_as(buffer)

    def part(_node: Any) -> None:
        nonlocal parts
        parts += 1

    tvm_ffi.structural_walk(body, [(ir.TensorLoad, load), (ir.Expr, part)])
    return loads, parts


def _is_copy(stmt: Any) -> bool:
    """Whether a block repeats a tensor as it is (a padding by nothing)."""
    store = stmt.body
    if not isinstance(store, tirx.BufferStore) or not isinstance(store.value, ir.TensorLoad):
        return False
    here, there = list(store.indices), list(store.value.indices)
    same = len(here) == len(there) and all(a.same_as(b) for a, b in zip(here, there, strict=True))
    return same and all(isinstance(index, ir.Var) for index in here)


def _is_elementwise(stmt: Any) -> bool:
    kinds = [int(axis.iter_type) for axis in stmt.iter_vars]
    return all(kind == SPATIAL for kind in kinds) and stmt.init is None


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
