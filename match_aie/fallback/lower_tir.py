"""From a scheduled PrimFunc to plain loops over flat buffers, ready to print."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx

from match_aie.fallback.divisions import hidden, quotients_hidden, quotients_shown, shown
from match_aie.fallback.loads import unconditional_loads
from match_aie.fallback.nested_loops import nest_loops
from match_aie.fallback.split_loops import split_loops
from match_aie.fallback.truth import plain_conditions
from match_aie.fallback.wrapping import sums_hidden, sums_shown

#: Index arithmetic is narrowed to this width where TVM proves that it fits.
INDEX_BITS = 32


def _to_flat_buffers() -> list[Any]:
    return [
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        tirx.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
    ]


def _to_plain_loops() -> list[Any]:
    return [
        tirx.transform.NarrowDataType(INDEX_BITS),
        s_tir.transform.LoopPartition(),
        tirx.transform.VectorizeLoop(False),
        s_tir.transform.HoistIfThenElse(),
        tirx.transform.UnrollLoop(),
        s_tir.transform.RenormalizeSplitPattern(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        s_tir.transform.RewriteUnsafeSelect(),
    ]


def _for_compilers(prim_func: Any) -> Any:
    """The same in forms that C compilers translate well, and none of them wrongly."""
    prim_func = split_loops(nest_loops(prim_func))
    passes = [
        tirx.transform.ConvertSSA(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
    ]
    return _run(prim_func, passes)


def lower(prim_func: Any) -> Any:
    """`prim_func` without blocks, with one-dimensional buffers.

    There is no `StorageRewrite` among the passes: it lets buffers of different element types
    share storage, which C forbids.
    """
    target = tvm.target.Target("c")
    named = prim_func.with_attr("global_symbol", "f").with_attr("target", target)
    known = sums_hidden(quotients_hidden(plain_conditions(named)))
    flat = shown(_run(hidden(known), _to_flat_buffers()))
    lowered = sums_shown(quotients_shown(_for_compilers(_run(flat, _to_plain_loops()))))
    lowered = unconditional_loads(lowered)
    lowered = _run(lowered, [tirx.transform.CommonSubexprElim()])
    while True:
        dead = _dead_buffers(lowered)
        if not dead:
            return lowered
        lowered = _without_stores(lowered, dead)


def _run(prim_func: Any, passes: list[Any]) -> Any:
    return tvm.ir.transform.Sequential(passes)(tvm.IRModule({"f": prim_func}))["f"]


def _dead_buffers(prim_func: Any) -> frozenset[Any]:
    """Buffers that are written but not read, except to update themselves."""
    roots = _Roots(prim_func)
    stored: set[Any] = set()
    loaded: set[Any] = set()

    def note_store(store: Any) -> None:
        root = roots.of(store.buffer)
        stored.add(root)
        for part in (store.value, *store.indices):
            note_loads(part, root)

    def note_loads(expr: Any, own: Any) -> None:
        def note(load: Any) -> None:
            root = roots.of(load.source)
            if own is None or not root.same_as(own):
                loaded.add(root)

        tvm_ffi.structural_walk(expr, [(tvm.ir.TensorLoad, note)])

    def note_others(stmt: Any) -> None:
        for expr in _conditions(stmt):
            note_loads(expr, None)

    others = (tirx.Bind, tirx.IfThenElse, tirx.While, tirx.For, tirx.Evaluate)
    callbacks = [(tirx.BufferStore, note_store), (others, note_others)]
    tvm_ffi.structural_walk(prim_func.body, callbacks)
    return frozenset(stored - loaded - set(prim_func.params))


def _conditions(stmt: Any) -> tuple[Any, ...]:
    """Expressions of a statement other than a store."""
    if isinstance(stmt, tirx.For):
        return (stmt.min, stmt.extent)
    return (stmt.condition,) if hasattr(stmt, "condition") else (stmt.value,)


def _without_stores(prim_func: Any, dead: frozenset[Any]) -> Any:
    roots = _Roots(prim_func)

    def remove(stmt: Any) -> Any:
        if isinstance(stmt, tirx.BufferStore) and roots.of(stmt.buffer) in dead:
            return tirx.Evaluate(0)
        return stmt

    body = tvm_ffi.structural_map(prim_func.body, remove)
    cleaned = tirx.PrimFunc(prim_func.params, body, prim_func.ret_type, prim_func.attrs)
    return tirx.transform.RemoveNoOp()(tvm.IRModule({"f": cleaned}))["f"]


class _Roots:
    """Which buffer holds the elements of a view."""

    def __init__(self, prim_func: Any) -> None:
        self._parents: dict[Any, Any] = {}

        def note(view: Any) -> None:
            self._parents[view.buffer] = view.data.args[0]

        tvm_ffi.structural_walk(prim_func.body, [(tirx.DeclBuffer, note)])

    def of(self, buffer: Any) -> Any:
        while buffer in self._parents:
            buffer = self._parents[buffer]
        return buffer
