"""Divides loops whose variable is read by its quotient and its remainder.

A reshape after a transpose asks for every element of a row of 768 which of 12 blocks of 64 it
lies in. As two loops, over blocks and inside of one, it asks nothing: what is copied is in runs.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.statements import Rewriter, rewritten, substituted, with_body

#: The inner loop has as many iterations at least: fewer are no runs worth a loop.
LEAST = 8


def nest_loops(prim_func: Any) -> Any:
    """`prim_func` with loops divided, not yet simplified; the order of execution is the same."""
    return rewritten(prim_func, _Nester().statement)


class _Nester(Rewriter):
    def loop(self, stmt: Any) -> Any:
        bounds = (stmt.min, stmt.extent)
        if not all(isinstance(bound, prim.IntImm) for bound in bounds) or int(stmt.min):
            return super().loop(stmt)
        inner = _divisor(stmt, int(stmt.extent))
        if not inner:
            return super().loop(stmt)
        dtype = str(stmt.loop_var.ty.dtype)
        outer_var, inner_var = (ir.Var(stmt.loop_var.name, stmt.loop_var.ty) for _ in range(2))
        size = prim.IntImm(dtype, inner)
        body = substituted(stmt.body, stmt.loop_var, outer_var * size + inner_var)
        zero, times = prim.IntImm(dtype, 0), prim.IntImm(dtype, int(stmt.extent) // inner)
        inside = tirx.For(inner_var, zero, size, stmt.kind, body)
        outside = tirx.For(outer_var, zero, times, stmt.kind, inside)
        self.enter(outside)
        return with_body(outside, self.loop(inside))


def _divisor(stmt: Any, extent: int) -> int:
    """The largest divisor of `extent` that the loop's variable is divided by; 0 for none."""
    found = [0]

    def note(expr: Any) -> None:
        if expr.a.same_as(stmt.loop_var) and isinstance(expr.b, prim.IntImm):
            by = int(expr.b)
            if LEAST <= by < extent and extent % by == 0:
                found.append(by)

    tvm_ffi.structural_walk(stmt.body, [((prim.FloorDiv, prim.FloorMod), note)])
    return max(found)
