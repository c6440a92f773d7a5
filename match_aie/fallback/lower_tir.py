"""From a scheduled PrimFunc to plain loops over flat buffers, ready to print."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import s_tir, tirx

#: Index arithmetic is narrowed to this width where TVM proves that it fits.
INDEX_BITS = 32


def _passes() -> list[Any]:
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
        tirx.transform.NarrowDataType(INDEX_BITS),
        s_tir.transform.LoopPartition(),
        tirx.transform.VectorizeLoop(False),
        s_tir.transform.HoistIfThenElse(),
        tirx.transform.UnrollLoop(),
        s_tir.transform.RenormalizeSplitPattern(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        s_tir.transform.RewriteUnsafeSelect(),
        tirx.transform.CommonSubexprElim(),
    ]


def lower(prim_func: Any) -> Any:
    """`prim_func` without blocks, with one-dimensional buffers.

    There is no `StorageRewrite` among the passes: it lets buffers of different element types
    share storage, which C forbids.
    """
    target = tvm.target.Target("c")
    named = prim_func.with_attr("global_symbol", "f").with_attr("target", target)
    module = tvm.ir.transform.Sequential(_passes())(tvm.IRModule({"f": named}))
    return module["f"]
