"""The core's fixed-point arithmetic in numpy: shift-round-saturate, accumulators, bfloat16.

The same definitions as the emulation's headers, written a second time: tests compare the two.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from match_aie.errors import TargetError

RoundingMode = Literal[
    "floor",
    "ceil",
    "positive_inf",
    "negative_inf",
    "symmetric_inf",
    "symmetric_zero",
    "conv_even",
    "conv_odd",
    "symmetric_floor",
    "symmetric_ceil",
]
SaturationMode = Literal["none", "saturate", "symmetric"]

ROUNDING_MODES: tuple[RoundingMode, ...] = get_args(RoundingMode)


def round_shift(values: np.ndarray, shift: int, mode: RoundingMode) -> np.ndarray:
    """`values / 2**shift` as int64, rounded as `mode` says (UG1603, "Rounding and Saturation").

    Args:
        values: int64 of any shape; the shift must leave them within int64.
        shift: bits, 0 to 63.
        mode: what becomes of the bits shifted out.

    Raises:
        TargetError: the shift is out of range.
    """
    if not 0 <= shift <= 63:
        raise TargetError(f"shift {shift} is not between 0 and 63")
    values = values.astype(np.int64)
    if shift == 0:
        return values
    down = values >> shift
    rest = (values - (down << shift)).astype(np.uint64)
    half = np.uint64(1 << (shift - 1))
    negative = values < 0
    above, tie = rest > half, rest == half
    odd = (down & 1).astype(bool)
    up = {
        "floor": np.zeros_like(tie),
        "ceil": rest != 0,
        "symmetric_floor": negative & (rest != 0),
        "symmetric_ceil": ~negative & (rest != 0),
        "positive_inf": above | tie,
        "negative_inf": above,
        "symmetric_inf": above | (tie & ~negative),
        "symmetric_zero": above | (tie & negative),
        "conv_even": above | (tie & odd),
        "conv_odd": above | (tie & ~odd),
    }[mode]
    return np.asarray(down + up)


def saturate(values: np.ndarray, dtype: str, mode: SaturationMode) -> np.ndarray:
    """int64 `values` as integers of `dtype`: clipped, or their low bits where mode is "none"."""
    info = np.iinfo(dtype)
    if mode == "none":
        return np.asarray(values.astype(np.uint64).astype(dtype))
    low = info.min + 1 if mode == "symmetric" and info.min < 0 else info.min
    return np.asarray(np.clip(values, low, info.max).astype(dtype))


def wrap(values: np.ndarray, bits: int) -> np.ndarray:
    """int64 `values` modulo 2**bits, signed: what an accumulator lane of `bits` keeps."""
    return values.astype(np.int32).astype(np.int64) if bits == 32 else values.astype(np.int64)


def to_bfloat16(values: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float32 `values` as bfloat16 bit patterns, uint16, rounded as `mode` says; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    kept, rest = bits >> 16, bits & 0xFFFF
    negative = (bits >> 31).astype(bool)
    above, tie, odd = rest > 0x8000, rest == 0x8000, (kept & 1).astype(bool)
    away = {
        "floor": negative & (rest != 0),
        "ceil": ~negative & (rest != 0),
        "symmetric_floor": np.zeros_like(tie),
        "symmetric_ceil": rest != 0,
        "positive_inf": above | (tie & ~negative),
        "negative_inf": above | (tie & negative),
        "symmetric_inf": above | tie,
        "symmetric_zero": above,
        "conv_even": above | (tie & odd),
        "conv_odd": above | (tie & ~odd),
    }[mode]
    special = (bits & 0x7F800000) == 0x7F800000
    nan = special & ((bits & 0x007FFFFF) != 0)
    rounded = np.where(special, kept, kept + away)
    return np.where(nan, kept | 0x40, rounded).astype(np.uint16)


def stored_as(dtype: str) -> str:
    """The numpy type that holds elements of `dtype`: bfloat16 as bit patterns."""
    return "uint16" if dtype in ("bfloat16", "bfp16") else dtype


def carried_as(tensor: np.ndarray, dtype: str) -> np.ndarray:
    """`tensor` as elements of `dtype` on their way to the array: float32 as bfloat16 patterns."""
    return to_bfloat16(tensor, "conv_even") if dtype == "bfloat16" else tensor


def as_tensor(data: np.ndarray, dtype: str) -> np.ndarray:
    """Bytes that come back from the array as elements of a tensor: bfloat16 as float32."""
    values = data.view(np.dtype(stored_as(dtype)))
    return from_bfloat16(values) if dtype == "bfloat16" else values


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bit patterns, uint16, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
