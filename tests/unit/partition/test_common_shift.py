"""One shift for channels that had several: the same integers for every sum, or a refusal."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.frontend.relay.fixed_point import multiplier_shift
from match_aie.partition.common_shift import Channel, common_shift, rounded
from match_aie.partition.integer import Line
from match_aie.partition.view import Refusal
from match_aie.workload import Tail
from match_aie.workload.fixed import requantise_fixed

INT32 = np.iinfo(np.int32)
EVERY = (int(INT32.min), int(INT32.max))


def channel(scale, low=EVERY[0], high=EVERY[1], least=-128, most=127):
    """What `qnn.requantize` computes with `scale`."""
    multiplier, left = multiplier_shift(float(np.float32(scale)))
    shift = 31 - left
    return Channel(multiplier, 1 << (shift - 1), shift, low, high, least, most)


def original(one, acc):
    """In Python's integers, which have no width."""
    values = [(int(a) * one.multiplier + one.offset) >> one.shift for a in acc]
    return np.clip(np.array(values, object), one.least, one.most).astype(np.int64)


def through_tail(one, pair, shift, acc):
    """What a layer's tail makes of it, which refuses to leave 64 bits."""
    tail = Tail(0, one.least, one.most, "half_up", shift, 64)
    arrays = {"multiplier": np.array(pair[:1], np.int32), "offset": np.array(pair[1:], np.int32)}
    return requantise_fixed(np.asarray(acc, np.int64), tail, arrays)


def sums_of(one, rng):
    """Both ends, the sums around every step, and others."""
    edges = [at + by for _, at in one.steps() for by in (-2, -1, 0, 1)]
    others = rng.integers(one.low, one.high, 500, endpoint=True).tolist()
    near = [one.low, one.low + 1, one.high - 1, one.high, 0, -1, 1, *edges, *others]
    return [acc for acc in near if one.low <= acc <= one.high]


@settings(max_examples=150, deadline=None)
@given(
    st.floats(2.0**-20, 2.0**-3),
    st.integers(0, 8),
    st.sampled_from([EVERY, (-70_000, 90_000), (5, 5), (-3, 2_000_000_000)]),
    st.sampled_from([(-128, 127), (0, 255), (-125, 130), (0, 127), (3, 3)]),
    st.integers(0, 2**32),
)
def test_what_is_rounded_gives_the_same_integers_for_every_sum(scale, less, sums, stored, seed):
    one = channel(scale, *sums, *stored)
    shift = one.shift - less
    pair = rounded(one, shift)
    if pair is None:
        # Then the steps are not where they were, with the nearest multiplier and no offset.
        near = one.multiplier >> less
        acc = sums_of(one, np.random.default_rng(seed))
        assert less
        assert np.any(through_tail(one, (near, 0), shift, acc) != original(one, acc))
        return
    acc = sums_of(one, np.random.default_rng(seed))
    np.testing.assert_array_equal(through_tail(one, pair, shift, acc), original(one, acc))


@pytest.mark.parametrize("less", [0, 1, 4, 12, 20])
@pytest.mark.parametrize("scale", [0.1, 0.003, 1 / 3, 0.0078125])
def test_every_sum_of_a_range(scale, less):
    one = channel(scale, -60_000, 60_000)
    pair = rounded(one, one.shift - less)
    acc = np.arange(one.low, one.high + 1)
    wanted = original(one, acc)
    if pair is not None:
        got = through_tail(one, pair, one.shift - less, acc)
        np.testing.assert_array_equal(got, wanted)
    # The proof refuses nothing that would do, for the multipliers that it tries.
    base = one.multiplier >> less
    half, found = 1 << (one.shift - less - 1), False
    for multiplier in (base, base + 1):
        starts = [(y, int(np.argmax(wanted >= y)) + one.low) for y in range(-127, 128)]
        least = max((y << one.shift - less) - multiplier * at - half for y, at in starts)
        most = min((y << one.shift - less) - multiplier * (at - 1) - half for y, at in starts)
        found |= least < most and least < 2**31 and most > -(2**31) and multiplier < 2**31
    assert found == (pair is not None)


