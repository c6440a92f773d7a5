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
from tvm import ir
from tvm.ir import prim

from match_aie.fallback.hiding import extern_name, with_calls, without_calls
from match_aie.fallback.schedule_blocks import is_choice

_NAMES: dict[type, str] = {prim.FloorDiv: "hidden_floordiv", prim.FloorMod: "hidden_floormod"}
_QUOTIENTS: dict[type, str] = {prim.Div: "hidden_div"}


def hidden(prim_func: Any) -> Any:
    """`prim_func` with calls in place of floor divisions, and remainders, of other than sums."""
    return with_calls(prim_func, _NAMES, lambda expr: not _is_plain(expr.a))


def shown(prim_func: Any) -> Any:
    """`prim_func` with the divisions that `hidden` took away."""
    return without_calls(prim_func, _NAMES)


def quotients_hidden(prim_func: Any) -> Any:
    """`prim_func` with calls in place of floating-point divisions by what is chosen."""
    return with_calls(
        prim_func, _QUOTIENTS, lambda expr: "float" in str(expr.ty.dtype) and _chooses(expr.b)
    )


def quotients_shown(prim_func: Any) -> Any:
    """`prim_func` with the divisions that `quotients_hidden` took away."""
    return without_calls(prim_func, _QUOTIENTS)


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
            found |= extern_name(expr) in _NAMES.values()

    kinds = (prim.Sub, prim.Add, prim.IntImm, ir.Call)
    tvm_ffi.structural_walk(dividend, [(kinds, note)])
    return not found
