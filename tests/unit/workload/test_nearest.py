"""Layers whose scales went into their weights: within the bound that is stated, and no wider."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_fixed_point import SHIFTS, extreme_inputs
from workload_cases import arrays, conv2ds, denses

from match_aie.workload import (
    Quantized,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    reference,
    to_fixed_point,
    to_nearest_shift,
)

PADDED = Window(padding=(1, 1, 1, 1))
X, Y = Quantized("int8", 0.05, 0), Quantized("int8", 0.1, 3)


@settings(max_examples=100, deadline=None)
@given(st.one_of(conv2ds(), denses()), st.integers(0, 2**32 - 1))
def test_stored_integers_are_within_the_bound(workload, seed):
    _, constants = arrays(workload, seed)
    done = to_nearest_shift(workload, constants, SHIFTS)
    assume(not isinstance(done, str))
    assert done.workload.tail.shift is not None
    assert "multiplier" not in done.constants
    for inputs in extreme_inputs(workload, constants, np.random.default_rng(seed)):
        model = reference(workload, inputs, constants).astype(np.int64)
        ours = reference(done.workload, inputs, done.constants).astype(np.int64)
        assert np.abs(model - ours).max() <= np.floor(done.error_lsb) + 1


def layer(scale, channels=6, inputs=40, seed=0):
    rng = np.random.default_rng(seed)
    workload = dense(
        X, Y, rows=1, inputs=inputs, outputs=channels, scales=channels, tail=full_range("int8", 3)
    )
    constants = {
        "weight": rng.integers(-100, 101, (channels, inputs)).astype(np.int8),
        "scale": np.full(channels, scale, np.float32) * rng.uniform(0.5, 1, channels),
        "bias": rng.integers(-5000, 5000, channels).astype(np.int32),
    }
    constants["scale"] = constants["scale"].astype(np.float32)
    return workload, {o.name: constants[o.name] for o in workload.constants}


@pytest.mark.parametrize("scale", [0.0003, 0.0021, 0.011])
def test_the_bound_is_reached(scale):
    """By the input that brings one channel's difference to its end, where nothing saturates."""
    workload, constants = layer(scale)
    done = to_nearest_shift(workload, constants, SHIFTS)
    shift = done.workload.tail.shift
    real = constants["scale"].astype(np.float64)[:, None] * constants["weight"]
    difference = real - done.constants["weight"] / 2.0**shift
    worst = 0.0
    for row in difference:
        x = np.where(row > 0, 127, -128)
        worst = max(worst, abs(float((x * row).sum())))
    assert worst <= done.error_lsb
    assert done.error_lsb <= worst + 2.0**-shift + 0.02
    # Each weight is off by half a step at most, of 127.
    assert np.abs(difference).max() <= 0.5 / 2.0**shift
    assert np.abs(done.constants["weight"]).max() >= 64


def test_powers_of_two_stay_as_they_are():
    workload, constants = layer(2.0**-9)
    constants["scale"] = np.full(6, 2.0**-9, np.float32)
    exact = to_fixed_point(workload, constants, SHIFTS)
    near = to_nearest_shift(workload, constants, SHIFTS)
    x = [np.random.default_rng(1).integers(-128, 128, (1, 40)).astype(np.int8)]
    ours = reference(near.workload, x, near.constants)
    np.testing.assert_array_equal(ours, reference(exact.workload, x, exact.constants))
    assert near.error_lsb < exact.error_lsb + 0.01


def test_what_has_no_weights_or_only_grows_is_refused():
    shape = (1, 2, 2, 4)
    add = elementwise(
        "add", X, X, Y, shape=shape, shape1=shape, out=shape, tail=full_range("int8", 3)
    )
    assert "no weights" in to_nearest_shift(add, {}, SHIFTS)
    workload, constants = layer(0.01)
    constants["scale"] = np.full(6, 3.0, np.float32)
    assert "cannot make numbers larger" in to_nearest_shift(workload, constants, SHIFTS)


def test_padding_with_a_zero_point_is_refused_as_ever():
    workload = conv2d(
        Quantized("int8", 0.1, -7), Y, shape=(1, 5, 5, 3), weight_shape=(4, 3, 3, 3), scales=4,
        tail=full_range("int8", 3), window=PADDED,
    )  # fmt: skip
    _, constants = arrays(workload, 0)
    assert "padded with its zero point" in to_nearest_shift(workload, constants, SHIFTS)
