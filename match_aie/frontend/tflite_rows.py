"""Layer normalisation as TFLite's integer LSTM has it, in each gate.

Formulas: `PortableApplyLayerNorm` and `GetInvSqrtQuantizedMultiplierExp` of TensorFlow 2.16.
Shapes: [.., H] sums of 16 bits, [.., 1] what is one of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.tflite_fixed_point import Array, multiplier
from match_aie.frontend.tflite_wide import Wide, number

Expr = Any

#: Bits behind the point of a row's mean and of its normalised numbers.
_FINE = 10
#: Half of a root of 2, 31 bits behind the point; 1 and 3/2, 28 bits behind it.
_HALF_ROOT, _ONE, _THREE_HALVES = 1518500250, 1 << 28, (1 << 28) + (1 << 27)
_MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Factors:
    """What normalised sums are multiplied with.

    Attributes:
        weight: int16 [G, H].
        bias: int32 [G, H].
        scales: of `weight`, by gate.
    """

    weight: Array
    bias: Array
    scales: tuple[float, ...]


def normalised(wide: Wide, sums: Expr, factors: Factors) -> Expr:
    """`sums` [B, G, H] less their mean, over their deviation, times factors; 12 bits behind."""
    count = tvm_api.shape_of(sums)[-1]
    squares = _total(wide, wide.times(sums, sums))
    mean = _quotient(wide, wide.times(_total(wide, sums), number(1 << _FINE)), count)
    spread = wide.times(squares, number((1 << 2 * _FINE) // count))
    spread = wide.less(spread, wide.times(mean, mean))
    variance = wide.right(spread, number(2 * _FINE))
    guard = [max(1, int(10000 * np.float32(scale))) for scale in factors.scales]
    small = wide.emit(relax.op.less(variance, number(1)))
    variance = wide.where(small, number(np.array(guard)[:, None]), variance)
    root, bits = _inverse_root(wide, variance)
    moved = wide.less(wide.times(sums, number(1 << _FINE)), mean)
    rounded = _divided(wide, wide.doubled_high(moved, root), bits)
    value = wide.add(wide.times(rounded, number(factors.weight)), number(factors.bias))
    value = _quotient(wide, _away(wide, value), 1 << _FINE)
    parts = [multiplier(float(scale)) for scale in factors.scales]
    wholes, exponents = (np.array(column)[:, None] for column in zip(*parts, strict=True))
    return wide.clipped(wide.scaled(value, wholes, exponents + 12))


def _total(wide: Wide, x: Expr) -> Expr:
    return wide.emit(relax.op.sum(x, axis=[-1], keepdims=True))


def _away(wide: Wide, x: Expr) -> Expr:
    """`x` further from 0 by half of what it is divided by, which 0 is below."""
    half = 1 << (_FINE - 1)
    positive = wide.emit(relax.op.greater(x, number(0)))
    return wide.add(x, wide.where(positive, number(half), number(-half)))


def _quotient(wide: Wide, x: Expr, by: int) -> Expr:
    """`x` over `by`, towards 0."""
    negative = wide.emit(relax.op.less(x, number(0)))
    size = wide.where(negative, wide.less(number(0), x), x)
    size = wide.emit(relax.op.floor_divide(size, number(by)))
    return wide.where(negative, wide.less(number(0), size), size)


def _divided(wide: Wide, x: Expr, bits: Expr) -> Expr:
    """`x` over two to `bits` >= 0, the nearest, halves away from 0."""
    none = wide.emit(relax.op.equal(bits, number(0)))
    half = wide.right(wide.emit(relax.op.left_shift(number(1), bits)), number(1))
    sign = wide.where(none, number(0), wide.right(x, number(63)))
    return wide.right(wide.add(wide.add(x, half), sign), bits)


def _inverse_root(wide: Wide, value: Expr) -> tuple[Expr, Expr]:
    """(m, s) with 1 / sqrt(value) about m 2^-(31 + s): `value` in 1 to 2^31 - 1.

    The value is brought to between 2^27 and 2^29 by pairs of bits; five steps of Newton's follow.
    """
    large = wide.emit(relax.op.greater_equal(value, number(1 << 29)))
    x = wide.where(large, wide.right(value, number(2)), value)
    shift = wide.where(large, number(12), number(11))
    for pairs in (8, 4, 2, 1):
        room = wide.emit(relax.op.less(x, number(1 << (29 - 2 * pairs))))
        raised = wide.times(x, number(1 << (2 * pairs)))
        x = wide.where(room, raised, x)
        shift = wide.less(shift, wide.where(room, number(pairs), number(0)))
    half = wide.divided(wide.right(x, number(1)), 1)
    y = number(_ONE)
    for _ in range(5):
        cube = wide.doubled_high(wide.doubled_high(y, y), y)
        cube = wide.clipped(wide.times(cube, number(1 << 6)), -_MOST - 1, _MOST)
        step = wide.less(wide.doubled_high(y, number(_THREE_HALVES)), wide.doubled_high(half, cube))
        y = wide.clipped(wide.times(step, number(1 << 3)), -_MOST - 1, _MOST)
    root = wide.doubled_high(y, number(_HALF_ROOT))
    below = wide.emit(relax.op.maximum(wide.less(number(0), shift), number(0)))
    root = wide.emit(relax.op.left_shift(root, below))
    bits = wide.emit(relax.op.maximum(shift, number(0)))
    one = wide.emit(relax.op.less_equal(value, number(1)))
    return wide.where(one, number(_MOST), root), wide.where(one, number(0), bits)
