"""One shift for all channels, where a requantisation has one for each.

A module's tail is `(acc * multiplier + offset) >> shift`: multipliers of 32 bits per channel, and
one shift. Small multipliers are shifted left until all shifts are the largest: the same numbers.
Relay's `qnn.requantize` per channel has multipliers of 31 bits, which do not fit 32 bits then, and
rounded to a smaller shift they may give another integer.

But what is stored has 256 values at most, so that it is a staircase: `y` begins at the least sum A
with `A * multiplier + offset >= y << shift`. A rounded multiplier m with an offset b gives the same
integers if, and only if, every step begins at the same sum, for all y:

    m * A + b >= y << shift        m * (A - 1) + b < y << shift

For a given m these are bounds of b. If one b lies between all of them, the layer is the same bit
for bit, for every sum that there can be. If none does, the layer is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match_aie.partition.integer import Line
from match_aie.partition.view import Refusal

#: Bits of a multiplier without its sign.
_BITS = 31
#: So that a product of 31 by 32 bits, half a step and an offset fit 64 bits.
_MOST_SHIFT = 62
#: Offsets are of 32 bits.
_LEAST, _MOST = -(1 << _BITS), (1 << _BITS) - 1


@dataclass(frozen=True)
class Channel:
    """`clip((acc * multiplier + offset) >> shift, least, most)` for sums from `low` to `high`."""

    multiplier: int
    offset: int
    shift: int
    low: int
    high: int
    least: int
    most: int

    def of(self, acc: int) -> int:
        """The integer that a sum gives."""
        value = (acc * self.multiplier + self.offset) >> self.shift
        return min(max(value, self.least), self.most)

    def steps(self) -> list[tuple[int, int]]:
        """(y, the least sum that gives y or more), for all y that some sums reach and some do not.

        >>> Channel(1, 0, 2, -9, 9, -2, 1).steps()
        [(-1, -4), (0, 0), (1, 4)]
        """
        rows = range(self.of(self.low) + 1, self.of(self.high) + 1)
        return [(y, -((self.offset - (y << self.shift)) // self.multiplier)) for y in rows]


def common_shift(line: Line, lo: int, hi: int) -> Line:
    """`line` with one shift, and multipliers and offsets that give the same integers.

    Args:
        line: with `shifts`.
        lo: least value that is stored, zero point included.
        hi: largest.

    Raises:
        Refusal: a channel has no such multiplier and offset.
    """
    assert line.shifts is not None
    channels = _channels(line, line.shifts, lo - line.zero, hi - line.zero)
    largest = max(channel.shift for channel in channels)
    if all(_grows(channel, largest, line.bits) for channel in channels):
        up = largest - line.shifts
        return replace(
            line,
            multiplier=line.multiplier << up,
            offset=line.offset << up,
            shift=largest,
            shifts=None,
        )
    shift = min(
        (c.shift + _BITS - c.multiplier.bit_length() for c in channels if c.multiplier),
        default=0,
    )
    shift = min(shift, _MOST_SHIFT)
    if shift < 1:
        raise Refusal("its multipliers have no common shift")
    found = [rounded(channel, shift) for channel in channels]
    pairs = [pair for pair in found if pair is not None]
    if len(pairs) < len(found):
        raise Refusal(
            f"shifts differ per channel, and with one shift by {shift} the multiplier of channel "
            f"{found.index(None)} would give other integers"
        )
    multiplier, offset = np.array(pairs, np.int64).T
    return replace(
        line,
        multiplier=multiplier,
        offset=offset,
        shift=shift,
        shifts=None,
        rounding="half_up",
        bits=64,
    )


def _grows(channel: Channel, shift: int, bits: int) -> bool:
    """Whether multiplier and offset fit 32 bits when shifted left, and what they make `bits`."""
    up = shift - channel.shift
    factor, offset = channel.multiplier << up, channel.offset << up
    products = [acc * factor for acc in (channel.low, channel.high)]
    sums = [product + offset for product in products]
    limit = 1 << (bits - 1)
    fits = all(-limit <= value < limit for value in (*products, *sums))
    return fits and factor <= _MOST and _LEAST <= offset <= _MOST


def _channels(line: Line, shifts: np.ndarray, least: int, most: int) -> list[Channel]:
    assert line.sums is not None
    columns = np.broadcast_arrays(line.multiplier, line.offset, shifts, *line.sums)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Channel(m, o, s, low, high, least, most) for m, o, s, low, high in rows]


def rounded(channel: Channel, shift: int) -> tuple[int, int] | None:
    """(multiplier, offset) that give the same integers with `shift`, half a step added.

    None where there is none among the two multipliers next to the exact one.

    Args:
        channel: what is to be computed.
        shift: from 1 to 62.
    """
    down = channel.shift - shift
    exact = channel.multiplier << max(0, -down)
    below = exact >> max(0, down)
    near = [below, below + 1]
    if down > 0 and exact & (1 << (down - 1)):
        near.reverse()
    steps = channel.steps()
    for multiplier in near:
        if multiplier > _MOST:
            continue
        offset = _offset(channel, steps, multiplier, shift)
        if offset is not None:
            return multiplier, offset
    return None


def _offset(
    channel: Channel, steps: list[tuple[int, int]], multiplier: int, shift: int
) -> int | None:
    """The offset nearest to 0, beside half a step, with which every step begins where it did."""
    half = 1 << (shift - 1)
    least = [_LEAST] + [(y << shift) - multiplier * at - half for y, at in steps]
    most = [_MOST] + [(y << shift) - multiplier * (at - 1) - half - 1 for y, at in steps]
    first, last = channel.of(channel.low), channel.of(channel.high)
    if first > channel.least:
        least.append((first << shift) - multiplier * channel.low - half)
    if last < channel.most:
        most.append((last + 1 << shift) - multiplier * channel.high - half - 1)
    low, high = max(least), min(most)
    return min(max(0, low), high) if low <= high else None
