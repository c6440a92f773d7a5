"""Layers for an analog array whose sums pass a converter of few bits, and how far these are off.

For one output channel let `acc` be the sum of products of inputs and ternary weights, `b` the bias,
`s` the scale of sums and `z` the output's zero point. The array computes

    q = clip(acc // gain, -2**(bits - 1), 2**(bits - 1) - 1)
    y = clip((q * multiplier + offset) >> shift, lo, hi)

with one gain for the layer. The model rounds `s * (acc + b) + z`, which it clips to lo .. hi. So
sums matter from where that is `lo - 1/2` on, up to `hi + 1/2`, as far as inputs can take them: the
gain is the least whole number with which all of these are converted. A step of the converter stands
for `gain` sums, and for their middle, so a sum is off by `(gain - 1) / 2` at most:

    multiplier = round(s * gain * 2**shift)
    offset = round((s * ((gain - 1) / 2 + b) + z + 1/2) * 2**shift)

The shift is the largest with which nothing leaves the register. Before rounding the difference is
`s * (gain - 1) / 2` at most, and what both roundings above lose. Sums beyond the converter's range
are stored as its ends are; the model stores lo or hi there, no farther from these than at the ends.

The converter's noise is not part of this meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.workload.fixed import Converted, with_fixed_tail
from match_aie.workload.workload import Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Two float32 operations of the model's, doubled for what is lost of second order.
_TWO_ROUNDINGS = 4 * 2.0**-24


@dataclass(frozen=True)
class Converter:
    """What an analog array reads, converts, and computes behind its converter.

    Attributes:
        input_most: largest magnitude of an input.
        bits: of a converted sum, sign included.
        register_bits: of products with the multiplier, of their sums with the offset, and of both.
    """

    input_most: int
    bits: int
    register_bits: int

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest converted sum."""
        half = 1 << self.bits - 1
        return -half, half - 1


def converted_sums(acc: np.ndarray, workload: Workload) -> np.ndarray:
    """Sums as the layer's converter gives them, int64; as they are where it has none."""
    known = dict(workload.parameters)
    if "gain" not in known:
        return acc
    low, high = Converter(0, int(known["converter_bits"]), 0).ends
    return np.asarray(np.clip(acc // int(known["gain"]), low, high))


def to_converter(workload: Workload, constants: Arrays, how: Converter) -> Converted | str:
    """A convolution or dense layer as an analog array computes it, with a proven bound; or why not.

    Args:
        workload: in the model's arithmetic, with a zero point of 0 of its input, which is within
            `how.input_most`.
        constants: by operand name.
        how: what the array has.
    """
    tail = workload.tail
    if workload.kind not in ("conv2d", "dense") or tail is None or tail.shift is not None:
        return f"a {workload.kind} in this form has no sums that the array converts"
    if workload.added:
        return "its results take sums along, which are in the model's arithmetic"
    weight = constants["weight"].reshape(workload.output.shape[-1], -1)
    if np.abs(weight.astype(np.int64)).max(initial=0) > 1:
        return "its weights are not all -1, 0 or 1"
    channels = len(weight)
    scale = np.broadcast_to(constants["scale"].astype(np.float64).reshape(-1), (channels,))
    bias = np.broadcast_to(constants.get("bias", np.zeros(1)).astype(np.float64), (channels,))
    reach = how.input_most * np.abs(weight.astype(np.float64)).sum(axis=1)
    gain = _gain(scale, bias, reach, tail, how)
    found = _factors(scale, bias, gain, tail, how)
    if found is None:
        return f"its scales or its bias leave {how.register_bits} bits behind the converter"
    shift, multiplier, offset = found
    fixed = Tail(0, tail.lo, tail.hi, "floor", shift, how.register_bits)
    changed = with_fixed_tail(
        workload, fixed, multiplier=channels, offset=channels, bias=False, raw=True
    )
    numbers = (("gain", float(gain)), ("converter_bits", float(how.bits)))
    changed = replace(changed, parameters=(*workload.parameters, *numbers))
    fresh = {
        "multiplier": multiplier.astype(np.int32),
        "offset": offset.astype(np.int32),
        "weight": constants["weight"],
    }
    middle = (gain - 1) / 2
    real = scale * (middle + bias) + tail.zero_point + 0.5
    lost = np.abs(multiplier / 2.0**shift - scale * gain) * -how.ends[0]
    lost = lost + np.abs(offset / 2.0**shift - real) + scale * middle
    largest = 1.0 + max(abs(tail.lo - tail.zero_point), abs(tail.hi - tail.zero_point))
    # The shift rounds down to a multiple of its unit: the half in the offset is not lost again.
    return Converted(changed, fresh, float(lost.max()) + largest * _TWO_ROUNDINGS)


def _gain(
    scale: np.ndarray, bias: np.ndarray, reach: np.ndarray, tail: Tail, how: Converter
) -> int:
    """The least gain with which no sum that matters lies beyond the converter's ends."""
    low, high = how.ends
    top = np.ceil((tail.hi + 0.5 - tail.zero_point) / scale - bias)
    bottom = np.floor((tail.lo - 0.5 - tail.zero_point) / scale - bias)
    top, bottom = np.clip(top, -reach, reach), np.clip(bottom, -reach, reach)
    # acc // gain is within low .. high from gain * low to gain * (high + 1) - 1.
    above = np.ceil((top + 1) / (high + 1)).max()
    below = np.ceil(bottom / low).max()
    return max(1, int(above), int(below))


def _factors(
    scale: np.ndarray, bias: np.ndarray, gain: int, tail: Tail, how: Converter
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """(shift, multipliers, offsets), int64 [channels], of the largest shift that fits; or None."""
    most = (1 << how.register_bits - 1) - 1
    low, high = how.ends
    addend = scale * ((gain - 1) / 2 + bias) + tail.zero_point + 0.5
    for shift in range(how.register_bits - 1, -1, -1):
        with np.errstate(over="ignore"):
            multiplier, offset = np.rint(scale * gain * 2.0**shift), np.rint(addend * 2.0**shift)
        ends = np.stack([low * multiplier, high * multiplier])
        largest = max(np.abs(ends).max(), np.abs(ends + offset).max(), np.abs(offset).max())
        if largest <= most:
            return shift, multiplier.astype(np.int64), offset.astype(np.int64)
    return None
