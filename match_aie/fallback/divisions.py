"""Divisions, hidden from the passes of TVM that rewrite them wrongly.

TVM's iterator maps (`tvm.sym.iter_map_simplify`, release 0.27) change the meaning of a division
whose dividend descends or has an offset: for i in 0..33 they make `(16 - i) % 17` to
`i % -17 * -1`, and `(9 + i % 4) // 2` to `(i + 1) % 4 // 2 + 4`. `FlattenBuffer` applies them to
every index, and `CompactBufferAllocation` sizes buffers by them. Between `hidden` and `shown` such
divisions are calls that no pass looks into; what of them may be simplified is left to TVM's
analyzer, which comes after. Divisions of plain sums of loops stay as they are: the maps are right
for them, and buffers would be larger without.

TVM's analyzer refuses a floating-point division whose divisor becomes the constant 0 where a choice
is decided, as in `select(i < j, x, 0) / select(i < j, x, 0)`: such divisions are hidden, between
`quotients_hidden` and `quotients_shown`, while loops are divided and simplified.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import is_choice
from match_aie.fallback.statements import rewritten

_NAMES: dict[type, str] = {prim.FloorDiv: "hidden_floordiv", prim.FloorMod: "hidden_floormod"}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_QUOTIENT = "hidden_div"


def hidden(prim_func: Any) -> Any:
    """`prim_func` with calls in place of floor divisions, and remainders, of other than sums."""

    def hide(expr: Any) -> Any:
        if _is_plain(expr.a):
            return expr
        return tirx.call_pure_extern(expr.ty, _NAMES[type(expr)], expr.a, expr.b)

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(tuple(_NAMES), hide)]))


def shown(prim_func: Any) -> Any:
    """`prim_func` with the divisions that `hidden` took away."""

    def show(call: Any) -> Any:
        kind = _KINDS.get(extern_name(call))
        return call if kind is None else kind(call.args[1], call.args[2])

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(ir.Call, show)]))


def quotients_hidden(prim_func: Any) -> Any:
    """`prim_func` with calls in place of floating-point divisions by what is chosen."""

    def hide(expr: Any) -> Any:
        if "float" not in str(expr.ty.dtype) or not _chooses(expr.b):
            return expr
        return tirx.call_pure_extern(expr.ty, _QUOTIENT, expr.a, expr.b)

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(prim.Div, hide)]))


def quotients_shown(prim_func: Any) -> Any:
    """`prim_func` with the divisions that `quotients_hidden` took away."""

    def show(call: Any) -> Any:
        return prim.Div(*call.args[1:]) if extern_name(call) == _QUOTIENT else call

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(ir.Call, show)]))


def _chooses(expr: Any) -> bool:
    """Whether an expression holds a choice."""
    found = False

    def note(part: Any) -> None:
        nonlocal found
        found |= is_choice(part)

    tvm_ffi.structural_walk(expr, [((prim.Select, ir.Call), note)])
    return found


def _is_plain(dividend: Any) -> bool:
    """Whether a dividend grows with everything in it, from 0."""
    found = False

    def note(expr: Any) -> None:
        nonlocal found
        if isinstance(expr, prim.Sub):
            found = True
        elif isinstance(expr, prim.Add):
            found |= isinstance(expr.a, prim.IntImm) or isinstance(expr.b, prim.IntImm)
        elif isinstance(expr, prim.IntImm):
            found |= expr.value < 0
        else:  # a division hidden already
            found |= extern_name(expr) in _KINDS

    kinds = (prim.Sub, prim.Add, prim.IntImm, ir.Call)
    tvm_ffi.structural_walk(dividend, [(kinds, note)])
    return not found


def extern_name(call: Any) -> str:
    """The name of the C function that a call is of, or an empty string."""
    if str(getattr(call.op, "name", "")).split(".")[-1] != "call_pure_extern":
        return ""
    return str(call.args[0].value)
