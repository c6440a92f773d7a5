"""Conversions to fixed point: nothing overflows, and the bound of the difference holds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from workload_cases import arrays, conv2ds, denses, elementwises, fixed_points, matmuls, pools

from match_aie.workload import (
    FixedPoint,
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    pool2d,
    reference,
    rowwise,
    to_fixed_point,
    to_nearest_shift,
    with_fixed_tail,
    with_sum,
)

NE16 = FixedPoint()
CLUSTER = FixedPoint(inputs="prefer_raw")
AIE = FixedPoint(
    multiplier_bits=15, max_shift=47, bits=64, rounding="half_even", offset=False, inputs="centred"
)
SHIFTS = FixedPoint(multiplier_bits=0)
MACHINES = st.one_of(
    st.sampled_from([NE16, CLUSTER, AIE]),
    st.builds(
        FixedPoint,
        multiplier_bits=st.sampled_from([8, 16, 31]),
        per_channel=st.booleans(),
        bits=st.sampled_from([32, 48]),
        rounding=st.sampled_from(["floor", "half_up", "half_even", "half_away"]),
        offset=st.booleans(),
        inputs=st.sampled_from(["raw", "prefer_raw", "centred"]),
        max_error_lsb=st.sampled_from([1.0, 50.0]),
    ),
)


def layers():
    """Layers in the model's arithmetic of the kinds that have another."""
    pooled = pools().filter(lambda w: w.kind == "avg_pool2d")
    return st.one_of(conv2ds(), denses(), matmuls(), elementwises(), pooled)


def extreme_inputs(workload, constants, rng):
    """Inputs that bring one output channel's sum to either end, a random one, or a constant."""
    limits = [np.iinfo(o.dtype) for o in workload.inputs]
    shapes = [(o.shape, o.dtype) for o in workload.inputs]
    ends = product(*((info.min, info.max) for info in limits))
    feeds = [[np.full(*s[:1], v, s[1]) for s, v in zip(shapes, e, strict=True)] for e in ends]
    feeds.append([rng.integers(i.min, i.max, *s) for i, s in zip(limits, shapes, strict=True)])
    x = workload.operand("x")
    if "weight" in constants and workload.kind == "dense":
        info = np.iinfo(x.dtype)
        for row in constants["weight"][:4]:
            for sign in (1, -1):
                best = np.where(row * sign > 0, info.max, info.min)
                feeds.append([np.broadcast_to(best, x.shape).astype(x.dtype)])
    return feeds


@settings(max_examples=100, deadline=None)
@given(layers(), MACHINES, st.integers(0, 2**32 - 1))
def test_stays_within_its_bound_and_its_register(workload, how, seed):
    _, constants = arrays(workload, seed)
    done = to_fixed_point(workload, constants, how)
    assume(not isinstance(done, str))
    if workload.tail is not None:
        assert done.workload.fixed_point
        assert done.error_lsb < how.max_error_lsb
    for feed in extreme_inputs(workload, constants, np.random.default_rng(seed)):
        model = reference(workload, feed, constants).astype(np.int64)
        module = reference(done.workload, feed, done.constants).astype(np.int64)
        most = np.abs(model - module).max()
        assert most <= (np.floor(done.error_lsb) + 1 if done.error_lsb else 0)


@settings(max_examples=70, deadline=None)
@given(denses().filter(lambda w: w.tail is not None), MACHINES, st.integers(0, 2**32 - 1))
def test_the_bound_holds_before_anything_is_rounded(workload, how, seed):
    _, constants = arrays(workload, seed)
    done = to_fixed_point(workload, constants, how)
    assume(not isinstance(done, str))
    info = np.iinfo(np.int32)
    y = replace(done.workload.output, dtype="int32")
    sums = replace(workload, operands=(*workload.operands[:-1], y), tail=None)
    integers = replace(
        done.workload,
        operands=(*done.workload.operands[:-1], y),
        tail=replace(done.workload.tail, lo=info.min, hi=info.max, zero_point=0, shift=0),
    )
    integers = replace(integers, tail=replace(integers.tail, bits=how.bits))
    tail, shift = workload.tail, done.workload.tail.shift
    without = {k: v for k, v in constants.items() if k != "scale"}
    sums = replace(sums, operands=tuple(o for o in sums.operands if o.name != "scale"))
    for feed in extreme_inputs(workload, constants, np.random.default_rng(seed)):
        acc = reference(sums, feed, without).astype(np.float64)
        model = (acc.astype(np.float32) * constants["scale"]).astype(np.float64)
        t = reference(integers, feed, done.constants).astype(np.float64)
        if np.any(np.abs(t) >= 2**31 - 1):
            return  # beyond what an int32 output can show
        extra = 2.0 ** (shift - 1) if how.offset and shift and how.rounding == "floor" else 0
        extra += tail.zero_point * 2.0**shift if how.offset else 0
        module = (t - extra) / 2.0**shift
        low, high = tail.lo - tail.zero_point, tail.hi - tail.zero_point
        gap = np.abs(np.clip(model, low, high) - np.clip(module, low, high)).max()
        assert gap <= done.error_lsb + (0 if how.offset else 1e-9)


