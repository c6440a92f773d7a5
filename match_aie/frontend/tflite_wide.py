"""Integer arithmetic of TFLite's kernels on expressions, in 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from match_aie.frontend.tflite_fixed_point import LEAST, MOST, Array

Expr = Any

#: Bits behind the point of a multiplier.
_FRACTION = 31


def number(value: int | Array) -> Expr:
    """A constant of 64 bits."""
    return relax.const(np.asarray(value, np.int64), "int64")


@dataclass(frozen=True)
class Wide:
    """Binds what it makes.

    Attributes:
        emit: binds a call to a variable.
    """

    emit: Callable[[Expr], Expr]

    def of(self, x: Expr) -> Expr:
        """`x` in 64 bits."""
        return self.emit(relax.op.astype(x, "int64"))

    def add(self, a: Expr, b: Expr) -> Expr:
        """`a` + `b`."""
        return self.emit(relax.op.add(a, b))

    def less(self, a: Expr, b: Expr) -> Expr:
        """`a` - `b`."""
        return self.emit(relax.op.subtract(a, b))

    def times(self, a: Expr, b: Expr) -> Expr:
        """`a` times `b`."""
        return self.emit(relax.op.multiply(a, b))

    def right(self, x: Expr, bits: Expr) -> Expr:
        """`x` over two to `bits`, downwards."""
        return self.emit(relax.op.right_shift(x, bits))

    def where(self, asked: Expr, yes: Expr, no: Expr) -> Expr:
        """`yes` where `asked`."""
        return self.emit(relax.op.where(asked, yes, no))

    def clipped(self, x: Expr, least: int = LEAST, most: int = MOST) -> Expr:
        """`x` within bounds, by default those of 16 bits."""
        low = self.emit(relax.op.maximum(x, number(least)))
        return self.emit(relax.op.minimum(low, number(most)))

    def doubled_high(self, a: Expr, b: Expr) -> Expr:
        """The upper half of 2 a b, numbers of 32 bits: the nearest, halves upwards."""
        half = self.add(self.times(a, b), number(1 << (_FRACTION - 1)))
        return self.right(half, number(_FRACTION))

    def divided(self, x: Expr, exponent: int | Array) -> Expr:
        """`x` over two to `exponent`, which may have an axis: the nearest, halves away from 0."""
        bits = np.asarray(exponent, np.int64)
        if not bits.any():
            return x
        half = np.where(bits > 0, 1 << np.maximum(bits - 1, 0), 0)
        sign = self.right(x, number(63))
        if not bits.all():  # nothing is rounded where nothing is divided
            sign = self.times(sign, number(bits > 0))
        return self.right(self.add(self.add(x, number(half)), sign), number(bits))

    def scaled(self, x: Expr, whole: int | Array, exponent: int | Array) -> Expr:
        """`x` times `whole` 2^(exponent - 31), rounded twice; both may have an axis."""
        bits = np.asarray(exponent, np.int64)
        raised = np.asarray(whole, np.int64) << np.maximum(bits, 0)
        return self.divided(self.doubled_high(x, number(raised)), np.maximum(-bits, 0))
