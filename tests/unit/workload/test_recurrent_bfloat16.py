"""GRU and LSTM in bfloat16: lines for functions over every input, states, bound and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.workload import (
    real_expected,
    recurrent,
    reference,
    refuses_recurrent,
    within_bound,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.recurrent_bfloat16 import not_finite, sigmoid_lines, tanh_lines
from match_aie.workload.recurrent_bound import SIGMOID_OFF, TANH_OFF
from match_aie.workload.running import share
from tests.thinned import turns

EVERY = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
FINITE = EVERY[np.isfinite(EVERY)]

CELLS = (("gru", True), ("gru", False), ("lstm", True))


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x.astype(np.float64)))


def units(got, wanted):
    """Distance in units in the last place of bfloat16."""
    exponent = np.floor(np.log2(np.maximum(np.abs(wanted), 2.0**-126)))
    return np.abs(got - wanted) / 2.0 ** (exponent - 7)


def layer(kind, after, steps, inputs, hidden, seed=0, scale=1.0):
    """A workload in bfloat16 with its constants and an input."""
    made = recurrent(
        kind,
        steps=steps,
        batch=1,
        inputs=inputs,
        hidden=hidden,
        linear_before_reset=after,
    )
    made = replace(made, real=replace(made.real, precision="bfloat16"))
    rng = np.random.default_rng(seed)
    bound = scale / np.sqrt(hidden)
    constants = {
        o.name: rng.uniform(-bound, bound, o.shape).astype(np.float32) for o in made.constants
    }
    return made, constants, rng.standard_normal((steps, 1, inputs)).astype(np.float32)


def test_lines_over_every_input():
    """The figures of the documents: within 0.72 units, and what is stated of the far ends."""
    with np.errstate(over="ignore"):
        for lines, function, off in (
            (sigmoid_lines(), sigmoid, SIGMOID_OFF),
            (tanh_lines(), lambda x: np.tanh(x.astype(np.float64)), TANH_OFF),
        ):
            assert np.abs(lines(FINITE) - function(FINITE)).max() <= off
            near = FINITE[np.abs(FINITE) < 7.875]
            assert units(to_bfloat16(lines(near)), function(near)).max() < 0.72
    assert sigmoid_lines()(np.float32([-8, 8, -1e30])).tolist() == [0.0, 1.0, 0.0]
    assert tanh_lines()(np.float32([-9, 9, 0.03125, -0.0])).tolist() == [-1.0, 1.0, 0.03125, 0.0]
    assert np.isnan(tanh_lines()(np.float32([np.inf, np.nan]))).all()
    # What caps of the bound rest on.
    gates, bent = sigmoid_lines()(FINITE), tanh_lines()(FINITE)
    assert (to_bfloat16(gates).min(), to_bfloat16(gates).max()) == (0.0, 1.0)
    assert (bent.min(), bent.max()) == (-1.0, 1.0)


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_results_are_near_the_float32_layer(kind, after):
    for seed, (steps, inputs, hidden) in enumerate(((30, 32, 32), (9, 5, 3), (4, 1, 17))):
        workload, constants, x = layer(kind, after, steps, inputs, hidden, seed)
        got = reference(workload, [x], constants)
        np.testing.assert_array_equal(got, to_bfloat16(got))
        plain = replace(workload, real=replace(workload.real, precision="float32"))
        assert np.abs(got - reference(plain, [x], constants)).max() < 0.02
        assert within_bound(workload, [x], constants, got).all()
        assert 0.01 < share(got, real_expected(workload, [x], constants, got)) < 0.5


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_a_wrong_gate_is_outside_of_the_bound(kind, after):
    workload, constants, x = layer(kind, after, 10, 24, 24)
    rows = {name: constants[name].copy() for name in ("weight", "recurrent")}
    for values in rows.values():
        values[:24], values[24:48] = values[24:48].copy(), values[:24].copy()
    got = reference(workload, [x], constants | rows)
    assert not within_bound(workload, [x], constants, got).all()


@pytest.mark.parametrize(("cell", "size"), turns(CELLS, [1e30, 1e3]))
def test_the_bound_stays_finite_over_long_sequences(cell, size):
    """Gates of large sums may be anything, which an LSTM's cell carries on from step to step."""
    kind, after = cell
    workload, constants, x = layer(kind, after, 1200, 30, 20, scale=0.4 * np.sqrt(20))
    x *= np.float32(size)
    got = reference(workload, [x], constants)
    expected = real_expected(workload, [x], constants, got)
    # A gate is off by 1 and tanh by 2 at most: o tanh(c) by 1 * 2 + 1 * 1 + 1 * 2, u (n - h) by
    # 2 * 1 + (1 + 1) * 2, and roundings.
    assert 0 <= expected.error.min() <= expected.error.max() < (5.1 if kind == "lstm" else 6.2)
    assert within_bound(workload, [x], constants, got).all()
    assert 0 < share(got, expected) <= 1


def test_small_steps_of_a_state_are_not_lost():
    """A gate of 0.993 moves a state by less than half a unit of bfloat16, for a long time."""
    workload, constants, x = layer("gru", True, 400, 1, 1)
    for name in ("weight", "recurrent", "bias"):
        constants[name] = np.zeros_like(constants[name])
    constants["bias"][0] = 5.0, 0.0, 9.0  # z = 0.9933, n = 1
    states = reference(workload, [x], constants)[:, 0, 0]
    exact = 1 - (1 / (1 + np.exp(-5.0))) ** (np.arange(400) + 1)
    np.testing.assert_allclose(states, exact, rtol=0.015)
    assert states[-1] > 0.92  # a state kept in bfloat16 stops where 1 - z of what lacks is no step


def test_what_has_no_meaning():
    workload, _, _ = layer("gru", True, 2, 3, 3)
    assert refuses_recurrent(workload) is None
    two = recurrent("lstm", steps=2, batch=2, inputs=3, hidden=3)
    assert "2 sequences side by side" in refuses_recurrent(two)
    begun = recurrent("gru", steps=2, batch=1, inputs=3, hidden=3, initial=True)
    assert "first state or cell is given" in refuses_recurrent(begun)


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_constants_that_may_overflow_are_refused(kind, after):
    """Whatever is not, gives numbers, however the state turns out."""
    workload, constants, x = layer(kind, after, 6, 3, 4)
    assert not_finite(constants) is None
    rows = len(constants["weight"])

    def refused(**more):
        return not_finite(constants | {n: np.float32(values) for n, values in more.items()})

    whole = np.full((2, rows), 0.0)
    for bias in (3.4e38, np.inf, -np.inf, np.nan):  # the first rounds to infinity
        whole[1, -1] = bias
        assert "not be finite" in refused(bias=whole)
    assert "not be finite" in refused(bias=np.full((2, rows), 1.8e38))
    assert "not be finite" in refused(recurrent=np.full((rows, 4), -1e38))
    both = {"bias": np.full((2, rows), 1e38), "recurrent": np.full((rows, 4), 0.4e38)}
    assert "not be finite" in refused(**both)
    for name in ("weight", "recurrent"):
        values = constants[name].copy()
        values[0, 0] = 3.4e38
        assert "not be finite" in refused(**{name: values})
    for bias in (0.8e38, -0.8e38):
        most = {"bias": np.full((2, rows), bias), "recurrent": np.full((rows, 4), bias / 2)}
        assert refused(**most) is None
        taken = {name: values.astype(np.float32) for name, values in most.items()}
        assert np.isfinite(reference(workload, [x], constants | taken)).all()
