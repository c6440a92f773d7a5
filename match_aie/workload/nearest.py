"""Layers for hardware that has no multiplier: the nearest one whose scales are a power of two.

For one output channel let `s` be the model's scale, `w` its weights and `b` its bias. The layer
that stands for it has weights `w' = round(w * s * 2**S)` and bias `b' = round(b * s * 2**S)`, and
its sum is shifted by `S`. So the scale goes into the weights, which are rounded once more; inputs,
output, and what they mean stay the model's. `S` is the largest with which all weights fit: the more
bits they use, the less is lost.

The difference before rounding is `sum((x - z) * d) + e` with `d = s * w - w' / 2**S` and
`e = s * b - b' / 2**S`, for inputs x of the layer's type with zero point z. It is linear in every
x, so its largest absolute value is at the ends of their range; padding is z, and adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from match_aie.workload.fixed import Converted
from match_aie.workload.fixed_point import FixedPoint, to_fixed_point
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Two float32 operations, doubled for what is lost of second order.
_TWO_ROUNDINGS = 4 * 2.0**-24
#: Bounds are summed in float64, of up to 2**20 products below 2**15: more than all its errors.
_FLOAT64 = 2.0**-12


def to_nearest_shift(workload: Workload, constants: Arrays, how: FixedPoint) -> Converted | str:
    """The nearest layer that a shift requantises, with a proven bound, or why there is none.

    Args:
        workload: a convolution or dense layer in the model's arithmetic.
        constants: by operand name.
        how: what the module can do; it has no multiplier.
    """
    tail = workload.tail
    if workload.kind not in ("conv2d", "dense") or tail is None or tail.shift is not None:
        return f"a {workload.kind} has no weights that could be rounded anew"
    if workload.added:
        return "its results take sums along, which are in the model's arithmetic"
    weight, scale = constants["weight"], constants["scale"].astype(np.float64).reshape(-1)
    rows = weight.reshape(len(weight), -1).astype(np.float64)
    scale = np.broadcast_to(scale, (len(rows),))
    most = int(np.iinfo(weight.dtype).max)
    peak = float((scale * np.abs(rows).max(axis=1)).max())
    fits = [s for s in range(how.max_shift + 1) if np.rint(peak * 2.0**s) <= most]
    if not fits:
        return f"its scales reach to {scale.max():.3g}: a shift cannot make numbers larger"
    refusal = ""  # of the most precise one
    for shift in reversed(fits):
        answer = _shifted(workload, constants, rows, scale, shift, how)
        if isinstance(answer, Converted):
            return answer
        refusal = refusal or answer
    return refusal


def _shifted(
    workload: Workload,
    constants: Arrays,
    rows: np.ndarray,
    scale: np.ndarray,
    shift: int,
    how: FixedPoint,
) -> Converted | str:
    """The layer with a shift by `shift`, if nothing overflows.

    Args:
        workload: as of `to_nearest_shift`.
        constants: as there.
        rows: weights of each channel, float64.
        scale: of each channel, float64.
        shift: S.
        how: as there.
    """
    factor = scale * 2.0**shift
    rounded = np.rint(rows * factor[:, None])
    bias = constants.get("bias", np.zeros(1, np.int64)).astype(np.float64)
    moved = np.rint(bias * factor)
    if np.abs(moved).max() >= 1 << 31:
        return "its bias leaves 32 bits"
    changed = dict(constants)
    stored = constants["weight"]
    changed["weight"] = rounded.astype(stored.dtype).reshape(stored.shape)
    changed["scale"] = np.full_like(constants["scale"], 2.0**-shift)
    if "bias" in constants:
        changed["bias"] = moved.astype(constants["bias"].dtype).reshape(constants["bias"].shape)
    answer = to_fixed_point(workload, changed, how)
    if isinstance(answer, str) or answer.error_lsb is None:
        return answer
    difference = scale[:, None] * rows - rounded / 2.0**shift
    rest = scale * bias - moved / 2.0**shift
    bound = _bound(workload, difference, rest) + answer.error_lsb
    return replace(answer, error_lsb=bound)


def _bound(workload: Workload, difference: np.ndarray, rest: np.ndarray) -> float:
    """Of `sum((x - z) * difference) + rest` over all inputs, and of the model's float32."""
    assert workload.tail is not None
    x, tail = workload.operand("x"), workload.tail
    info = np.iinfo(x.dtype)
    least, most = int(info.min) - x.zero_point, int(info.max) - x.zero_point
    ends = difference * least, difference * most
    above = np.maximum(*ends).sum(axis=1) + rest
    below = np.minimum(*ends).sum(axis=1) + rest
    # Beyond the output's range both saturate.
    span = float(tail.hi - tail.lo)
    largest = 1.0 + max(abs(tail.lo - tail.zero_point), abs(tail.hi - tail.zero_point))
    lost = largest * _TWO_ROUNDINGS + _FLOAT64
    return min(float(max(above.max(), -below.min())), span) + lost
