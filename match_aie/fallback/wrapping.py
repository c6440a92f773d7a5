"""Operations on elements of tensors, hidden from passes of TVM that take numbers for indices.

Integers of a network wrap around, as they do in ONNX Runtime. TVM's analyzer takes every integer
for an index, which never overflows: of `x + 1 > x` it makes `true`, of `x * 2 / 2` it makes `x`,
and of unsigned ones it makes numbers below 0, which it refuses. Of floats it makes `x >= 1` from
`!(x < 1)`, and 0 from `x - x`: where x is NaN, these are something else. Between `sums_hidden` and
`sums_shown` they are calls that no pass looks into. Indices are left as they are.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.hiding import with_calls, without_calls

_COMPARISONS: dict[type, str] = {
    **{prim.LT: "hidden_lt", prim.LE: "hidden_le", prim.GT: "hidden_gt", prim.GE: "hidden_ge"},
    **{prim.EQ: "hidden_eq", prim.NE: "hidden_ne"},
}
_NAMES: dict[type, str] = {
    **{prim.Add: "hidden_add", prim.Sub: "hidden_sub", prim.Mul: "hidden_mul"},
    **_COMPARISONS,
}
_NEUTRAL: dict[type, int] = {prim.Add: 0, prim.Sub: 0, prim.Mul: 1}


def sums_hidden(prim_func: Any) -> Any:
    """`prim_func` with calls in place of operations on elements of tensors."""
    indices = _within_indices(prim_func.body)
    return with_calls(
        prim_func,
        _NAMES,
        lambda expr: expr not in indices and _of_data(expr) and not _is_neutral(expr),
    )


def sums_shown(prim_func: Any) -> Any:
    """`prim_func` with the operations that `sums_hidden` took away."""
    return without_calls(prim_func, _NAMES)


def _within_indices(body: Any) -> frozenset[Any]:
    """Operations that say where something lies."""
    found: set[Any] = set()

    def note(place: Any) -> None:
        for index in place.indices:
            tvm_ffi.structural_walk(index, [(tuple(_NAMES), found.add)])

    tvm_ffi.structural_walk(body, [((ir.TensorLoad, tirx.BufferStore), note)])
    return frozenset(found)


def _of_data(expr: Any) -> bool:
    """Whether passes would be wrong about an operation, and operands are elements of tensors.

    They are right about comparing an integer with itself, of which compilers warn, and about
    elements beside loops' variables: these are indices.
    """
    kind, compares = str(expr.a.ty.dtype).rstrip("0123456789"), type(expr) in _COMPARISONS
    if kind == "float":
        if not compares and not isinstance(expr, prim.Sub):
            return False
    elif kind not in ("int", "uint") or (compares and tvm_ffi.structural_equal(expr.a, expr.b)):
        return False
    loads = variables = 0

    def without(load: Any) -> Any:
        nonlocal loads
        loads += 1
        return tirx.const(0, str(load.ty.dtype))

    def note(_: Any) -> None:
        nonlocal variables
        variables += 1

    rest = tvm_ffi.structural_map(expr, [(ir.TensorLoad, without)])
    tvm_ffi.structural_walk(rest, [(ir.Var, note)])
    return loads > 0 and not variables


def _is_neutral(expr: Any) -> bool:
    """Whether one operand changes nothing, which the analyzer is right to drop."""
    neutral = _NEUTRAL.get(type(expr))
    return neutral is not None and any(
        isinstance(part, prim.IntImm) and part.value == neutral for part in (expr.a, expr.b)
    )