@settings(max_examples=70, deadline=None)
@given(fixed_points(), st.sampled_from([NE16, CLUSTER, AIE, SHIFTS]), st.integers(0, 2**32 - 1))
def test_what_is_fixed_point_already_keeps_its_integers(workload, how, seed):
    inputs, constants = arrays(workload, seed)
    done = to_fixed_point(workload, constants, how)
    assume(not isinstance(done, str))
    assert done.error_lsb == 0
    wide = replace(workload, tail=replace(workload.tail, bits=64))
    np.testing.assert_array_equal(
        reference(wide, inputs, constants), reference(done.workload, inputs, done.constants)
    )


def layer(weight, scale, bias=0, x=Quantized("uint8", 0.5, 3), y=Quantized("uint8", 0.25, 7)):
    """A dense layer with its constants."""
    weight = np.asarray(weight, np.int8)
    scale = np.atleast_1d(np.asarray(scale, np.float32))
    workload = dense(
        x, y, rows=1, inputs=weight.shape[1], outputs=len(weight),
        tail=full_range(y.dtype, y.zero_point), scales=scale.size,
    )  # fmt: skip
    bias = np.broadcast_to(np.asarray(bias, np.int32), (len(weight),)).copy()
    return workload, {"weight": weight, "bias": bias, "scale": scale}


def test_ne16_has_raw_inputs_one_multiplier_and_one_offset_per_channel():
    workload, constants = layer([[1, 2], [-3, 4]], [0.3, 0.02], [10, -20])
    done = to_fixed_point(workload, constants, NE16)
    assert [o.name for o in done.workload.operands] == ["x", "weight", "multiplier", "offset", "y"]
    assert done.workload.operand("x").zero_point == 0
    assert (done.workload.tail.rounding, done.workload.tail.zero_point) == ("floor", 0)
    assert done.constants["multiplier"].max() < 2**16
    assert done.workload.output.zero_point == 7


def test_scales_that_are_powers_of_two_are_exact_without_a_multiplier():
    workload, constants = layer([[1, 2], [-3, 4]], 2.0**-5)
    with_ties = to_fixed_point(workload, constants, SHIFTS)
    assert [o.name for o in with_ties.workload.constants] == ["weight", "offset"]
    assert 0 < with_ties.error_lsb < 1e-6
    even = FixedPoint(0, rounding="half_even", offset=False, inputs="centred")
    same = to_fixed_point(workload, constants, even)
    assert [o.name for o in same.workload.constants] == ["weight", "bias"]
    assert same.error_lsb == 0
    x = np.random.default_rng(1).integers(0, 256, (500, 2)).astype(np.uint8)
    for row in x[:, None]:
        expected = reference(workload, [row], constants)
        np.testing.assert_array_equal(reference(same.workload, [row], same.constants), expected)


def test_a_multiplier_is_no_larger_than_it_must_be():
    workload, constants = layer([[1, 2], [-3, 4]], [2.0**-5, 3 * 2.0**-6])
    done = to_fixed_point(workload, constants, AIE)
    assert (done.error_lsb, done.workload.tail.shift) == (0, 6)
    np.testing.assert_array_equal(done.constants["multiplier"], [2, 3])
    assert to_fixed_point(workload, constants, NE16).workload.tail.shift == 6


def test_pruned_channels_need_no_precise_multiplier():
    workload, constants = layer([[127, -90], [0, 0]], [0.01, 4.6e-9], [100, 1073741760])
    for how in (NE16, AIE):
        assert to_fixed_point(workload, constants, how).error_lsb < 0.01


