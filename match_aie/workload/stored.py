"""From real values to stored integers, and on to sums that a layer takes along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.build import Quantized
from match_aie.workload.workload import Added, Operand, Tail, Workload


def saturate(real: np.ndarray, tail: Tail) -> np.ndarray:
    """`clip(rint(real) + z, lo, hi)` as int64; `real` is float32, in integer steps of the output.

    Saturates before it converts, so infinities are defined, and NaN becomes `lo` (as in ONNX
    Runtime's vector kernels, whose MAXPS returns the bound when the other side is NaN).
    """
    if tail.rounding != "half_even":
        raise ModelError(f"rounding {tail.rounding!r} is defined for average pooling only")
    low, high = np.float32(tail.lo - tail.zero_point), np.float32(tail.hi - tail.zero_point)
    steps = np.rint(real)
    steps = np.where(steps > low, steps, low)
    steps = np.where(steps < high, steps, high)
    return np.asarray(steps.astype(np.int64) + tail.zero_point)


def sums_of(stored: np.ndarray, workload: Workload, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """What becomes of the result `stored` of the layer alone: the last of `Workload.added`."""
    before = workload.tail
    for added in workload.added:
        assert before is not None
        operand = workload.operand(added.operand)
        steps = arrays[added.operand].astype(np.int64) - operand.zero_point
        real = (stored.astype(np.int64) - before.zero_point).astype(np.float32)
        real = real * np.float32(added.scale)
        real = real + steps.astype(np.float32) * np.float32(operand.scale or 0.0)
        stored, before = saturate(real / np.float32(added.to), added.tail), added.tail
    return stored


def with_sum(
    workload: Workload,
    other: Quantized,
    y: Quantized,
    *,
    tail: Tail,
    scale: float | None = None,
    constant: bool = False,
    per_channel: bool = False,
) -> Workload:
    """`workload` with one more sum that it takes along: of its result and `other`.

    Args:
        workload: a product with a tail in float32.
        other: what is added, the operand "residual", or "residual1" where there is one already.
        y: the sum.
        tail: of the sum.
        scale: of the result in the sum; None where it is the one that the result was stored with.
        constant: whether `other` is known.
        per_channel: whether it is a known vector of one element per output channel.
    """
    name = f"residual{len(workload.added) or ''}"
    result, known = workload.output, constant or per_channel
    shape, axes = result.shape, result.axes
    if per_channel:
        shape, axes = shape[-1:], axes[-1:]
    operand = Operand(name, other.dtype, shape, axes, known, other.scale, other.zero_point)
    step, to = result.scale if scale is None else scale, y.scale
    assert step is not None
    assert to is not None
    stored = replace(result, dtype=y.dtype, scale=y.scale, zero_point=y.zero_point)
    added = (*workload.added, Added(name, step, to, tail))
    return replace(workload, operands=(*workload.operands[:-1], operand, stored), added=added)
