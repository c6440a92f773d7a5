"""Norms of 8-bit rows in float32: exact sums of integers, four operations an element.

With N elements, `s` their sum as they are stored, `q` that of their squares, and `sx` x's scale,

    V = N q - s**2
    r = float32((sx / N) / sqrt(V * (sx / N)**2 + epsilon))    in float64, one rounding an operation
    steps = ((x N - s) * r) * (weight / sy) + bias / sy        in float32
    y = clip(rint(steps) + zy, lo, hi)

`x N - s` is N times what x is above the mean, and exact in float32 up to `MOST_COLUMNS`; the zero
point of x cancels. An RMS norm has the zero point z of x in place of the mean (`s = N z` in the
steps, `V = N sum (x - z)**2`), and no bias. `r` is a normal number, and so finite where a row is of
one value and `x N - s` is 0 (`refuses_norm`); `weight / sy` and `bias / sy` are finite where weight
and bias are, which extraction asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.workload.workload import Workload

#: Longest row: N times a byte, less a sum of N bytes, is below 2**24 then.
MOST_COLUMNS = 1 << 16


@dataclass(frozen=True)
class ByteNorm:
    """Numbers of a quantised norm, in float64.

    Attributes:
        step: sx / N.
        square: its square.
        epsilon: added to the mean square.
    """

    step: float
    square: float
    epsilon: float

    @staticmethod
    def of(workload: Workload) -> ByteNorm:
        """Those of `workload`, whose x has one scale."""
        step = float(np.float32(workload.operand("x").scale or 0.0)) / workload.sizes["K"]
        return ByteNorm(step, step * step, workload.parameter("epsilon"))


def refuses_norm(workload: Workload) -> str | None:
    """Why the formula does not hold for `workload`, in a sentence; None where it does."""
    columns = workload.sizes["K"]
    if columns > MOST_COLUMNS:
        return f"sums of rows of {columns} bytes are not exact in float32"
    if not workload.parameter("epsilon") >= float(np.finfo(np.float32).tiny):
        return "nothing is added to the mean square, which may be 0"
    if not _factors_are_normal(workload):
        return "what rows are multiplied by may be no normal number of float32"
    return None


def _factors_are_normal(workload: Workload) -> bool:
    """Whether `r` is one for rows of one value, and for those whose elements are furthest apart."""
    numbers, normal = ByteNorm.of(workload), np.finfo(np.float32)
    furthest = (255 * workload.sizes["K"]) ** 2 * numbers.square
    least = numbers.step / np.sqrt(furthest + numbers.epsilon)
    return bool(normal.tiny <= least and numbers.step / np.sqrt(numbers.epsilon) <= normal.max)


def norm_numbers(workload: Workload, constants: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weight, and bias where there is one, in steps of the output: float32 [K] each."""
    scale = np.float32(workload.output.scale or 1.0)
    return {name: constants[name] / scale for name in ("weight", "bias") if name in constants}


def norm_steps(workload: Workload, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The steps of the output [B, K], float32.

    Args:
        workload: a quantised norm.
        arrays: x [B, K], weight, and bias of a layer norm.
    """
    x, n, numbers = arrays["x"].astype(np.int64), workload.sizes["K"], ByteNorm.of(workload)
    total = x.sum(axis=-1, keepdims=True)
    squares = (x * x).sum(axis=-1, keepdims=True)
    if workload.kind == "rms_norm":
        zero = workload.operand("x").zero_point
        spread = n * (squares - 2 * zero * total + n * zero * zero)
        total = np.full_like(total, n * zero)
    else:
        spread = n * squares - total * total
    root = np.sqrt(spread.astype(np.float64) * numbers.square + numbers.epsilon)
    scale = (numbers.step / root).astype(np.float32)
    apart = (x * n - total).astype(np.float32)
    own = norm_numbers(workload, arrays)
    steps = (apart * scale) * own["weight"]
    return np.asarray(steps + own["bias"] if "bias" in own else steps)
