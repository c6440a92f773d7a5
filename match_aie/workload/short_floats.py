"""Dense layers and convolutions whose products are in floats of 16 bits, bit for bit.

Of binary16 (IEEE half precision), or of bfloat16: a `ShortFloat` says which. x and weights are
rounded to it, halves to even; tensors stay float32. Padding is zero. A window's elements are taken
two by two, in the order of the weights ([rows, columns, channels]; an odd last one with a zero
beside it). Both elements of a pair are multiplied and added to one of two short sums, each with one
rounding. Every `SHORT_PAIRS` pairs, and in the end, both sums are added to a float32, first
that of the first elements, and begin anew with zero. The bias, a float32, is added last, then
bounds hold; the result is not rounded again, unless x or the result are stored in 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.bfloat16 import (
    LARGEST_BFLOAT16,
    TINY_BFLOAT16,
    UNIT_BFLOAT16,
    to_bfloat16,
)
from match_aie.workload.workload import Precision, Workload

Arrays = Mapping[str, np.ndarray]

#: Pairs of products that a short sum takes before it is added to the float32.
SHORT_PAIRS = 16


def to_float16(values: np.ndarray) -> np.ndarray:
    """`values` rounded to binary16, halves to even, as float32; infinite where they are beyond."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(np.float16).astype(np.float32)


def fused_float16(x: np.ndarray, w: np.ndarray, total: np.ndarray) -> np.ndarray:
    """X * w + total of binary16 numbers (as float32), rounded once to binary16.

    A product has 22 bits and is exact in float32. What the sum loses there is known exactly, and is
    kept as an odd last bit (round to odd), so that rounding again is right: 24 bits are two more
    than 11 need.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found, lost = _sum_and_lost(x * w, total)
        return to_float16(_odd(np.asarray(found, np.float32), lost))


def fused_bfloat16(x: np.ndarray, w: np.ndarray, total: np.ndarray) -> np.ndarray:
    """X * w + total of bfloat16 numbers (as float32), rounded once to bfloat16.

    A product has 16 bits, and a range beyond that of float32: it is exact in float64. What the sum
    loses there, and what it loses in float32, is kept as an odd last bit as in `fused_float16`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        wide = [np.asarray(array, np.float64) for array in (x, w, total)]
        found, lost = _sum_and_lost(wide[0] * wide[1], wide[2])
        near = np.asarray(found).astype(np.float32)
        return to_bfloat16(_odd(near, (found - near.astype(np.float64)) + lost))


