"""Running error analysis: real values beside a bound of what float32 may make of them.

A value is computed in float64; with it goes a bound of the difference that any float32 evaluation
of the same formula has, whatever the order of its sums and whether products and sums are fused.
The rules are those of N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition
(SIAM 2002), with unit roundoff u = 2^-24:

- one operation: fl(a op b) = (a op b)(1 + d), |d| <= u (2.4);
- a sum of n products in any order: within gamma_n = n u / (1 - n u) of the sum of the magnitudes
  |x_i| |w_i| (3.5);
- bounds carried along a computation, section 3.3.

Results below 2^-126 lose up to 2^-150 more each. What float64 itself loses is 2^-29 of all this,
and is covered by one rounding more than there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: Unit roundoff of float32.
UNIT = 2.0**-24
#: More than what a subnormal result loses.
TINY = 2.0**-149


def gamma(roundings: int) -> float:
    """Relative bound of what so many float32 roundings can do to a value.

    Args:
        roundings: that any term goes through.
    """
    lost = roundings * UNIT
    return lost / (1.0 - lost) if lost < 1.0 else np.inf


@dataclass(frozen=True, eq=False)
class Near:
    """Exact values, and how far from them float32 may end.

    Attributes:
        value: float64.
        error: float64 of the same shape, not negative.
    """

    value: np.ndarray
    error: np.ndarray

    def __add__(self, other: Near) -> Near:
        """One addition."""
        return rounded(self.value + other.value, self.error + other.error)

    def __mul__(self, other: Near) -> Near:
        """One multiplication."""
        error = np.abs(self.value) * other.error + self.error * np.abs(other.value)
        return rounded(self.value * other.value, error + self.error * other.error)

    def last(self, begin: int, end: int) -> Near:
        """A part of both along the last axis."""
        return Near(self.value[..., begin:end], self.error[..., begin:end])

    def step(self, index: int) -> Near:
        """One entry of both along the first axis."""
        return Near(self.value[index], self.error[index])

    def within(self, most: float | np.ndarray) -> Near:
        """With the smaller of two bounds; an error that is NaN, out of infinite inputs, is none."""
        return Near(self.value, np.fmin(self.error, most))

    def through(
        self, function: Callable[[np.ndarray], np.ndarray], slope: float, own: float, tiny: float
    ) -> Near:
        """A function of it.

        Args:
            function: exact.
            slope: its steepest, anywhere.
            own: relative error of its float32 form.
            tiny: absolute error of it where results are below the normal numbers.
        """
        value = function(self.value)
        return Near(value, slope * self.error + own * np.abs(value) + tiny)


def exact(array: np.ndarray) -> Near:
    """Values that float32 holds."""
    value = array.astype(np.float64)
    return Near(value, np.zeros_like(value))


def rounded(value: np.ndarray, error: np.ndarray, roundings: int = 1) -> Near:
    """`value` with what operations on it lose, beside the `error` that it has already."""
    with np.errstate(invalid="ignore"):
        more = error + gamma(roundings) * (np.abs(value) + error) + TINY
    return Near(value, np.where(np.isfinite(value), more, 0.0))


def summed(terms: Near) -> Near:
    """Sums along the last axis, which stays."""
    count = terms.value.shape[-1]
    most = (np.abs(terms.value) + terms.error).sum(axis=-1, keepdims=True)
    error = terms.error.sum(axis=-1, keepdims=True) + gamma(count) * most
    return Near(terms.value.sum(axis=-1, keepdims=True), error)


def product(a: Near, b: Near) -> Near:
    """Matrix products: sums over the last axis of `a` and the last but one of `b`."""
    count = a.value.shape[-1]
    left, right = np.abs(a.value) + a.error, np.abs(b.value) + b.error
    error = gamma(count + 1) * (left @ right) + count * TINY
    if np.any(a.error):
        error = error + a.error @ right
    if np.any(b.error):
        error = error + np.abs(a.value) @ b.error
    return Near(a.value @ b.value, error)


def wrong(got: np.ndarray, expected: Near) -> np.ndarray:
    """Per element, whether `got` is further from `expected` than float32 explains.

    Infinities and NaN must stand in the same places.
    """
    wide = got.astype(np.float64).reshape(expected.value.shape)
    # What float32 cannot hold is infinite there.
    stored = _stored(expected.value)
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(wide - expected.value) <= np.nan_to_num(expected.error, nan=0.0))
    same = (wide == stored) | (np.isnan(wide) & np.isnan(stored))
    return np.asarray(np.where(np.isfinite(stored), far, ~same))


def share(got: np.ndarray, expected: Near) -> float:
    """The largest part of its bound that the difference of any finite element takes.

    Infinite where a result is not finite that should be.
    """
    wide = got.astype(np.float64).reshape(expected.value.shape)
    finite = np.isfinite(_stored(expected.value))
    if not np.all(np.isfinite(wide[finite])):
        return float("inf")
    gap = np.abs(wide[finite] - expected.value[finite])
    bound = np.nan_to_num(expected.error, nan=0.0)[finite]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(gap == 0, 0.0, gap / bound)
    return float(part.max(initial=0.0))


def _stored(value: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return value.astype(np.float32).astype(np.float64)
