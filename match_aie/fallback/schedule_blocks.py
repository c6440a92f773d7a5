"""What the parts of the default schedule ask of a block, and how they change it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir
from tvm.ir import prim

#: What TVM raises where a transformation does not apply; it checks before it changes anything.
REFUSALS = (s_tir.ScheduleError, ValueError, tvm.error.InternalError)

#: Kinds of a block's axes.
SPATIAL = 0
REDUCTION = 2


def attempt(transformation: Callable[[], Any]) -> bool:
    """Whether TVM accepted `transformation`; a refused one leaves the schedule as it was."""
    try:
        transformation()
    except REFUSALS:
        return False
    return True


def is_sum(sch: Any, block: Any) -> bool:
    """Whether a block reduces (sums, or takes the largest) along an axis."""
    return any(int(axis.iter_type) == REDUCTION for axis in sch.get(block).iter_vars)


def volume(sch: Any, block: Any) -> float:
    """How often the body of a block runs; infinite where a loop's extent is no constant.

    A block that was moved into another one's loops has such loops where it is needed less often
    at an edge.
    """
    extents = [sch.get(loop).extent for loop in sch.get_loops(block)]
    if not all(isinstance(extent, prim.IntImm) for extent in extents):
        return inf
    return prod(int(extent) for extent in extents)


def extent(sch: Any, loop: Any) -> int:
    """Iterations of a loop."""
    return int(sch.get(loop).extent)


def mentions(expr: Any, var: Any) -> bool:
    """Whether `expr` depends on `var`."""
    found = []

    def note(node: Any) -> None:
        if node.same_as(var):
            found.append(node)

    tvm_ffi.structural_walk(expr, [(ir.Var, note)])
    return bool(found)


def is_choice(expr: Any) -> bool:
    """Whether `expr` gives one of two values by a condition."""
    if isinstance(expr, ir.Call):
        return str(getattr(expr.op, "name", "")).endswith("if_then_else")
    return isinstance(expr, prim.Select)


def choice(expr: Any) -> tuple[Any, Any, Any]:
    """Condition and both values of what `is_choice` says yes to."""
    if isinstance(expr, ir.Call):
        condition, yes, no = expr.args
        return condition, yes, no
    return expr.condition, expr.true_value, expr.false_value
