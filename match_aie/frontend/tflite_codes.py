"""Activations of a recurrent layer of int8 weights, stored in 8 bits as they come.

Formulas: LiteRT's reference kernels, `SymmetricQuantizeFloats` and `AsymmetricQuantizeFloats`; see
`match_aie.workload.codes`. Dense layers and convolutions have others (`tflite_hybrid`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

Expr = Any
Emit = Callable[[Expr], Expr]


def coded(emit: Emit, x: Expr, *, asymmetric: bool) -> Expr:
    """What `x` [.., n] is once each row was int8, with a scale of its own.

    Args:
        emit: binds a call to a variable.
        x: float32.
        asymmetric: whether it has a zero point, too.
    """
    return _asymmetric(emit, x) if asymmetric else _symmetric(emit, x)


def _symmetric(emit: Emit, x: Expr) -> Expr:
    most = emit(relax.op.max(emit(relax.op.abs(x)), axis=[-1], keepdims=True))
    most = _filled(emit, most, 127.0)
    steps = emit(relax.op.multiply(x, emit(relax.op.divide(_number(127.0), most))))
    code = emit(relax.op.clip(_away(emit, steps), -127.0, 127.0))
    return emit(relax.op.multiply(code, emit(relax.op.divide(most, _number(127.0)))))


def _asymmetric(emit: Emit, x: Expr) -> Expr:
    """In float32 throughout: a zero point of which float64 finds another one is very rare."""
    least, most = (
        emit(extreme(x, axis=[-1], keepdims=True)) for extreme in (relax.op.min, relax.op.max)
    )
    low = emit(relax.op.minimum(least, _number(0.0)))
    high = emit(relax.op.maximum(most, _number(0.0)))
    span = _filled(emit, emit(relax.op.subtract(high, low)), 255.0)
    scale = emit(relax.op.divide(span, _number(255.0)))
    below = emit(relax.op.subtract(_number(-128.0), emit(relax.op.divide(low, scale))))
    zero = _away(emit, emit(relax.op.clip(below, -128.0, 127.0)))
    steps = emit(relax.op.multiply(x, emit(relax.op.divide(_number(1.0), scale))))
    moved = _away(emit, emit(relax.op.add(steps, zero)))
    code = emit(relax.op.clip(moved, -128.0, 127.0))
    return emit(relax.op.multiply(emit(relax.op.subtract(code, zero)), scale))


def _filled(emit: Emit, value: Expr, instead: float) -> Expr:
    """`value`, `instead` where it is 0."""
    empty = emit(relax.op.equal(value, _number(0.0)))
    return emit(relax.op.where(empty, _number(instead), value))


def _away(emit: Emit, value: Expr) -> Expr:
    """The nearest whole number, halves away from zero."""
    half = emit(relax.op.add(emit(relax.op.abs(value)), _number(0.5)))
    return emit(relax.op.multiply(emit(relax.op.sign(value)), emit(relax.op.floor(half))))


def _number(value: float) -> Expr:
    return relax.const(value, "float32")
