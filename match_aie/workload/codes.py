"""What a row of floats is once it was stored in 8 bits, with a scale of its own found as it came.

Engines that quantise activations as they come do so with a recurrent layer's state in every step.
All operations are float32's but where it says otherwise, so that a result is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Ways, by their number in a workload's parameters: none; ONNX's `DynamicQuantizeLinear`; LiteRT's
#: `SymmetricQuantizeFloats` and `AsymmetricQuantizeFloats` (its reference kernels).
CODES = ("", "uint8", "symmetric", "asymmetric")

Array = np.ndarray


def coded(x: Array, how: str) -> Array:
    """What float32 `x` [.., n] becomes, row by row.

    Args:
        x: rows.
        how: one of `CODES`.
    """
    if not how:
        return x
    zeros = np.zeros((*x.shape[:-1], 1), np.float32)
    low = np.minimum(zeros, x.min(axis=-1, keepdims=True)).astype(np.float32)
    high = np.maximum(zeros, x.max(axis=-1, keepdims=True)).astype(np.float32)
    with np.errstate(all="ignore"):
        made = {"uint8": _uint8, "symmetric": _symmetric, "asymmetric": _asymmetric}[how]
        return np.where(high > low, made(x.astype(np.float32), low, high), np.float32(0))


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """Weights as integers of 8 bits.

    Attributes:
        codes: int8 [rows, n].
        scales: float32 [rows]; a weight is its code times its row's scale.
    """

    codes: Array
    scales: Array


#: Share of a step by which floats that are codes times a scale may seem to be off: two roundings
#: to float32 of a number below 128 steps.
_WHOLE = 2.0**-15

#: Share of a weight by which it may differ from its code times the scale that is found: the product
#: was rounded, and so were the largest weight and the scale.
ROWS_OFF = 2.0**-22


def integer_rows(weight: Array) -> IntegerRows | None:
    """Float32 weights [rows, n] as what they were before; None where a row is no such integers.

    A row's largest weight may be any integer that makes integers of all others: the largest.
    """
    if not np.isfinite(weight).all():
        return None
    wide = weight.astype(np.float64)
    most = np.abs(wide).max(axis=1, initial=0.0)
    unit = wide / np.where(most > 0, most, 1.0)[:, None]
    codes, largest = np.zeros(wide.shape), np.where(most > 0, 0.0, 1.0)
    for code in range(128, 0, -1):
        (left,) = np.nonzero(largest == 0)
        steps = unit[left] * code
        whole = np.rint(steps)
        fits = (np.abs(steps - whole) < _WHOLE).all(axis=1) & (whole.max(axis=1) < 128)
        codes[left[fits]], largest[left[fits]] = whole[fits], code
    if not largest.all():
        return None
    scales = (most / largest).astype(np.float32)
    off = np.abs(codes * scales.astype(np.float64)[:, None] - wide)
    close = bool((off <= ROWS_OFF * np.abs(wide)).all())
    return IntegerRows(codes.astype(np.int8), scales) if close else None


def _uint8(x: Array, low: Array, high: Array) -> Array:
    """Codes 0 to 255, halves to even."""
    scale = (high - low) / np.float32(255)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    return np.asarray((np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale)


def _symmetric(x: Array, low: Array, high: Array) -> Array:
    """Codes -127 to 127 around 0, halves away from it."""
    most = np.maximum(-low, high)
    scale, steps = most / np.float32(127), np.float32(127) / most
    return np.asarray(np.clip(_away(x * steps), -127, 127) * scale)


def _asymmetric(x: Array, low: Array, high: Array) -> Array:
    """Codes -128 to 127; scale and zero point, from the end that loses less, in float64."""
    below, above = low.astype(np.float64), high.astype(np.float64)
    step = (above - below) / 255
    first = 128 + np.abs(below / step) < 127 + np.abs(above / step)
    zero = _away(np.clip(np.where(first, -128 - below / step, 127 - above / step), -128, 127))
    zero, scale = zero.astype(np.float32), step.astype(np.float32)
    steps = np.float32(1) / scale
    return np.asarray((np.clip(_away(zero + x * steps), -128, 127) - zero) * scale)


def _away(x: Array) -> Array:
    """The nearest whole number, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(x.dtype))
