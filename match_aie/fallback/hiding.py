"""Operations as calls of C functions that do not exist, so that no pass of TVM looks into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm_ffi
from tvm import ir, tirx

from match_aie.fallback.statements import rewritten


def with_calls(prim_func: Any, names: Mapping[type, str], hides: Callable[[Any], bool]) -> Any:
    """`prim_func` with calls in place of operations of two operands.

    Args:
        prim_func: as TVM has it.
        names: kinds of operations, and what each is called meanwhile.
        hides: whether one of these is hidden; it is asked operands first.
    """

    def hide(expr: Any) -> Any:
        if not hides(expr):
            return expr
        return tirx.call_pure_extern(expr.ty, names[type(expr)], expr.a, expr.b)

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(tuple(names), hide)]))


def without_calls(prim_func: Any, names: Mapping[type, str]) -> Any:
    """`prim_func` with the operations that `with_calls` took away under these names."""
    kinds = {name: kind for kind, name in names.items()}

    def show(call: Any) -> Any:
        kind = kinds.get(extern_name(call))
        return call if kind is None else kind(*call.args[1:])

    return rewritten(prim_func, lambda body: tvm_ffi.structural_map(body, [(ir.Call, show)]))


def extern_name(call: Any) -> str:
    """The name of the C function that a call is of, or an empty string."""
    if str(getattr(call.op, "name", "")).split(".")[-1] != "call_pure_extern":
        return ""
    return str(call.args[0].value)
