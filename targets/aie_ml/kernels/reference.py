"""What a generated matrix kernel computes, in numpy and in the core's own arithmetic.

Integer accumulators wrap at their width. Float sums add one product after another, k ascending,
each rounded to float32; of block floating point one block after another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.numeric import (
    from_bfloat16,
    round_shift,
    saturate,
    to_bfloat16,
)
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.workload.bfloat16 import summed
from match_aie.workload.block_float import summed_blocks


@dataclass(frozen=True)
class Numbers:
    """What one call of a kernel takes beside its matrices.

    Attributes:
        shift: bits shifted out by the requantisation.
        multiplier: int32 scalar for form "tensor", int32 [N] for "channel", else None.
        addend: int32 scalar or [N] as `Requantise.addend` says; None for the zero point alone.
    """

    shift: int = 0
    multiplier: np.ndarray | int | None = None
    addend: np.ndarray | int | None = None


def float_sums(spec: KernelSpec, start: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`start` [M, N], and all products of x [M, K] and w [K, N], float32 of bfloat16 values."""
    return summed_blocks(start, x, w) if spec.blocked else summed(start, x, w)


def requantised(spec: KernelSpec, sums: np.ndarray, numbers: Numbers) -> np.ndarray:
    """The epilogue alone: sums [M, N] to stored elements."""
    r = spec.requantise
    if spec.floating:
        return _floats(spec, sums)
    if r.form == "none":
        values = saturate(sums, r.dtype, r.saturation)
    elif r.form == "shift":
        values = saturate(round_shift(sums, numbers.shift, r.rounding), r.dtype, r.saturation)
    else:
        if numbers.multiplier is None:
            raise TargetError(f"requantise form {r.form!r} needs a multiplier")
        if (numbers.addend is None) != (r.addend == "zero_point"):
            raise TargetError(f"requantise addend {r.addend!r} needs its numbers, and only it")
        kept = saturate(sums, "int32", r.saturation).astype(np.int64)
        added = r.zero_point << numbers.shift if numbers.addend is None else numbers.addend
        wide = kept * np.asarray(numbers.multiplier, np.int64) + np.asarray(added, np.int64)
        values = saturate(round_shift(wide, numbers.shift, r.rounding), r.dtype, r.saturation)
    low = values.dtype.type(spec.lo) if spec.lo is not None else None
    high = values.dtype.type(r.hi) if r.hi is not None else None
    return values if low is None and high is None else np.clip(values, low, high)


def _floats(spec: KernelSpec, sums: np.ndarray) -> np.ndarray:
    """Float sums as stored; the bound of `relu` is compared after the conversion, as max(v, 0)."""
    if spec.requantise.dtype == "float32":
        return np.where(sums < 0, np.float32(0), sums) if spec.lo is not None else sums
    bits = to_bfloat16(sums, spec.requantise.rounding)
    return np.where(from_bfloat16(bits) < 0, np.uint16(0), bits) if spec.lo is not None else bits
