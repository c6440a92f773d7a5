"""Fixed-point arithmetic exactly as TVM up to 0.19 did it, in 64-bit integers."""

from __future__ import annotations

from math import frexp

import numpy as np
from tvm import relax

from match_aie.frontend.relay.site import Site, constant, dtype, rank, scalar
from match_aie.frontend.relay.values import Expr

op = relax.op

#: Fraction bits of a multiplier.
FRACTION = 31
#: Shifts beyond this leave nothing of 64 bits.
_MOST = 62


def multiplier_shift(factor: float) -> tuple[int, int]:
    """(m, s) with factor == m * 2**(s - 31), m in 31 bits (src/relay/qnn/utils.cc).

    >>> multiplier_shift(0.5)
    (1073741824, 0)
    """
    if factor == 0.0:
        return 0, 0
    fraction, exponent = frexp(factor)
    # round() of C++ rounds halves away from zero; the product is exact.
    whole = int(np.floor(abs(fraction) * 2.0**FRACTION + 0.5))
    if whole == 1 << FRACTION:
        whole, exponent = whole // 2, exponent + 1
    return (whole if fraction > 0 else -whole), exponent


def multiply_shift(
    site: Site,
    x: Expr,
    multiplier: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    axis: int,
    rounding: str = "UPWARD",
) -> Expr:
    """`((x << left) * multiplier + half) >> (31 + right)` in int64, then int32.

    Args:
        site: the call that is lowered.
        x: integers, of any rank.
        multiplier: of 31 fraction bits, [1] or one per element of `axis`.
        left: bits to shift left before, the same.
        right: bits to shift right beyond the fraction, the same.
        axis: of x, where there are several.
        rounding: "UPWARD" (halves towards positive infinity) or "TONEAREST" (away from zero).
    """
    total = right + FRACTION
    if (total > _MOST).any() or (total < 1).any() or (left > _MOST).any() or (left < 0).any():
        raise site.error("a shift leaves the 64 bits that fixed-point arithmetic has")
    ones = np.array(1, np.int64)
    wide = site.emit(op.astype(x, "int64"))
    if left.any():
        wide = site.emit(op.left_shift(wide, _along(x, left, axis)))
    product = site.emit(op.multiply(wide, _along(x, multiplier, axis)))
    half = np.left_shift(ones, (total - 1).astype(np.int64))
    up = _along(x, half, axis)
    if rounding == "TONEAREST":
        positive = site.emit(op.greater_equal(product, scalar(0, "int64")))
        up = site.emit(op.where(positive, up, _along(x, half - 1, axis)))
    raised = site.emit(op.add(product, up))
    shifted = site.emit(op.right_shift(raised, _along(x, total, axis)))
    return op.astype(shifted, "int32") if dtype(shifted) != "int32" else shifted


def _along(x: Expr, vector: np.ndarray, axis: int) -> Expr:
    """An int64 constant that broadcasts along `axis` of `x`."""
    values = np.asarray(vector, np.int64)
    if values.size == 1:
        return constant(values.reshape(()))
    return constant(values.reshape([-1 if i == axis else 1 for i in range(rank(x))]))
