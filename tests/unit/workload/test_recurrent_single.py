"""GRU and LSTM in float32 on cores of the first AI Engine: functions, states and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.workload import RECURRENT, product_type, recurrent, reference
from match_aie.workload.codec import from_json, to_json
from match_aie.workload.recurrent_single import (
    added_tanh,
    logistic_single,
    not_finite_single,
    tanh_single,
)

#: Every exponent with 4096 mantissas, both signs: from the smallest normal number to 2**127.
EVERY = (
    (np.arange(1, 255, dtype=np.uint32)[:, None] << 23)
    + (np.arange(1 << 12, dtype=np.uint32) << 11)
).reshape(-1)
EVERY = np.concatenate([EVERY, EVERY | 1 << 31, np.zeros(1, np.uint32)]).view(np.float32)


def layer(kind, after, steps, inputs, hidden, seed=0, scale=1.0):
    """A workload whose every operation is certain, with its constants and an input."""
    made = recurrent(
        kind, steps=steps, batch=1, inputs=inputs, hidden=hidden, linear_before_reset=after
    )
    made = replace(made, real=replace(made.real, precision="single"))
    rng = np.random.default_rng(seed)
    bound = scale / np.sqrt(hidden)
    constants = {
        o.name: rng.uniform(-bound, bound, o.shape).astype(np.float32) for o in made.constants
    }
    return made, constants, rng.standard_normal((steps, 1, inputs)).astype(np.float32)


def test_functions_are_as_close_as_their_document_says():
    """Over 2 million arguments, the infinities held."""
    wide = EVERY.astype(np.float64)
    got = tanh_single(EVERY)
    assert got.dtype == np.float32
    assert 3e-7 < np.abs(got - np.tanh(wide)).max() <= 4.8e-7
    assert np.abs(got).max() <= 1.0
    gate = logistic_single(EVERY)
    with np.errstate(over="ignore"):
        exact = 1 / (1 + np.exp(-2 * wide))
    assert np.abs(gate - exact).max() <= 2.8e-7
    assert gate.min() >= 0
    assert gate.max() <= 1
    ends = np.array([np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(tanh_single(ends), tanh_single(np.array([8, -8], np.float32)))


def test_functions_are_odd():
    np.testing.assert_array_equal(tanh_single(-EVERY), -tanh_single(EVERY))


def test_gates_and_sums_are_as_close():
    """A gate in the numerator, and a sum before the last product, cost a rounding at most."""
    rng = np.random.default_rng(5)
    x = np.concatenate([EVERY[::16], np.array([np.inf, -np.inf], np.float32)])
    gate, base = rng.random((2, x.size), np.float32)
    exact = np.tanh(x.astype(np.float64)) * gate
    assert np.abs(tanh_single(x, gate) - exact).max() <= 4.8e-7
    assert np.abs(added_tanh(base, gate, x) - (base + exact)).max() <= 4.8e-7 + 2**-23
    zero = np.zeros_like(base)
    np.testing.assert_array_equal(added_tanh(zero, gate, x), tanh_single(x, gate))
    np.testing.assert_array_equal(tanh_single(x, zero), 0)


@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize(("kind", "after"), [("gru", True), ("gru", False), ("lstm", True)])
def test_states_are_those_of_the_float_layer(kind, after, scale):
    """All steps of a long run, beside float64 from the first state on."""
    workload, constants, x = layer(kind, after, 50, 24, 32, scale=scale)
    assert product_type(workload) == "float32"
    assert workload.rounded
    got = reference(workload, [x], constants)
    plain = replace(workload, real=replace(workload.real, precision="float32"))
    exact = reference(plain, [x], constants)
    assert np.abs(got - exact).max() < 3e-6
    assert np.abs(got).max() > 0.3


def test_its_precision_is_stored():
    workload, _, _ = layer("gru", True, 2, 3, 4)
    assert from_json(to_json(workload)) == workload
    assert workload.kind in RECURRENT


def test_constants_that_are_no_numbers_are_refused():
    _, constants, _ = layer("gru", True, 2, 3, 4)
    assert not_finite_single(constants) is None
    constants["recurrent"][0, 0] = np.nan
    assert "not finite" in not_finite_single(constants)
