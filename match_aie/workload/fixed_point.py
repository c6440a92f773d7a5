"""From float32 scales to a module's own fixed point, with proofs: `(acc * M + B) >> S`.

For one output channel let `acc` be the layer's exact sum, `s` the float32 scale by which the model
multiplies it, and `M / 2**S` what the module multiplies it by. Then

- nothing overflows, because the range of `acc` follows from the actual weights and the range of
  the input's element type, and products and sums at both ends of it fit `FixedPoint.bits`;
- what the two round differs by a linear function of `acc` where neither saturates, so by no more
  than at the ends, plus what float32 loses (two roundings of 2**-24; more for `add` and pools).

One shift `S` serves the layer, `M` is per channel. The largest `S` that fits is taken: it makes
every `M` as precise as it can be. `B` makes both agree in the middle of the range. A layer whose
bound reaches `max_error_lsb` is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from match_aie.workload.fixed import Converted, with_fixed_tail
from match_aie.workload.sums import Terms, terms, trailing_zeros
from match_aie.workload.workload import Rounding, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Relative error of one float32 operation.
_UNIT = 2.0**-24
#: Stands for "only halves may round differently": no difference in value, yet not bit for bit.
TIES_ONLY = 2.0**-40
#: Bounds are computed in float64, of terms below 2**32 steps: more than all its own errors.
_FLOAT64 = 2.0**-18


#: How a module reads its inputs.
Inputs = Literal["raw", "prefer_raw", "centred"]


@dataclass(frozen=True)
class FixedPoint:
    """What a module's requantisation can do.

    Attributes:
        multiplier_bits: of the unsigned multiplier; 0 where there is none, so that scales must be
            one power of two.
        per_channel: a multiplier per output channel, else one per tensor.
        max_shift: largest shift.
        bits: width of products and of their sum with the offset, sign included.
        rounding: of the shift.
        offset: whether a constant per channel is added after the multiplication. Bias, zero
            points and rounding to the nearest (where the shift rounds down) are folded into it.
            Without it they stay where they are: bias before, zero point of the output after.
        inputs: "raw" where the hardware sums integers as they are stored and pads with 0, so
            that zero points must be folded; "prefer_raw" where it can also subtract zero points;
            "centred" where it always does.
        max_error_lsb: a layer with a bound of this or more is refused.
    """

    multiplier_bits: int = 16
    per_channel: bool = True
    max_shift: int = 31
    bits: int = 32
    rounding: Rounding = "floor"
    offset: bool = True
    inputs: Inputs = "raw"
    max_error_lsb: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no int32 operand holds."""
        if not 0 <= self.multiplier_bits <= 31 or not 0 <= self.max_shift < self.bits <= 64:
            raise ValueError(
                f"{self.multiplier_bits}-bit multipliers, shifts to {self.max_shift} in "
                f"{self.bits} bits"
            )
        for word, words in ((self.inputs, get_args(Inputs)), (self.rounding, get_args(Rounding))):
            if word not in words:
                raise ValueError(f"{word!r}: one of {', '.join(words)}")


@dataclass(frozen=True, eq=False)
class _Choice:
    """Integers that stand for a layer's scales: `(M * sum + constant + extra) >> S`.

    Attributes:
        shift: S.
        multiplier: M, int64 [terms, channels or 1].
        constant: stands for what is folded out of the sum, int64 [channels or 1].
        extra: rounds to the nearest and holds the output's zero point, int64 [channels or 1].
        bias: where it stays in the sum, int64 [channels]; `constant` is then `M * bias`.
        error_lsb: bound of the difference.
    """

    shift: int
    multiplier: np.ndarray
    constant: np.ndarray
    extra: np.ndarray
    bias: np.ndarray | None = None
    error_lsb: float = 0.0

    @property
    def offset(self) -> np.ndarray:
        """What is added after the multiplication."""
        return np.asarray(self.constant + self.extra)


