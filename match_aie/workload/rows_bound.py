"""How close rows in bfloat16 must be to what they mean in float64: a bound of every element.

Operands are rounded first, each to a known number, and what that changes is the difference of two
float64 results. From the result of rounded operands an element is off by one unit in the last place
of bfloat16, or by 2^-16 of the largest magnitude of its row (of a tensor that is combined element
by element, of the tensor); what lies below the normal numbers may be 0. Rows of a softmax that a
mask hides altogether have equal shares (`rows_bfloat16`), also where float64 has NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.workload.bfloat16 import LARGEST_BFLOAT16, OVERFLOW_BFLOAT16, to_bfloat16
from match_aie.workload.real_reference import FLOAT32_MAX, MEANING
from match_aie.workload.running import Near
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Of the row's largest magnitude.
OF_ROW = 2.0**-16

#: Of bfloat16: bits of a significand behind its first, and the least normal number.
BITS, NORMAL = 7, 2.0**-126

#: Operands that are rounded; an addend of a norm is not.
_ROUNDED = ("x", "x1", "weight")


def unit_in_last_place(values: np.ndarray) -> np.ndarray:
    """The distance of bfloat16 numbers around `values`."""
    _, exponent = np.frexp(np.maximum(np.abs(values), NORMAL))
    return np.asarray(np.ldexp(1.0, exponent - 1 - BITS))


def rows_expected(workload: Workload, arrays: Arrays) -> Near:
    """What the elements of rows in bfloat16 are, and how far they may be off."""
    meant = MEANING[workload.kind]
    if workload.kind == "softmax":
        arrays = {**arrays, "x": np.maximum(arrays["x"], -FLOAT32_MAX)}
    operands = {
        name: to_bfloat16(array) if name in _ROUNDED else array for name, array in arrays.items()
    }
    if workload.kind == "softmax":
        operands["x"] = np.maximum(operands["x"], np.float32(-LARGEST_BFLOAT16))
    wanted, value = meant(workload, operands), meant(workload, arrays)
    wanted = np.where(np.abs(wanted) < OVERFLOW_BFLOAT16, wanted, np.sign(wanted) * np.inf)
    value = np.where(np.isinf(wanted), wanted, value)
    finite = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
    largest = finite.max(axis=-1, keepdims=True)
    near = np.maximum(unit_in_last_place(finite), OF_ROW * largest) + NORMAL
    with np.errstate(invalid="ignore"):
        error = np.abs(value - wanted) + near
    return Near(value, np.where(np.isfinite(value) & np.isfinite(wanted), error, 0.0))
