"""Loads ahead of the choices between them.

`inside ? x[i] : 0` is a conditional load. Compilers vectorise those with masks, and gcc 12 gets the
masks wrong where it has unrolled a loop inside (at -O3, with AVX2 and AVX-512). Here every load is
made first, whatever the condition will say, from an index kept within the buffer.
"""

from __future__ import annotations

from math import prod
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import choice, is_choice
from match_aie.fallback.statements import Rewriter, holds, rewritten, sequence


def unconditional_loads(prim_func: Any) -> Any:
    """`prim_func` with no load that depends on a condition within an expression.

    Raises nothing: a load from a buffer without elements, and one in the condition of a `while`
    loop, stay where they are.
    """
    return rewritten(prim_func, _Hoister().statement)


class _Hoister(Rewriter):
    def leaf(self, stmt: Any) -> Any:
        if not isinstance(stmt, tirx.BufferStore | tirx.Bind):
            return stmt
        loads = _Loads(self.analyzer)
        value = loads.ahead_of(stmt.value)
        if isinstance(stmt, tirx.Bind):
            return sequence([*loads.made, tirx.Bind(stmt.var, value)])
        return sequence([*loads.made, tirx.BufferStore(stmt.buffer, value, stmt.indices)])

    def branch(self, stmt: Any) -> Any:
        store = _chosen_store(stmt)
        if store is not None:
            return self.leaf(store)
        loads = _Loads(self.analyzer)
        condition = loads.ahead_of(stmt.condition)
        inner = super().branch(stmt)
        made = tirx.IfThenElse(condition, inner.then_case, inner.else_case)
        return sequence([*loads.made, made])


def _chosen_store(stmt: Any) -> Any | None:
    """An `if` whose sides store to one place, as a store of a choice."""
    then, other = stmt.then_case, stmt.else_case
    if not all(isinstance(side, tirx.BufferStore) for side in (then, other)):
        return None
    same = then.buffer.same_as(other.buffer) and all(
        tvm_ffi.structural_equal(a, b) for a, b in zip(then.indices, other.indices, strict=True)
    )
    if not same:
        return None
    value = tirx.if_then_else(stmt.condition, then.value, other.value)
    return tirx.BufferStore(then.buffer, value, then.indices)


class _Loads:
    """Moves the loads of one statement that chooses into definitions ahead of it.

    Attributes:
        made: the definitions, in order.
    """

    def __init__(self, analyzer: Any) -> None:
        self._analyzer = analyzer
        self._known: list[tuple[Any, Any]] = []
        self.made: list[Any] = []

    def ahead_of(self, expr: Any) -> Any:
        """`expr` in terms of the definitions; itself where no load depends on a choice."""
        if not _loads_by_choice(expr):
            return expr
        return tvm_ffi.structural_map(expr, [(ir.TensorLoad, self._defined)])

    def _defined(self, load: Any) -> Any:
        """The variable that holds what `load` reads."""
        size = prod(int(extent) for extent in load.source.ty.shape)
        if len(load.indices) != 1 or not size:
            return load
        inside = self._inside(load.indices[0], size)
        for known, var in self._known:
            if known.source.same_as(load.source) and tvm_ffi.structural_equal(
                known.indices[0], inside
            ):
                return var
        made = load.source[inside]
        var = ir.Var("x", made.ty)
        self._known.append((made, var))
        self.made.append(tirx.Bind(var, made))
        return var

    def _inside(self, index: Any, size: int) -> Any:
        """`index`, or the nearest place of a buffer of `size` elements."""
        bound = self._analyzer.const_int_bound(index)
        dtype = str(index.ty.dtype)
        if bound.max_value >= size:
            index = prim.Min(index, prim.IntImm(dtype, size - 1))
        if bound.min_value < 0:
            index = prim.Max(index, prim.IntImm(dtype, 0))
        return index


def _loads_by_choice(expr: Any) -> bool:
    """Whether `expr` loads in some cases only."""
    found: list[Any] = []

    def note(node: Any) -> None:
        parts: tuple[Any, ...] = (node.b,) if isinstance(node, prim.And | prim.Or) else ()
        if is_choice(node):
            parts = choice(node)[1:]
        found.extend(part for part in parts if holds(part, ir.TensorLoad))

    tvm_ffi.structural_walk(expr, [((prim.Select, ir.Call, prim.And, prim.Or), note)])
    return bool(found)