def to_fixed_point(workload: Workload, constants: Arrays, how: FixedPoint) -> Converted | str:
    """`workload` in fixed point, with its constants, or a sentence saying why not.

    Layers that do not requantise (no tail, pooling of maxima) and those that compute with real
    values (softmax, quantize, dequantize) stay as they are. A layer that is in fixed point already
    is brought into the form that `how` describes, exactly.

    Args:
        workload: of any kind.
        constants: by operand name.
        how: what the module can do.
    """
    if workload.added:
        return "its results take sums along, which are in the model's arithmetic"
    if workload.tail is None and workload.macs and how.inputs != "centred":
        # The sum itself: bias and zero points still go where the module has them.
        limits = np.iinfo(np.int32)
        stored = Tail(0, int(limits.min), int(limits.max), how.rounding, 0, how.bits)
        workload = replace(workload, tail=stored)
    tail = workload.tail
    found = terms(workload, constants, fold=how.offset, inputs=how.inputs)
    if isinstance(found, str):
        return found
    if found is None or tail is None:
        return Converted(workload, constants)
    if tail.shift is not None:
        choice = _as_it_is(found, tail, constants, how)
    elif how.multiplier_bits == 0:
        choice = _power_of_two(found, tail, how)
    else:
        choice = _largest_shift(found, tail, how)
    return (
        choice if isinstance(choice, str) else _converted(workload, constants, found, choice, how)
    )


def _converted(
    workload: Workload, constants: Arrays, found: Terms, choice: _Choice, how: FixedPoint
) -> Converted:
    assert workload.tail is not None
    # Where an offset is, the output's zero point is in it.
    zero_point = 0 if how.offset else workload.tail.zero_point
    tail = replace(
        workload.tail,
        zero_point=zero_point,
        rounding=how.rounding,
        shift=choice.shift,
        bits=how.bits,
    )
    integers = {} if choice.bias is None else {"bias": choice.bias}
    if how.multiplier_bits:
        integers["multiplier"] = _multiplier_operand(workload, choice, how)
    if how.offset:
        integers["offset"] = _per_channel(workload, choice.offset)
    changed = with_fixed_tail(
        workload,
        tail,
        multiplier=integers["multiplier"].size if how.multiplier_bits else 0,
        offset=integers["offset"].size if how.offset else 0,
        bias=not how.offset,
        raw=found.raw,
    )
    fresh = {name: np.ascontiguousarray(v.astype(np.int32)) for name, v in integers.items()}
    values = {o.name: fresh.get(o.name, constants.get(o.name)) for o in changed.constants}
    known = {name: value for name, value in values.items() if value is not None}
    return Converted(changed, known, choice.error_lsb)


def _multiplier_operand(workload: Workload, choice: _Choice, how: FixedPoint) -> np.ndarray:
    if workload.kind == "add":
        return np.asarray(choice.multiplier[:, 0])
    if not how.per_channel:
        return np.asarray(choice.multiplier[0, :1])
    return _per_channel(workload, choice.multiplier[0])


def _per_channel(workload: Workload, value: np.ndarray) -> np.ndarray:
    """One element per output channel where weights are, as hardware stores it; else as it is."""
    if workload.kind not in ("conv2d", "conv2d_transpose", "dense"):
        return value
    return np.asarray(np.broadcast_to(value, (workload.output.shape[-1],)))


def _extra(shift: int, rounding: Rounding, tail: Tail, how: FixedPoint) -> np.ndarray:
    """The part of the offset that rounds to the nearest, and the output's zero point."""
    if not how.offset:
        return np.zeros(1, np.int64)
    nearest = 1 << shift - 1 if shift and how.rounding == "floor" and rounding != "floor" else 0
    return np.array([nearest + (tail.zero_point << shift)], np.int64)


def _overflow(found: Terms, choice: _Choice, how: FixedPoint) -> str | None:
    """What does not fit for some input, or None where everything is proven to fit."""
    most = (1 << how.bits - 1) - 1
    if how.offset and int(np.abs(choice.offset).max()) >= 1 << 31:
        return "the offset leaves 32 bits"
    low, high = choice.multiplier * found.low, choice.multiplier * found.high
    ends = [low.sum(axis=0) + choice.offset, high.sum(axis=0) + choice.offset]
    if choice.bias is None:
        ends += [low, high, low.sum(axis=0), high.sum(axis=0)]
    elif _sum_overflows(found, choice.bias):
        return "the sum can overflow 32 bits"
    if any(end.min() < -most - 1 or end.max() > most for end in ends):
        return f"a sum times its multiplier can overflow {how.bits} bits"
    return None


def _sum_overflows(found: Terms, bias: np.ndarray) -> bool:
    assert found.above is not None
    assert found.below is not None
    above, below = found.above + np.maximum(bias, 0), found.below + np.minimum(bias, 0)
    return bool(above.max() >= 1 << 31 or below.min() <= -(1 << 31))


