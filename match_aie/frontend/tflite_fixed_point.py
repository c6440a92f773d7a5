"""Fixed-point numbers as TFLite's integer kernels compute them.

Formulas: gemmlowp's `fixedpoint.h` for 16 bits, `QuantizeMultiplier` of TFLite. A number of `n`
bits before the point has 15 - n behind it. Integers are held in 64 bits here.
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: Least and largest of 16 bits.
LEAST, MOST = -(1 << 15), (1 << 15) - 1

#: e to the power of -1/4, -1/2, -1, -2 and so on to -16, 31 bits behind the point.
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
#: e to the power of -1/8, and 1/3, likewise; 48/17 and -32/17, 29 bits behind the point.
_MIDDLE, _THIRD, _START, _SLOPE = 1895147668, 715827883, 1515870810, -1010580540


def multiplier(scale: float) -> tuple[int, int]:
    """(m, e) with `scale` about m 2^(e - 31), m of 31 bits.

    >>> multiplier(0.5)
    (1073741824, 0)
    """
    if scale == 0:
        return 0, 0
    fraction, exponent = frexp(scale)
    whole = int(np.floor(fraction * 2.0**31 + 0.5))
    if whole == 1 << 31:
        whole, exponent = whole // 2, exponent + 1
    return (0, 0) if exponent < -31 else (whole, exponent)


def doubled_high(a: Array | int, b: Array | int, bits: int = 16) -> Array:
    """The upper half of 2 a b, numbers of `bits` bits: the nearest, halves upwards."""
    return np.asarray((np.asarray(a, np.int64) * b + (1 << (bits - 2))) >> (bits - 1))


def divided(x: Array, exponent: int) -> Array:
    """`x` over two to `exponent`: the nearest, halves away from 0."""
    if not exponent:
        return x
    return np.asarray((x + (1 << (exponent - 1)) + (x >> 63)) >> exponent)


def logistic_table() -> Array:
    """Values of 1 / (1 + e^-a) by a + 2^15, 3 bits before the point of a: int16."""
    a = np.arange(LEAST, MOST + 1, dtype=np.int64)
    size = _wrapped(np.where(a > 0, a, -a))
    above = _raised(_reciprocal(_exponential(_wrapped(-size), 3)), 1)
    values = np.where(a == 0, 1 << 14, np.where(a > 0, above, MOST - above))
    return np.asarray(values, np.int16)


def hyperbolic_table(before: int) -> Array:
    """Values of tanh a by a + 2^15, `before` bits (0 to 6) before the point of a: int16."""
    a = np.arange(LEAST, MOST + 1, dtype=np.int64)
    whole = _reciprocal(_exponential(np.where(a < 0, a, -a), before + 1))
    size = _raised(_wrapped(whole - (1 << 13)), 2)
    values = np.where(a == 0, 0, _wrapped(np.where(a < 0, -size, size)))
    return np.asarray(values, np.int16)


def _exponential(a: Array, before: int) -> Array:
    """e^a of a <= 0.

    A Taylor series around -1/8 of what is left of a multiple of a quarter, times the powers that
    the multiple's bits stand for.
    """
    behind = 15 - before
    quarter = 1 << (behind - 2)
    within = (a & (quarter - 1)) - quarter
    left = within - a
    x = _wrapped(_raised(within, before) + (1 << 12))
    square = doubled_high(x, x)
    cube, fourth = doubled_high(square, x), doubled_high(square, square)
    third = doubled_high(_wrapped(divided(fourth, 2) + cube), _short(_THIRD))
    series = _wrapped(x + divided(_wrapped(third + square), 1))
    middle = _short(_MIDDLE)
    result = np.clip(middle + doubled_high(series, middle), LEAST, MOST)
    for exponent, power in enumerate(_POWERS, start=-2):
        if before > exponent:
            taken = (left & (1 << (behind + exponent))) != 0
            result = np.where(taken, doubled_high(result, _short(power)), result)
    if before > 5:  # where a power more would be wanted, below -32
        result = np.where(a < -(1 << (20 - before)), 0, result)
    return np.where(a == 0, MOST, result)


def _reciprocal(a: Array) -> Array:
    """2 / (1 + a) of a in [0, 1], 13 bits behind the point, in three steps of Newton's."""
    half = (a + MOST + 1) // 2
    x = _wrapped(_short(_START) + doubled_high(half, _short(_SLOPE)))
    for _ in range(3):
        rest = _wrapped((1 << 13) - doubled_high(half, x))
        x = _wrapped(x + _raised(doubled_high(x, rest), 2))
    return x


def _wrapped(x: Array) -> Array:
    """`x` as 16 bits hold it."""
    return np.asarray((x - LEAST) % (1 << 16) + LEAST)


def _raised(x: Array, exponent: int) -> Array:
    """`x` times two to `exponent`, as far as 16 bits go."""
    return np.clip(x << exponent, LEAST, MOST)


def _short(value: int) -> int:
    """A constant of 32 bits in 16."""
    return int(divided(np.asarray(value, np.int64), 16))
