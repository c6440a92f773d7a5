"""Rows in bfloat16, bit for bit: softmax, norms, sums and products of two tensors, functions.

x, the second tensor and weights are rounded to bfloat16, halves to even; so is each result, once,
at the end. In between are float32 numbers, each operation rounded. Cores multiply bfloat16 numbers
only, whose products are exact: a float32 number is the sum of two of these, `high` and `low`, but
for 2^-17 of itself, and a product of two such is four products, summed in the order written here.
Sums along a row are of 16 lanes, element i in lane i modulo 16, then of halves of the lanes.

Softmax: with d = max(x - top, -64), t = d log2(e), k the integer nearest to 128 t and
r = t - k / 128, exp(d) is 2^(k / 128), out of a table and an exponent, times 1 + r ln(2).
Reciprocals and inverse roots are Newton's steps from a guess by the number's bits. The top of a
row is finite: one of which a mask leaves nothing, as large negative floats round to minus infinity,
has equal shares. What fills a row up counts exp(-64) each, which is taken off the sum.

Layer norm: elements less the first one of their row, then less the mean of these; so a row that is
far from 0 keeps its digits. RMS norm: elements as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.bfloat16 import LARGEST_BFLOAT16, starting, to_bfloat16
from match_aie.workload.functions_bfloat16 import FUNCTIONS, function_table, patterns, values_of
from match_aie.workload.kinds import Kind
from match_aie.workload.workload import (
    Axis,
    Operand,
    Workload,
)

Arrays = Mapping[str, np.ndarray]
Floats = np.ndarray

#: Lanes that add up side by side.
LANES = 16

#: Bits of a fraction of an exponent: entries of the table of powers of two.
FRACTION = 7

#: Distances from a row's largest element that still count.
FARTHEST = np.float32(-64.0)

#: Adding it leaves `FRACTION` bits behind the point.
MAGIC = np.float32(1.5 * 2 ** (23 - FRACTION))

#: What guesses of 1 / x and 1 / sqrt(x) take the bits of x, or half of them, from.
INVERSE, INVERSE_ROOT = 0x7EF311C7, 0x5F375A86

#: Newton's steps: the first guess is within 1/8, and within 1/28.
INVERSE_STEPS, ROOT_STEPS = 3, 2

ONE, TWO, HALF, SOME = (np.float32(v) for v in (1.0, 2.0, 0.5, 1.5))


@dataclass(frozen=True, eq=False)
class Split:
    """Float32 numbers as sums of two bfloat16 numbers."""

    high: Floats
    low: Floats

    @staticmethod
    def of(value: Floats) -> Split:
        """The nearest one, and what is left."""
        high = to_bfloat16(value)
        return Split(high, to_bfloat16(value - high))

    def __mul__(self, other: Split) -> Floats:
        """The product, float32."""
        total = self.high * other.high + self.high * other.low
        return np.asarray(total + self.low * other.high + self.low * other.low)


#: Powers of two between 1 and 2, float32.
POWERS = np.exp2(np.arange(1 << FRACTION) / (1 << FRACTION)).astype(np.float32)

LOG2_E = Split.of(np.array(np.log2(np.e), np.float32))
LN_2 = to_bfloat16(np.array(np.log(2.0), np.float32))


def lanes(values: Floats) -> Floats:
    """Sums [B, LANES] of rows [B, K], K whole vectors, lane by lane."""
    total = np.zeros((len(values), LANES), np.float32)
    for at in range(0, values.shape[1], LANES):
        total = total + values[:, at : at + LANES]
    return total


def halved(total: Floats) -> Floats:
    """Sums [B, 1] of lanes: of halves of them, again and again."""
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    return total


def filled(x: Floats, value: float) -> Floats:
    """Rows with as many elements more as make whole vectors."""
    more = -x.shape[1] % LANES
    return np.pad(x, ((0, 0), (0, more)), constant_values=np.float32(value))


def exponentials(below: Floats) -> Floats:
    """Exp of numbers that are not positive."""
    d = Split.of(np.maximum(below, FARTHEST))
    t = d.high * LOG2_E.high + d.high * LOG2_E.low + d.low * LOG2_E.high
    shifted = t + MAGIC
    rest = to_bfloat16(t - (shifted - MAGIC))
    steps = shifted.view(np.int32) - MAGIC.view(np.int32)
    whole = steps >> FRACTION
    bits = POWERS.view(np.int32)[steps & (1 << FRACTION) - 1] + (whole << 23)
    power = bits.astype(np.int32).view(np.float32)
    return np.asarray(power + to_bfloat16(power) * to_bfloat16(rest * LN_2))


def inverse(value: Floats) -> Floats:
    """Nearly 1 / value, of positive numbers."""
    exact = Split.of(value)
    guess = (INVERSE - value.view(np.int32)).astype(np.int32).view(np.float32)
    for _ in range(INVERSE_STEPS):
        parts = Split.of(guess)
        guess = parts * Split.of(TWO - exact * parts)
    return guess


def inverse_root(value: Floats) -> Floats:
    """Nearly 1 / sqrt(value), of positive numbers."""
    exact, bits = Split.of(value), value.view(np.int32)
    halved = (bits >> 1) + (bits & 3 == 3)  # halves to even
    guess = (INVERSE_ROOT - halved).astype(np.int32).view(np.float32)
    for _ in range(ROOT_STEPS):
        parts = Split.of(guess)
        found = Split.of(exact * Split.of(parts * parts))
        guess = parts * Split.of(SOME - HALF * found.high - HALF * found.low)
    return np.asarray(guess)


def beside(columns: int) -> Floats:
    """What fills up a row of so many elements adds to the sum of its exponentials."""
    least = exponentials(np.full(1, FARTHEST))[0]
    return np.array(-columns % LANES * least, np.float32)


def softmax_rows(x: Floats) -> Floats:
    """Softmaxes of rows [B, K], before they are rounded."""
    wide = filled(to_bfloat16(x), -np.inf)
    top = wide.max(axis=1, keepdims=True).clip(-LARGEST_BFLOAT16, LARGEST_BFLOAT16)
    powers = exponentials(wide - top)
    scale = Split.of(inverse(halved(lanes(powers)) - beside(x.shape[1])))
    return np.asarray((Split.of(powers) * scale)[:, : x.shape[1]])


def share_of(columns: int) -> Floats:
    """What a sum of so many elements is multiplied by."""
    return np.array(1.0 / columns, np.float32)


def mean(total: Floats, columns: int) -> Floats:
    """Sums over their number, to the last bits of float32: of three bfloat16 numbers each."""
    a, b = Split.of(total), Split.of(share_of(columns))
    rest_a = to_bfloat16(total - a.high - a.low)
    rest_b = to_bfloat16(share_of(columns) - b.high - b.low)
    found = a * b + a.high * rest_b
    return np.asarray(found + rest_a * b.high)


def rms_rows(x: Floats, weight: Floats, epsilon: float) -> Floats:
    """RMS norms of rows [B, K], before they are rounded."""
    wide, w = to_bfloat16(x), to_bfloat16(weight)
    scale = _scale(halved(lanes(filled(wide * wide, 0.0))), x.shape[1], epsilon)
    normal = Split.of(wide * scale.high + wide * scale.low)
    return np.asarray(normal.high * w + normal.low * w)


def layer_norm_rows(x: Floats, weight: Floats, bias: Floats, epsilon: float) -> Floats:
    """Layer norms of rows [B, K], before they are rounded."""
    wide, w, columns = to_bfloat16(x), to_bfloat16(weight), x.shape[1]
    apart = wide - wide[:, :1]
    centred = Split.of(apart - mean(halved(lanes(filled(apart, 0.0))), columns))
    squares, cross = (
        lanes(filled(centred.high * side, 0.0)) for side in (centred.high, centred.low)
    )
    normal = Split.of(centred * _scale(halved(squares + cross + cross), columns, epsilon))
    return np.asarray(starting(bias) + normal.high * w + normal.low * w)


def _scale(power: Floats, columns: int, epsilon: float) -> Split:
    """1 / sqrt(mean square + epsilon), of sums of squares."""
    mean_square = Split.of(power) * Split.of(share_of(columns))
    return Split.of(inverse_root(mean_square + np.float32(epsilon)))


def _softmax(workload: Workload, arrays: Arrays) -> Floats:
    del workload
    return softmax_rows(arrays["x"])


def _layer_norm(workload: Workload, arrays: Arrays) -> Floats:
    epsilon = workload.parameter("epsilon")
    return layer_norm_rows(arrays["x"], arrays["weight"], arrays["bias"], epsilon)


def _rms_norm(workload: Workload, arrays: Arrays) -> Floats:
    return rms_rows(arrays["x"], arrays["weight"], workload.parameter("epsilon"))


def _add(workload: Workload, arrays: Arrays) -> Floats:
    del workload
    return np.asarray(to_bfloat16(arrays["x"]) + to_bfloat16(arrays["x1"]))


def _mul(workload: Workload, arrays: Arrays) -> Floats:
    del workload
    return np.asarray(to_bfloat16(arrays["x"]) * to_bfloat16(arrays["x1"]))


def _function(workload: Workload, arrays: Arrays) -> Floats:
    assert workload.real is not None
    return values_of(function_table(workload.real.activation)(patterns(arrays["x"])))


_MEANING: Mapping[Kind, Callable[[Workload, Arrays], Floats]] = {
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "add": _add,
    "mul": _mul,
    "function": _function,
}

#: Kinds whose rows have a meaning in bfloat16.
ROWS_BFLOAT16 = frozenset(_MEANING)


def refuses_rows_bfloat16(workload: Workload) -> str | None:
    """Why rows of float32 have no meaning in bfloat16; None where they have one."""
    real = workload.real
    if workload.kind not in _MEANING or real is None:
        return f"a {workload.kind} has no meaning in bfloat16"
    if workload.run_time:
        return "its sizes are given by a run"
    if workload.kind == "function":
        known = real.activation in FUNCTIONS
        return None if known else f"there is no table of {real.activation}"
    if real.activation != "identity" or real.factor != 1.0:
        return f"in bfloat16 {real.activation} is a layer of its own"
    if workload.kind in ("add", "mul") and len({o.shape for o in workload.operands}) > 1:
        return f"it combines tensors of shapes {[list(o.shape) for o in workload.inputs]}"
    return None


def with_tables(workload: Workload) -> tuple[Workload, dict[str, np.ndarray]]:
    """A layer of rows and the constants that its kernel reads beside the layer's own."""
    if workload.kind == "softmax":
        entries = POWERS.view(np.int32)
    elif workload.kind == "function" and workload.real is not None:
        entries = function_table(workload.real.activation).entries
    else:
        return workload, {}
    table = Operand("table", entries.dtype.name, entries.shape, (Axis(()),), True)
    *others, last = workload.operands
    return replace(workload, operands=(*others, table, last)), {"table": entries}


def rows_bfloat16(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, float32 of bfloat16 values.

    Raises:
        ModelError: the layer has no such meaning.
    """
    refused = refuses_rows_bfloat16(workload)
    if refused is not None:
        raise ModelError(refused)
    with np.errstate(all="ignore"):
        stored = to_bfloat16(_MEANING[workload.kind](workload, arrays))
    return np.ascontiguousarray(stored.reshape(workload.output.shape))
