"""Dense layers and convolutions whose products are in binary16, bit for bit.

x and weights are rounded to binary16 (IEEE half precision), halves to even; tensors stay float32.
Padding is zero. A window's elements are taken two by two, in the order of the weights ([rows,
columns, channels]; an odd last one with a zero beside it). Both elements of a pair are multiplied
and added to one of two sums of binary16, each with one rounding. Every `FLOAT16_PAIRS` pairs, and
in the end, both sums are added to a float32, first that of the first elements, and begin anew with
zero. The bias, a float32, is added last, then bounds hold; the result is not rounded again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Relative error of a rounding to binary16, whose numbers have 11 significant bits.
UNIT_FLOAT16 = 2.0**-11

#: Absolute error of one below the normal numbers.
TINY_FLOAT16 = 2.0**-25

#: Largest of its numbers.
LARGEST_FLOAT16 = 65504.0

#: Pairs of products that a sum of binary16 takes before it is added to the float32.
FLOAT16_PAIRS = 16


def to_float16(values: np.ndarray) -> np.ndarray:
    """`values` rounded to binary16, halves to even, as float32; infinite where they are beyond."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(np.float16).astype(np.float32)


def fused(x: np.ndarray, w: np.ndarray, total: np.ndarray) -> np.ndarray:
    """X * w + total of binary16 numbers (as float32), rounded once to binary16.

    A product has 22 bits and is exact in float32. What the sum loses there is known exactly, and is
    kept as an odd last bit (round to odd), so that rounding again is right: 24 bits are two more
    than 11 need.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        product = x * w
        found = np.asarray(product + total, np.float32)
        other = found - product
        lost = (product - (found - other)) + (total - other)
        bits = found.view(np.int32)
        even = np.isfinite(found) & (lost != 0) & ((bits & 1) == 0)
        away = np.where((lost > 0) == (found > 0), 1, -1)
        odd = (bits + np.where(even, away, 0)).astype(np.int32).view(np.float32)
        return to_float16(odd)


def refuses_float16(workload: Workload) -> str | None:
    """Why a float32 layer has no meaning with products of binary16; None where it has one."""
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


def _sums(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Of x [M, pairs, 2] and w [N, pairs, 2], in float32 [M, N]."""
    total = np.zeros((len(x), len(w)), np.float32)
    pairs = x.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, pairs, FLOAT16_PAIRS):
            both = np.zeros((len(x), len(w), 2), np.float32)
            for at in range(first, min(first + FLOAT16_PAIRS, pairs)):
                both = fused(x[:, None, at], w[None, :, at], both)
            total = (total + both[..., 0]) + both[..., 1]
    return total


def products_float16(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, in float32.

    Args:
        workload: whose `RealTail.precision` is "float16".
        arrays: by operand name.

    Raises:
        ModelError: the layer has no such meaning.
    """
    refused = refuses_float16(workload)
    real = workload.real
    if refused is not None or real is None:
        raise ModelError(refused or "no float layer")
    weight = to_float16(arrays["weight"]).reshape(workload.operand("weight").shape[0], -1)
    seen = to_float16(windows(workload, arrays["x"]))
    more = ((0, 0), (0, seen.shape[1] % 2))
    x, w = (np.pad(each, more).reshape(len(each), -1, 2) for each in (seen, weight))
    total = _sums(x, w)
    if "bias" in arrays:
        total = total + arrays["bias"]
    lo = np.float32(0.0 if real.activation == "relu" else real.lo)
    total = np.where(total < lo, lo, np.where(total > np.float32(real.hi), real.hi, total))
    total = np.where(np.isnan(total), np.float32(np.nan), total)
    return np.ascontiguousarray(total.reshape(workload.output.shape), np.float32)