def _largest_shift(found: Terms, tail: Tail, how: FixedPoint) -> _Choice | str:
    """M per channel and the largest S with which nothing overflows."""
    if not how.per_channel and np.unique(found.scale[0]).size > 1:
        return "its scales differ per channel, and the module has one multiplier per layer"
    for shift in range(how.max_shift, -1, -1):
        multiplier = found.multiplier(shift)
        if multiplier.max() >= 1 << how.multiplier_bits:
            continue
        if np.array_equal(multiplier / 2.0**shift, found.scale):
            # Exact, and as exact with fewer bits.
            spare = min(trailing_zeros(multiplier), shift)
            multiplier, shift = multiplier >> spare, shift - spare
        choice = _chosen(found, multiplier, shift, tail, how)
        if _overflow(found, choice, how):
            continue
        error = _error(found, choice, tail, how)
        if error < how.max_error_lsb:
            return replace(choice, error_lsb=error)
        return (
            f"a {how.multiplier_bits}-bit multiplier and a shift within {how.bits} bits can be "
            f"{error:.2g} LSB from the model"
        )
    return (
        f"no {how.multiplier_bits}-bit multiplier and shift exclude an overflow of {how.bits} bits"
    )


def _chosen(
    found: Terms, multiplier: np.ndarray, shift: int, tail: Tail, how: FixedPoint
) -> _Choice:
    """The constant, or the bias, that makes the largest difference over all sums smallest.

    It is `M * folded`, corrected so that the two arithmetics agree in the middle of the sums that
    do not saturate. A channel whose sum hardly varies (a pruned one is its bias) then needs no
    precise multiplier at all.
    """
    extra = _extra(shift, "half_up", tail, how)
    exact = (multiplier * found.folded).sum(axis=0)
    if found.exact_halves or (not found.folds and found.above is None):
        return _Choice(shift, multiplier, exact, extra)
    least, most = found.low + found.folded, found.high + found.folded
    if len(found.scale) == 1:
        bottom = (tail.lo - tail.zero_point) / found.scale
        top = (tail.hi - tail.zero_point) / found.scale
        least, most = np.clip(bottom, least, most), np.clip(top, least, most)
    if found.folds:
        rest = (found.scale * 2.0**shift - multiplier) * (least + most) / 2
        constant = exact + np.rint(rest.sum(axis=0)).astype(np.int64)
        return _Choice(shift, multiplier, constant, extra)
    multiplier = np.maximum(multiplier, 1)
    rest = (found.scale * 2.0**shift - multiplier) * (least + most) / 2 / multiplier
    bias = (found.folded + np.rint(rest).astype(np.int64))[0]
    return _Choice(shift, multiplier, multiplier[0] * bias, extra, bias)


def _power_of_two(found: Terms, tail: Tail, how: FixedPoint) -> _Choice | str:
    """No multiplier: every scale is 2**-S."""
    mantissa, exponent = np.frexp(found.scale)
    shift = 1 - int(exponent.flat[0])
    if np.any(mantissa != 0.5) or np.any(exponent != exponent.flat[0]):
        return "its scales are not one power of two, and the module has no multiplier"
    if not 0 <= shift <= how.max_shift:
        return f"it needs a shift by {shift}, and the module shifts by 0 to {how.max_shift}"
    ones = np.ones(found.scale.shape, np.int64)
    extra = _extra(shift, "half_up", tail, how)
    bias = None if found.folds or found.above is None else found.folded[0]
    choice = _Choice(shift, ones, found.folded.sum(axis=0), extra, bias)
    reason = _overflow(found, choice, how)
    return reason or replace(choice, error_lsb=_error(found, choice, tail, how))


def _as_it_is(found: Terms, tail: Tail, constants: Arrays, how: FixedPoint) -> _Choice | str:
    """A layer that is in fixed point already: the same integers in the module's form."""
    assert tail.shift is not None
    folds = how.offset and (how.rounding, tail.rounding) == ("floor", "half_up")
    if tail.shift and tail.rounding != how.rounding and not folds:
        return f"it rounds {tail.rounding}, and the module rounds {how.rounding}"
    if tail.shift > how.max_shift:
        return f"it needs a shift by {tail.shift}, and the module shifts by 0 to {how.max_shift}"
    given = constants.get("multiplier", np.ones(1, np.int64)).astype(np.int64)
    multiplier = np.resize(given, found.scale.shape)
    if multiplier.min() < 0 or multiplier.max() >= max(2, 1 << how.multiplier_bits):
        return f"its multiplier does not fit {how.multiplier_bits} unsigned bits"
    if not how.per_channel and np.unique(multiplier[0]).size > 1:
        return "its multipliers differ per channel, and the module has one per layer"
    added = constants.get("offset", np.zeros(1, np.int64)).astype(np.int64)
    if np.any(added) and not how.offset:
        return "it adds an offset after its multiplier, and the module cannot"
    constant = (multiplier * found.folded).sum(axis=0) + added
    extra = _extra(tail.shift, tail.rounding, tail, how)
    bias = None if found.folds or found.above is None else found.folded[0]
    choice = _Choice(tail.shift, multiplier, constant, extra, bias)
    return _overflow(found, choice, how) or choice