def test_averages_of_integers_are_exact():
    for count in (3, 4, 7, 16):
        q = Quantized("uint8", None, 128)
        tail = full_range("uint8", 128, "half_away")
        shape = (4000, 1, count, 2)
        w = pool2d("avg_pool2d", q, q, shape=shape, filter_shape=(1, count), tail=tail)
        done = to_fixed_point(w, {}, CLUSTER)
        assert done.error_lsb == 0
        x = np.random.default_rng(count).integers(0, 256, shape).astype(np.uint8)
        x[:2000] = x[:2000] // 32 + 126  # sums near the zero point, where ties go either way
        np.testing.assert_array_equal(
            reference(w, [x]), reference(done.workload, [x], done.constants)
        )


@pytest.mark.parametrize(
    ("workload", "how", "message"),
    [
        (layer([[1, 1]], [0.3]), SHIFTS, "not one power of two"),
        (layer([[1, 1]], [2.0]), SHIFTS, "needs a shift by -1"),
        (layer([[1, 1], [1, 1]], [0.5, 0.25]), SHIFTS, "not one power of two"),
        (layer([[1, 1], [1, 1]], [0.5, 0.25]), FixedPoint(per_channel=False), "one multiplier"),
        (layer([[9, 9]] * 2, [0.9, 1e-3]), FixedPoint(multiplier_bits=8), "LSB from the model"),
        (layer([[1, 1]], [1e-30]), NE16, "scales reach"),
        (layer([[127, 127]], [60000.0]), FixedPoint(bits=24, max_shift=23), "exclude an overflow"),
    ],
)
def test_refuses_in_a_sentence(workload, how, message):
    assert message in to_fixed_point(*workload, how)


def test_a_padded_image_needs_a_zero_point_of_zero():
    def padded(zero_point):
        q = Quantized("uint8", 0.5, zero_point)
        workload = conv2d(
            q, Quantized("uint8", 0.5), shape=(1, 3, 3, 1), weight_shape=(1, 3, 3, 1),
            window=Window(padding=(1, 1, 1, 1)), tail=full_range("uint8", 0), scales=1,
        )  # fmt: skip
        constants = {
            "weight": np.ones((1, 3, 3, 1), np.int8),
            "bias": np.zeros(1, np.int32),
            "scale": np.array([0.1], np.float32),
        }
        return workload, constants

    assert "padded with its zero point 124" in to_fixed_point(*padded(124), NE16)
    assert to_fixed_point(*padded(124), CLUSTER).workload.operand("x").zero_point == 124
    assert to_fixed_point(*padded(0), NE16).workload.operand("x").zero_point == 0


def test_sums_that_are_stored_take_bias_and_zero_point_along():
    workload = dense(Quantized("uint8", 0.5, 9), Quantized("int32"), rows=1, inputs=2, outputs=2)
    constants = {
        "weight": np.array([[1, -2], [3, 4]], np.int8),
        "bias": np.array([5, -6], np.int32),
    }
    done = to_fixed_point(workload, constants, NE16)
    assert done.workload.operand("x").zero_point == 0
    x = np.array([[200, 17]], np.uint8)
    np.testing.assert_array_equal(
        reference(workload, [x], constants), reference(done.workload, [x], done.constants)
    )
    assert to_fixed_point(workload, constants, CLUSTER).error_lsb == 0


def test_layers_without_sums_stay_as_they_are():
    q = Quantized("uint8", 0.5, 9)
    softmax = rowwise("softmax", q, q, rows=1, columns=3, tail=full_range("uint8", 9))
    assert to_fixed_point(softmax, {}, NE16).workload is softmax


def test_a_rounding_that_the_module_has_not_is_refused():
    q = Quantized("int8", 0.5)
    base = elementwise(
        "mul", q, q, q, shape=(1, 1, 1, 3), shape1=(1, 1, 1, 3), out=(1, 1, 1, 3),
        tail=full_range("int8", 0),
    )  # fmt: skip
    fixed = with_fixed_tail(base, Tail(0, -128, 127, "half_away", 4))
    assert "rounds half_away" in to_fixed_point(fixed, {}, NE16)


@pytest.mark.parametrize("words", [{"inputs": "cooked"}, {"rounding": "up"}])
def test_words_that_mean_nothing_are_refused(words):
    with pytest.raises(ValueError, match="one of"):
        FixedPoint(**words)


def test_layers_that_take_sums_along_are_refused():
    x, y = Quantized("int8", 0.1), Quantized("int8", 0.2)
    layer = dense(x, y, rows=2, inputs=3, outputs=4, tail=full_range("int8", 0))
    taken = with_sum(layer, x, y, tail=full_range("int8", 0))
    for convert, how in ((to_fixed_point, NE16), (to_nearest_shift, SHIFTS)):
        assert "take sums along" in convert(taken, {}, how)
