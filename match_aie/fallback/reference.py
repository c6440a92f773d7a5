"""What a function of the fallback means, computed without the fallback.

A tensor function is kept as TVM's operators gave it, before schedules, lowering and printing here.
TVM compiles it with LLVM and its own default lowering. Nothing between the two is shared but the
definitions of what C and LLVM leave undefined, which are spelled out again below.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.legalise import LOWERING_ERRORS

#: The operation of `legalise` that LLVM knows under another name.
_POWER = "power"

#: Operations whose results depend on a mathematical library, powers among them.
_LIBRARY = frozenset(
    """acos acosh asin asinh atan atan2 atanh cos cosh erf exp exp10 exp2 fmod hypot log log10 log1p
    log2 pow rsqrt sigmoid sin sinh tan tanh call_pure_extern""".split()
)


class NoReference(Exception):
    """TVM cannot compute this function; the message says why."""


def meaning(prim_func: Any) -> str:
    """A tensor function as text that `Reference` reads."""
    return str(ir.save_json(prim_func))


class Reference:
    """A tensor function, compiled by TVM.

    Attributes:
        exact: whether every bit is defined: no mathematical library takes part.
    """

    def __init__(self, text: str) -> None:
        """Compile what `meaning` stored.

        Raises:
            NoReference: TVM cannot.
        """
        try:
            function = ir.load_json(text)
            self._types = [(_shape(p), str(p.ty.dtype)) for p in function.params]
            self.exact = _is_exact(function)
            module = tvm.IRModule({"main": _defined(function).with_attr("global_symbol", "main")})
            target = tvm.target.Target("llvm")
            self._run = tvm.compile(module, target=target)["main"]
        except LOWERING_ERRORS as error:
            raise NoReference(_reason(error)) from error

    def __call__(self, read: Sequence[bytes], written: Sequence[bool]) -> list[np.ndarray]:
        """What the function writes.

        Args:
            read: bytes of the tensors that C does not write, in C's order; what is beyond them is
                ignored. Among them are results without elements.
            written: per parameter, whether C writes it.
        """
        sources = iter(read)
        tensors = []
        for (shape, dtype), out in zip(self._types, written, strict=True):
            value = np.zeros(shape, dtype)
            if not out:
                data = next(sources)[: value.nbytes]
                value = np.frombuffer(data, dtype).reshape(shape)
            tensors.append(tvm.runtime.tensor(value))
        self._run(*tensors)
        return [t.numpy() for t, out in zip(tensors, written, strict=True) if out]


def _shape(param: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in param.ty.shape)


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def _is_exact(function: Any) -> bool:
    names: set[str] = set()

    def note(call: Any) -> None:
        names.add(str(getattr(call.op, "name", "")).split(".")[-1])

    tvm_ffi.structural_walk(function.body, [(ir.Call, note)])
    # Elsewhere LLVM contracts a * b + c, as every processor there can.
    return platform.machine() in ("x86_64", "AMD64") and names.isdisjoint(_LIBRARY)


# What C and LLVM leave undefined, as `scalars` defines it for C.


def _defined(function: Any) -> Any:
    callbacks: list[tuple[Any, Callable[[Any], Any]]] = [
        (prim.Cast, _cast),
        ((prim.Min, prim.Max), _extreme),
        ((prim.Div, prim.Mod, prim.FloorDiv, prim.FloorMod), _division),
        (ir.Call, _call),
    ]
    body = tvm_ffi.structural_map(function.body, callbacks)
    return tirx.PrimFunc(function.params, body, function.ret_type, function.attrs)


def _dtype(expr: Any) -> str:
    return str(expr.ty.dtype)


def _is_float(expr: Any) -> bool:
    return _dtype(expr).startswith("float")


def _named(values: Sequence[Any], body: Callable[..., Any]) -> Any:
    """`body` of variables that hold `values`, so that nothing is computed twice."""
    variables = [ir.Var(f"v{index}", value.ty) for index, value in enumerate(values)]
    result = body(*variables)
    for var, value in zip(variables, values, strict=True):
        result = prim.Let(var, value, result)
    return result


def _cast(expr: Any) -> Any:
    """Float to integer saturates, NaN becomes the smallest value."""
    value, dtype = expr.value, _dtype(expr)
    if not _is_float(value) or "int" not in dtype:
        return expr
    if _dtype(value) == "float16":
        value = value.astype("float32")
    return _named([value], lambda x: _saturated(x, dtype))


def _saturated(value: Any, dtype: str) -> Any:
    info, own = np.iinfo(dtype), _dtype(value)
    low, high = float(info.min), float(int(info.max) + 1)  # powers of two: exact in every float
    inside = prim.And(value > tirx.const(low, own), value < tirx.const(high, own))
    most = prim.Select(
        value >= tirx.const(high, own), tirx.const(info.max, dtype), tirx.const(info.min, dtype)
    )
    return tirx.if_then_else(inside, value.astype(dtype), most)


def _extreme(expr: Any) -> Any:
    """The smaller or larger of two floats is NaN where one of them is."""
    if not _is_float(expr):
        return expr
    smaller = isinstance(expr, prim.Min)

    def chosen(a: Any, b: Any) -> Any:
        return prim.Select(prim.Or(a < b if smaller else a > b, tirx.isnan(a)), a, b)

    return _named([expr.a, expr.b], chosen)


def _division(expr: Any) -> Any:
    """X / 0 and x % 0 are 0; the smallest integer divided by -1 wraps."""
    if _is_float(expr):
        return expr
    if isinstance(expr.b, prim.IntImm) and expr.b.value > 0:
        return _floored(expr)
    kind, dtype = type(expr), _dtype(expr)
    if not dtype.startswith("int"):  # nothing to floor, and TVM fails on it
        kind = {prim.FloorDiv: prim.Div, prim.FloorMod: prim.Mod}.get(kind, kind)
    return _quotient(kind, expr.a, expr.b, dtype)


def _floored(expr: Any) -> Any:
    """A division by a positive constant, made of C's.

    TVM flattens buffers with rules that are wrong for floor divisions; `divisions` says which.
    """
    kind, a, b = type(expr), expr.a, expr.b
    if kind not in (prim.FloorDiv, prim.FloorMod) or not _dtype(expr).startswith("int"):
        return expr
    zero, one = tirx.const(0, _dtype(expr)), tirx.const(1, _dtype(expr))
    below = prim.Mod(a, b) < zero
    if kind is prim.FloorMod:
        return prim.Mod(a, b) + prim.Select(below, b, zero)
    return prim.Div(a, b) - prim.Select(below, one, zero)


def _quotient(kind: Callable[[Any, Any], Any], a: Any, b: Any, dtype: str) -> Any:
    """Branches, not choices: TVM takes what a choice excludes for impossible."""
    zero = tirx.const(0, dtype)
    result = kind(a, b)
    if dtype.startswith("int"):
        negated = zero if kind in (prim.Mod, prim.FloorMod) else zero - a
        result = tirx.if_then_else(prim.EQ(b, tirx.const(-1, dtype)), negated, result)
    return tirx.if_then_else(prim.EQ(b, zero), zero, result)


def _call(call: Any) -> Any:
    name = str(getattr(call.op, "name", "")).split(".")[-1]
    if name == "call_pure_extern":
        if str(call.args[0].value) != _POWER:
            raise ValueError(f"{call.args[0].value} has no meaning outside of emitted C")
        return tirx.pow(*call.args[1:])
    if name in ("shift_left", "shift_right") and not isinstance(call.args[1], prim.IntImm):
        return _shift(call, name == "shift_left")
    return call


def _shift(call: Any, left: bool) -> Any:
    """Shifting by the width or more shifts all out."""
    a, b = call.args
    dtype, width = _dtype(a), np.iinfo(_dtype(a)).bits
    zero = tirx.const(0, dtype)
    fits = prim.And(b >= zero, b < tirx.const(width, dtype))
    gone = zero
    if not left and dtype.startswith("int"):
        gone = prim.Select(a < zero, tirx.const(-1, dtype), zero)
    return tirx.if_then_else(fits, a << b if left else a >> b, gone)