def _sum_and_lost(product: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum, and what rounding took from it, exactly (Knuth's TwoSum)."""
    found = product + total
    other = found - product
    return found, (product - (found - other)) + (total - other)


def _odd(near: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Of `near`, float32, and the sign of what it lost: the neighbour that is odd, if it is not."""
    bits = near.view(np.int32)
    even = ~np.isnan(near) & (lost != 0) & ((bits & 1) == 0)
    away = np.where((lost > 0) == (near > 0), 1, -1)
    least = np.where(lost > 0, 1, np.int32(-(2**31) + 1))
    moved = np.where(near == 0, least, bits + away)
    kept = np.isnan(lost) | ~even
    return np.asarray(np.where(kept, bits, moved).astype(np.int32)).view(np.float32)


@dataclass(frozen=True)
class ShortFloat:
    """A format of 16 bits that a core multiplies and adds, two numbers an instruction.

    Attributes:
        precision: of layers whose products are of it.
        dtype: of what is stored so.
        unit: relative error of a rounding.
        tiny: absolute error of one below the normal numbers.
        largest: of its numbers.
        rounded: float32 values rounded to it, halves to even, as float32.
        fused: x * w + total of such values, rounded once.
    """

    precision: Precision
    dtype: str
    unit: float
    tiny: float
    largest: float
    rounded: Callable[[np.ndarray], np.ndarray]
    fused: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    @property
    def beyond(self) -> float:
        """From here on the nearest number is infinity: half a step beyond the largest."""
        return self.largest * (1 + self.unit / (2 - 2 * self.unit))

    @property
    def most(self) -> str:
        """Its largest number, for people."""
        return f"{self.largest:,.0f}" if self.largest < 1e6 else f"{self.largest:.3g}"

    def stored(self, values: np.ndarray) -> np.ndarray:
        """`values` rounded to it, as an array of it."""
        if self.dtype == "float16":
            return self.bits(values).view(np.float16)
        import ml_dtypes

        return self.bits(values).view(ml_dtypes.bfloat16)

    def bits(self, values: np.ndarray) -> np.ndarray:
        """`values` rounded to it as they are stored, uint16."""
        if self.dtype == "float16":
            with np.errstate(over="ignore"):
                return np.asarray(values, np.float32).astype(np.float16).view(np.uint16)
        return (self.rounded(values).view(np.uint32) >> 16).astype(np.uint16)


#: IEEE half precision: 11 significant bits.
FLOAT16 = ShortFloat("float16", "float16", 2.0**-11, 2.0**-25, 65504.0, to_float16, fused_float16)
#: The upper half of a float32: 8 significant bits.
BFLOAT16 = ShortFloat(
    "bfloat16_sums",
    "bfloat16",
    UNIT_BFLOAT16,
    TINY_BFLOAT16,
    LARGEST_BFLOAT16,
    to_bfloat16,
    fused_bfloat16,
)


def short_float(workload: Workload) -> ShortFloat | None:
    """Of which format the products of a layer are; None where they are of none of 16 bits."""
    if workload.real is None:
        return None
    return {each.precision: each for each in (FLOAT16, BFLOAT16)}.get(workload.real.precision)


def refuses_short_products(workload: Workload) -> str | None:
    """Why a float32 layer has no meaning with such products; None where it has one."""
    real, d = workload.real, workload.sizes
    if workload.kind not in ("conv2d", "dense") or real is None:
        return f"a {workload.kind} has no products of half precision"
    if real.activation not in ("identity", "relu", "clip") or real.factor != 1.0:
        return f"with products of half precision sums have ReLU and clips, not {real.activation}"
    if "residual" in (operand.name for operand in workload.operands):
        return "it adds a residual, which with products of half precision is a layer of its own"
    if workload.kind == "conv2d" and d["G"] > 1:
        return "its channels are in groups"
    if workload.kind == "dense" and workload.operand("x").axes[0].terms != (("B", 1),):
        return "x lies transposed"
    if workload.kind == "dense" and workload.output.axes[0].terms != (("B", 1),):
        return "its result lies transposed"
    return None


def windows(workload: Workload, x: np.ndarray) -> np.ndarray:
    """What every output position sees of x, in the order of the weights: [positions, taps]."""
    if workload.kind == "dense" or workload.window is None:
        return np.asarray(x.reshape(-1, workload.sizes["C"]))
    d, window = workload.sizes, workload.window
    top, left, bottom, right = window.padding
    wide = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    seen = []
    for fy in range(d["FY"]):
        for fx in range(d["FX"]):
            row, column = fy * window.dilation[0], fx * window.dilation[1]
            rows = slice(row, row + (d["OY"] - 1) * window.stride[0] + 1, window.stride[0])
            last = column + (d["OX"] - 1) * window.stride[1] + 1
            seen.append(wide[:, rows, slice(column, last, window.stride[1])])
    return np.stack(seen, axis=3).reshape(d["B"] * d["OY"] * d["OX"], -1)


def _sums(of: ShortFloat, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Of x [M, pairs, 2] and w [N, pairs, 2], in float32 [M, N]."""
    total = np.zeros((len(x), len(w)), np.float32)
    pairs = x.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, pairs, SHORT_PAIRS):
            both = np.zeros((len(x), len(w), 2), np.float32)
            for at in range(first, min(first + SHORT_PAIRS, pairs)):
                both = of.fused(x[:, None, at], w[None, :, at], both)
            total = (total + both[..., 0]) + both[..., 1]
    return total


def short_products(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, in float32.

    Args:
        workload: whose `RealTail.precision` is that of a `ShortFloat`.
        arrays: by operand name.

    Raises:
        ModelError: the layer has no such meaning.
    """
    refused = refuses_short_products(workload)
    real, of = workload.real, short_float(workload)
    if refused is not None or real is None or of is None:
        raise ModelError(refused or "no float layer")
    weight = of.rounded(arrays["weight"]).reshape(workload.operand("weight").shape[0], -1)
    seen = of.rounded(windows(workload, arrays["x"].astype(np.float32)))
    more = ((0, 0), (0, seen.shape[1] % 2))
    x, w = (np.pad(each, more).reshape(len(each), -1, 2) for each in (seen, weight))
    total = _sums(of, x, w)
    if "bias" in arrays:
        total = total + arrays["bias"]
    lo = np.float32(0.0 if real.activation == "relu" else real.lo)
    total = np.where(total < lo, lo, np.where(total > np.float32(real.hi), real.hi, total))
    total = np.where(np.isnan(total), np.float32(np.nan), total)
    total = np.ascontiguousarray(total.reshape(workload.output.shape), np.float32)
    return total if workload.output.dtype == "float32" else of.stored(total)


def stored_as(workload: Workload, types: Mapping[str, str]) -> Workload:
    """The layer with operands stored in other types, by name."""
    operands = (replace(o, dtype=types.get(o.name, o.dtype)) for o in workload.operands)
    return replace(workload, operands=tuple(operands))
