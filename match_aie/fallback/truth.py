"""Comparisons that say little: of truth values as numbers, and with the end of a type's range.

Operators that take any number for a condition widen it and compare it with a constant:
`0 < (int64)(a < b)`. That is one comparison, and is printed as one. An unsigned number below 0 is
none: compilers warn of such comparisons.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi
from tvm.ir import prim

from match_aie.fallback.statements import rewritten

_HOLDS: dict[type, Callable[[float, float], bool]] = {
    prim.EQ: operator.eq,
    prim.NE: operator.ne,
    prim.LT: operator.lt,
    prim.LE: operator.le,
    prim.GT: operator.gt,
    prim.GE: operator.ge,
}


def plain_conditions(prim_func: Any) -> Any:
    """`prim_func` without comparisons that a constant decides, or of a widened truth value."""
    callbacks = [(tuple(_HOLDS), _comparison), (prim.Cast, _cast), (prim.Select, _chosen)]
    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, callbacks))


def _comparison(expr: Any) -> Any:
    """The condition itself, its opposite, or a constant: what the comparison says of 0 and 1."""
    holds = _HOLDS[type(expr)]
    left, right = _widened(expr.a), _widened(expr.b)
    if left is not None and isinstance(expr.b, prim.IntImm | prim.FloatImm):
        return _by_table(left, holds(0, expr.b.value), holds(1, expr.b.value))
    if right is not None and isinstance(expr.a, prim.IntImm | prim.FloatImm):
        return _by_table(right, holds(expr.a.value, 0), holds(expr.a.value, 1))
    known = _at_the_end(expr, holds)
    return expr if known is None else prim.IntImm("bool", int(known))


def _at_the_end(expr: Any, holds: Callable[[float, float], bool]) -> bool | None:
    """What a comparison of integers is, whatever the other operand; None where that decides."""
    dtype = np.dtype(str(expr.a.ty.dtype))
    if dtype.kind not in "iu":
        return None
    ends = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if isinstance(expr.b, prim.IntImm):
        results = {holds(end, expr.b.value) for end in (*ends, expr.b.value)}
    elif isinstance(expr.a, prim.IntImm):
        results = {holds(expr.a.value, end) for end in (*ends, expr.a.value)}
    else:
        return None
    return results.pop() if len(results) == 1 else None


def _by_table(condition: Any, if_false: bool, if_true: bool) -> Any:
    if if_false == if_true:
        return prim.IntImm("bool", int(if_true))
    return condition if if_true else prim.Not(condition)


def _cast(expr: Any) -> Any:
    """A truth value made a number and a truth value again is itself."""
    inner = _widened(expr.value)
    return inner if str(expr.ty.dtype) == "bool" and inner is not None else expr


def _chosen(expr: Any) -> Any:
    """A choice of the same is no choice, nor is one by a constant."""
    if isinstance(expr.condition, prim.IntImm):
        return expr.true_value if expr.condition.value else expr.false_value
    return expr.true_value if tvm_ffi.structural_equal(expr.true_value, expr.false_value) else expr


def _widened(expr: Any) -> Any | None:
    """The truth value that `expr` is as a number, or None."""
    while isinstance(expr, prim.Cast):
        expr = expr.value
        if str(expr.ty.dtype) == "bool":
            return expr
    return None