def line(scales, bias, low=-50_000, high=50_000, zero=0):
    """What `read` makes of a requantisation per channel."""
    rows = [channel(scale) for scale in scales]
    multiplier, offset, shifts = (
        np.array([getattr(row, name) for row in rows], np.int64)
        for name in ("multiplier", "offset", "shift")
    )
    sums = tuple(np.asarray(bias, np.int64) + end for end in (low, high))
    return Line(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.asarray(bias, np.int64), multiplier,
        offset, int(shifts.max()), "floor", zero, bits=64, shifts=shifts, sums=sums,
    )  # fmt: skip


def test_channels_get_one_shift_and_the_integers_of_relay():
    rng = np.random.default_rng(1)
    scales = np.exp2(rng.uniform(-14, -7, 64)).astype(np.float32)
    wide = 2**31 - 60_000
    bias = np.concatenate([[wide, -wide, 0, 1], rng.integers(-(10**6), 10**6, 60)])
    given_line = line(scales, bias, zero=-3)
    made = common_shift(given_line, -128, 127)
    assert made.shifts is None
    assert made.rounding == "half_up"
    tail = replace(made.tail("int8"), bits=64)
    acc = rng.integers(-50_000, 50_000, (2000, 64)) + bias
    arrays = {
        "multiplier": made.multiplier.astype(np.int32),
        "offset": made.offset.astype(np.int32),
    }
    assert np.array_equal(arrays["multiplier"], made.multiplier)
    got = requantise_fixed(acc, tail, arrays)
    for index, scale in enumerate(scales):
        wanted = np.clip(
            original(channel(scale, least=-500, most=500), acc[:, index]) - 3, -128, 127
        )
        np.testing.assert_array_equal(got[:, index], wanted)


def test_small_multipliers_grow_to_the_largest_shift():
    """As MATCH writes them: nothing is rounded, and 32 bits stay 32 bits."""
    zero = np.zeros(1, np.int64)
    given_line = Line(
        zero, zero, np.zeros(3, np.int64), np.array([5, 3, 7]), np.array([8, 4, 2]), 4,
        shifts=np.array([4, 3, 2]), sums=(np.full(1, -9000), np.full(1, 9000)),
    )  # fmt: skip
    made = common_shift(given_line, -128, 127)
    assert (made.shift, made.bits, made.rounding) == (4, 32, "floor")
    assert made.multiplier.tolist() == [5, 6, 28]
    assert made.offset.tolist() == [8, 8, 8]
    far = replace(given_line, sums=(np.full(1, -(2**27)), np.full(1, 2**27)))
    assert common_shift(far, -128, 127).bits == 64


def test_channels_too_far_apart_are_refused_by_number():
    with pytest.raises(Refusal, match="multiplier of channel 1 would give other integers"):
        common_shift(
            line([0.5, 0.5 / 2**13 * 1.234567, 0.4], [0, 0, 0], -(10**7), 10**7), -128, 127
        )


def test_a_channel_without_a_multiplier_is_constant():
    zero = np.zeros(1, np.int64)
    given_line = Line(
        zero, zero, np.zeros(2, np.int64), np.array([0, 2**30 + 1]), np.array([5 << 33, 1 << 34]),
        35, shifts=np.array([33, 35]), sums=(np.full(1, -9000), np.full(1, 9000)), bits=64,
    )  # fmt: skip
    with pytest.raises(Refusal, match="channel 0"):
        common_shift(given_line, -128, 127)  # an offset of 5 steps leaves 32 bits
    made = common_shift(replace(given_line, offset=np.array([0, 1 << 34])), -128, 127)
    assert made.multiplier[0] == 0
