"""Comparing what a fallback function computed with its reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Of float16: eight units in the last place of the element. TVM's own functions are that coarse.
HALF_TOLERANCE = 2.0**-7

#: Of float32 and float64: of the element, or of the result's root mean square. Both sides compute
#: in the type itself, with mathematical libraries of their own, and neither has a derived bound.
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Difference:
    """Elements of a result that differ.

    Attributes:
        count: how many.
        elements: of the result.
        first_index: of the first.
        got: what the emitted code gave there.
        expected: what the reference gives there.
    """

    count: int
    elements: int
    first_index: tuple[int, ...]
    got: float
    expected: float


def differences(
    got: Sequence[np.ndarray], expected: Sequence[np.ndarray], exact: bool
) -> Difference | None:
    """The first result that is not its reference's.

    Args:
        got: results of emitted code.
        expected: of the reference, same types and sizes.
        exact: every bit is defined; otherwise floats may differ as two mathematical libraries do,
            and integers made of them by one step.
    """
    for ours, theirs in zip(got, expected, strict=True):
        wrong = np.flatnonzero(~_agree(ours.reshape(-1), theirs.reshape(-1), exact))
        if wrong.size:
            first = int(wrong[0])
            index = tuple(int(i) for i in np.unravel_index(first, theirs.shape))
            a, b = ours.reshape(-1)[first], theirs.reshape(-1)[first]
            return Difference(int(wrong.size), theirs.size, index, float(a), float(b))
    return None


def _agree(ours: np.ndarray, theirs: np.ndarray, exact: bool) -> np.ndarray:
    """Per element, whether it is right."""
    same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
    if exact or same.all():
        return np.asarray(same)
    if theirs.dtype.kind == "f":
        if theirs.dtype.itemsize == 2:
            ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
            with np.errstate(invalid="ignore"):
                near = np.abs(ours - theirs) <= HALF_TOLERANCE * np.maximum(1e-3, np.abs(theirs))
            return np.asarray(same | near)
        return np.asarray(same | _close(ours, theirs))
    if theirs.dtype.kind == "b":
        return np.asarray(same)
    steps = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return np.asarray(steps <= 1)


def _close(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Per element, whether floats agree to `TOLERANCE`."""
    with np.errstate(invalid="ignore", over="ignore"):
        wide = theirs.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        rms = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
        return np.asarray(np.abs(ours - wide) <= TOLERANCE * np.maximum(np.abs(wide), rms))