def _error(found: Terms, choice: _Choice, tail: Tail, how: FixedPoint) -> float:
    """Bound of the difference between what the two arithmetics round, over all channels."""
    down = 0.5 if how.rounding == "floor" and choice.shift and not how.offset else 0.0
    if found.exact_halves and _keeps_halves(found, choice) and not down:
        return 0.0
    ratio = choice.multiplier / 2.0**choice.shift
    exact = np.array_equal(ratio, found.scale) and not np.any(_moved(found, choice))
    if exact and found.exact_in_float32(choice.multiplier, choice.shift, tail):
        model = "half_away" if found.exact_halves else "half_even"
        nearest = choice.shift == 0 or how.rounding == model
        return 0.0 if nearest else down + TIES_ONLY
    gap = _gap_of_one(found, choice, tail) if len(ratio) == 1 else _gap_of_sum(found, choice)
    return gap + _FLOAT64 + _lost(found, tail) + down


def _moved(found: Terms, choice: _Choice) -> np.ndarray:
    """By how much the constant is not `M * folded`, int64 [channels or 1]."""
    return np.asarray(choice.constant - (choice.multiplier * found.folded).sum(axis=0))


def _gap_of_one(found: Terms, choice: _Choice, tail: Tail) -> float:
    """Largest difference of `clamp(s * (sum + folded))` and `clamp((M * sum + constant) / 2**S)`.

    Both are piecewise linear in the sum, so the largest difference is at an end of the range or
    where one of the two starts to saturate. In float64: sums are below 2**32 and constants below
    2**48, so that its errors stay below `_FLOAT64` steps.
    """
    low, high = (np.asarray(end[0], np.float64) for end in (found.low, found.high))
    scale, ratio = found.scale[0], choice.multiplier[0] / 2.0**choice.shift
    # Of the whole sum: u = s * a and v = M / 2**S * a + moved / 2**S.
    whole = found.folded[0].astype(np.float64)
    moved = _moved(found, choice) / 2.0**choice.shift
    bounds = (tail.lo - tail.zero_point, tail.hi - tail.zero_point)
    with np.errstate(divide="ignore", invalid="ignore"):
        corners = [bound / scale for bound in bounds]
        corners += [(bound - moved) / ratio for bound in bounds]
    points = [low + whole, high + whole]
    points += [np.clip(np.nan_to_num(corner), *points[:2]) for corner in corners]
    return max(
        float(np.abs(np.clip(scale * a, *bounds) - np.clip(ratio * a + moved, *bounds)).max())
        for a in points
    )


def _gap_of_sum(found: Terms, choice: _Choice) -> float:
    """Largest difference of two sums of products: at one of the ends of every term."""
    difference = choice.multiplier / 2.0**choice.shift - found.scale
    ends = [difference * (end + found.folded) for end in (found.low, found.high)]
    moved = _moved(found, choice) / 2.0**choice.shift
    most = np.maximum(*ends).sum(axis=0) + moved
    least = np.minimum(*ends).sum(axis=0) + moved
    return float(max(most.max(), -least.min()))


def _lost(found: Terms, tail: Tail) -> float:
    """What the model's float32 operations lose, in steps of the output."""
    ends = [np.abs(end + found.folded) * found.scale for end in (found.low, found.high)]
    largest = float(np.maximum(*ends).sum(axis=0).max())
    if found.roundings == 2:
        # One product: beyond the bounds it saturates. A float32 sum loses by its terms instead.
        largest = min(
            largest, 1.0 + max(abs(tail.lo - tail.zero_point), abs(tail.hi - tail.zero_point))
        )
    unit = found.roundings * _UNIT
    return largest * unit / (1 - unit)


def _keeps_halves(found: Terms, choice: _Choice) -> bool:
    """Whether an average of integers rounds half away from zero, as the model does.

    Its multiplier is larger than 1 / n, so halves move away from zero, and they move by less than
    the distance 1 / (2 * n) of the nearest other average.
    """
    count = round(1.0 / float(found.scale.flat[0]))
    ends = np.abs(np.stack([found.low + found.folded, found.high + found.folded]))
    over = int(choice.multiplier.flat[0]) * count - (1 << choice.shift)
    return over > 0 and 2 * int(ends.max()) * over < 1 << choice.shift
