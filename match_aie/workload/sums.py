"""What a layer sums before it requantises, and in which range: the facts that proofs start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.workload.kinds import FIXED_POINT_KINDS
from match_aie.workload.reference import average_multiplier, whole_image
from match_aie.workload.workload import (
    Operand,
    Tail,
    Workload,
)

Arrays = Mapping[str, np.ndarray]
_INT32_MAX = (1 << 31) - 1
#: Scales between this and its inverse keep float32 products clear of underflow and overflow.
_SMALLEST = 2.0**-50


@dataclass(frozen=True, eq=False)
class Terms:
    """`real = sum over terms of (sum + folded) * scale`, per output channel.

    Arrays are [terms, channels], or [terms, 1] where channels do not differ.

    Attributes:
        scale: float64; what the model multiplies the whole sum by, exactly.
        low: int64; least value of the part of the sum that depends on inputs.
        high: int64; its largest value.
        folded: int64; the rest of the sum, a constant for the offset or the bias.
        folds: whether an offset takes `folded`; else a bias does, where the kind has one.
        raw: whether inputs are summed as they are stored.
        below: int64 [channels], least partial sum in any order; 0 at most.
        above: int64 [channels], largest partial sum; at least 0.
        roundings: float32 operations of the model between the sum and the integer.
        exact_halves: an average of integers that rounds half away from zero.
    """

    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    folded: np.ndarray
    folds: bool
    raw: bool
    below: np.ndarray | None = None
    above: np.ndarray | None = None
    roundings: int = 2
    exact_halves: bool = False

    def multiplier(self, shift: int) -> np.ndarray:
        """The integers nearest to `scale * 2**shift`, int64; those just above it for averages."""
        wide = np.minimum(self.scale * 2.0**shift, 2.0**62)
        if self.exact_halves:
            return np.floor(wide).astype(np.int64) + 1
        return np.rint(wide).astype(np.int64)

    def exact_in_float32(self, multiplier: np.ndarray, shift: int, tail: Tail) -> bool:
        """Whether float32 loses nothing where scales are `multiplier / 2**shift`.

        It holds integers up to 2**24 exactly; larger products may be lost where they saturate.
        """
        if len(self.scale) > 1 or self.roundings > 2:
            return False
        spare = min(trailing_zeros(multiplier), shift)
        multiplier, shift = multiplier >> spare, shift - spare
        span = max(abs(tail.lo - tail.zero_point), abs(tail.hi - tail.zero_point)) + 1
        ends = np.abs(np.stack([self.low + self.folded, self.high + self.folded]))
        most = int((ends * multiplier).max())
        return min(most, (span << shift) + int(multiplier.max())) <= 1 << 24


def trailing_zeros(values: np.ndarray) -> int:
    """By how many bits all of `values` can be shifted right without a loss; 0 for zeros."""
    common = int(np.gcd.reduce(values.ravel()))
    return (common & -common).bit_length() - 1 if common else 0


def sum_range(workload: Workload, constants: Arrays) -> tuple[np.ndarray, np.ndarray] | str:
    """Least and largest sum of a conv2d, dense, mul or add, int64 [channels or 1], bias included.

    Of an `add` the two inputs are added as they are. A sentence where 32 bits may overflow.
    """
    ones = np.ones((2 if workload.kind == "add" else 1, 1))
    found = _RANGES[workload.kind](workload, constants, ones, False, True)
    if isinstance(found, str):
        return found
    return (found.low + found.folded).sum(axis=0), (found.high + found.folded).sum(axis=0)


def terms(workload: Workload, constants: Arrays, *, fold: bool, inputs: str) -> Terms | str | None:
    """What `workload` sums; None where it does not requantise sums; or why it cannot be said.

    Args:
        workload: of any kind.
        constants: by operand name.
        fold: whether constants may be added after the multiplication.
        inputs: "raw", "prefer_raw" or "centred", see `FixedPoint`.
    """
    tail = workload.tail
    if tail is None or workload.kind not in FIXED_POINT_KINDS:
        return None
    scales = _scales(workload, constants)
    if isinstance(scales, str):
        return scales
    known = [abs(o.scale) for o in workload.operands if o.scale is not None]
    if not all(_SMALLEST < s < 1 / _SMALLEST for s in (*known, scales.min(), scales.max())):
        return f"its scales reach from {scales.min():.3g} to {scales.max():.3g}"
    legal = _raw_refusal(workload, fold)
    if legal and inputs == "raw":
        return legal
    raw = inputs != "centred" and not legal
    return _RANGES[workload.kind](workload, constants, scales, raw, fold)


def _scales(workload: Workload, constants: Arrays) -> np.ndarray | str:
    """float64 [terms, channels or 1]; ones where the layer is in fixed point already."""
    kind, tail = workload.kind, workload.tail
    count = 2 if kind == "add" else 1
    if tail is not None and tail.shift is not None:
        given = constants.get("multiplier", np.ones(1))
        return np.ones((count, given.size if count == 1 else 1))
    if kind in ("conv2d", "conv2d_transpose", "dense", "matmul"):
        return constants["scale"].astype(np.float64).reshape(1, -1)
    if kind == "avg_pool2d":
        return _average(workload)
    scaled = [workload.operand("x"), workload.operand("x1"), workload.output]
    if any(operand.scale is None for operand in scaled):
        return "a tensor has no scale"
    x, x1, y = (float(np.float32(operand.scale)) for operand in scaled if operand.scale is not None)
    return np.array([[x / y], [x1 / y]]) if kind == "add" else np.array([[x * x1 / y]])


def _average(workload: Workload) -> np.ndarray | str:
    """The factor from a sum of input steps to output steps, where it is one for all windows."""
    window, d, tail = workload.window, workload.sizes, workload.tail
    assert window is not None
    assert tail is not None
    if _pads(workload) and not window.count_include_pad:
        return "its averages are over different numbers of positions at the border"
    count = d["FY"] * d["FX"]
    if tail.rounding == "half_away":
        return np.array([[1.0 / count]])
    x, y = workload.operand("x").scale, workload.output.scale
    if x is None or y is None:
        return "a tensor has no scale"
    if whole_image(workload):
        return average_multiplier(np.float32(x), np.float32(y), np.array([[count]])).astype(float)
    return np.array([[float(np.float32(x)) / (float(np.float32(y)) * count)]])


def _pads(workload: Workload) -> bool:
    """Whether any window reaches over an edge of the image."""
    window, d = workload.window, workload.sizes
    if window is None:
        return False
    if workload.kind == "conv2d_transpose":
        return True  # phases see different taps, and positions at the edge fewer
    _, rows, columns, _ = workload.operand("x").shape
    last_row = (d["OY"] - 1) * window.stride[0] + (d["FY"] - 1) * window.dilation[0]
    last_column = (d["OX"] - 1) * window.stride[1] + (d["FX"] - 1) * window.dilation[1]
    top, left, _, _ = window.padding
    return bool(top or left or last_row - top >= rows or last_column - left >= columns)


def _raw_refusal(workload: Workload, fold: bool) -> str | None:
    """Why inputs cannot be summed as they are stored; None where they can."""
    points = [o.zero_point for o in workload.operands[:-1] if o.name in ("x", "x1")]
    if not any(points):
        return None
    if workload.kind in ("mul", "matmul"):
        return f"a product of inputs with zero points {points} is no product of stored integers"
    if _pads(workload):
        return f"it is padded with its zero point {points[0]}, and the module pads with 0"
    if not fold and workload.kind not in ("conv2d", "conv2d_transpose", "dense"):
        return "there is no constant into which the zero points could be folded"
    return None


def _ends(operand: Operand, raw: bool, constants: Arrays) -> tuple[int, int]:
    """Least and largest value of an operand, as the hardware sees it; of a constant its own."""
    zero = 0 if raw else operand.zero_point
    known = constants.get(operand.name)
    if operand.constant and known is not None:
        return int(known.min()) - zero, int(known.max()) - zero
    info = np.iinfo(operand.dtype)
    return int(info.min) - zero, int(info.max) - zero


def _weighted(
    workload: Workload, constants: Arrays, scales: np.ndarray, raw: bool, fold: bool
) -> Terms | str:
    """Convolutions and dense: per output channel from its own weights."""
    x = workload.operand("x")
    weight = constants["weight"].astype(np.int64) - workload.operand("weight").zero_point
    weight = weight.reshape(len(weight), -1)
    least, most = _ends(x, raw, constants)
    if _pads(workload):
        least, most = min(least, 0), max(most, 0)
    up, down = np.maximum(weight, 0).sum(axis=1), np.minimum(weight, 0).sum(axis=1)
    low, high = up * least + down * most, up * most + down * least
    before = constants["bias"].astype(np.int64) if "bias" in constants else np.zeros(1, np.int64)
    constant = before - (x.zero_point * weight.sum(axis=1) if raw else 0)
    constant = np.broadcast_to(constant, low.shape)
    above = up * max(most, 0) + down * min(least, 0)
    below = up * min(least, 0) + down * max(most, 0)
    if max(int(above.max()), -int(below.min())) > _INT32_MAX:
        return "the sum can overflow 32 bits"
    return Terms(scales, low[None], high[None], constant[None], fold, raw, below, above)


def _products(
    workload: Workload, constants: Arrays, scales: np.ndarray, raw: bool, fold: bool
) -> Terms | str:
    """Mul and matmul: a sum of products of two inputs."""
    left, right = (_ends(workload.operand(name), raw, constants) for name in ("x", "x1"))
    ends = [a * b for a in left for b in right]
    inner = workload.sizes["C"] if workload.kind == "matmul" else 1
    low, high = min(*ends, 0) * inner, max(*ends, 0) * inner
    if max(-low, high) > _INT32_MAX:
        return "the sum can overflow 32 bits"
    zero = np.zeros((1, 1), np.int64)
    # A product of real values: each dequantised, multiplied, divided; a matmul as conv2d.
    count = 2 if workload.kind == "matmul" else 4
    return Terms(scales, zero + low, zero + high, zero, fold, raw, roundings=count)


def _pair(
    workload: Workload, constants: Arrays, scales: np.ndarray, raw: bool, fold: bool
) -> Terms:
    """add: two terms with a scale each."""
    operands = [workload.operand(name) for name in ("x", "x1")]
    ends = np.array([_ends(operand, raw, constants) for operand in operands], np.int64)
    points = np.array([[-o.zero_point if raw else 0] for o in operands], np.int64)
    return Terms(scales, ends[:, :1], ends[:, 1:], points, fold, raw, roundings=4)


def _pooled(
    workload: Workload, constants: Arrays, scales: np.ndarray, raw: bool, fold: bool
) -> Terms | str:
    """avg_pool2d: the sum over a window; padding that counts adds nothing."""
    x, tail = workload.operand("x"), workload.tail
    assert tail is not None
    count = workload.sizes["FY"] * workload.sizes["FX"]
    low, high = _ends(x, raw, constants)
    ends = np.array([[[min(low, 0) if _pads(workload) else low]], [[high]]], np.int64) * count
    if int(np.abs(ends).max()) > _INT32_MAX:
        return "the sum can overflow 32 bits"
    folded = np.array([[-x.zero_point * count if raw else 0]], np.int64)
    found = Terms(scales, ends[0], ends[1], folded, fold, raw)
    if tail.shift is not None or whole_image(workload):
        return replace(found, exact_halves=tail.shift is None and tail.rounding == "half_away")
    # Element by element in float32: a product each, a sum of all, two quotients.
    return replace(found, roundings=count + 3, exact_halves=tail.rounding == "half_away")


_RANGES = {
    "conv2d": _weighted,
    "conv2d_transpose": _weighted,
    "dense": _weighted,
    "matmul": _products,
    "mul": _products,
    "add": _pair,
    "avg_pool2d": _pooled,
}
