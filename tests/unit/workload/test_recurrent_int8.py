"""GRU and LSTM whose products are of 8 bits: weights found again, states, bound and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.workload import (
    Quantized,
    real_expected,
    recurrent,
    reference,
    within_bound,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.recurrent_int8 import (
    Rows,
    refuses_integer_recurrent,
    steps_of_state,
    too_large,
)
from match_aie.workload.running import share

CELLS = (("gru", True), ("gru", False), ("lstm", True))


def layer(kind, after, steps, inputs, hidden, seed=0, dtype="int8", zero=0, scale=1.0):
    """A workload of 8-bit products with its constants and an input."""
    made = recurrent(
        kind,
        steps=steps,
        batch=1,
        inputs=inputs,
        hidden=hidden,
        linear_before_reset=after,
        quantized=Quantized(dtype, 0.02, zero),
    )
    made = replace(made, real=replace(made.real, precision="int8"))
    rng = np.random.default_rng(seed)
    bound = scale / np.sqrt(hidden)
    constants = {
        o.name: rng.uniform(-bound, bound, o.shape).astype(np.float32) for o in made.constants
    }
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (steps, 1, inputs), endpoint=True).astype(dtype)
    return made, constants, x


@given(
    st.integers(1, 127),
    st.integers(1, 40),
    st.integers(0, 1 << 20),
    st.floats(1e-4, 10),
)
def test_integers_that_a_model_stores_are_found_again(most, columns, seed, scale):
    """Whatever the largest of a row is; its weights come out as they were."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-most, most, (3, columns), endpoint=True)
    stored = (codes * np.float32(scale)).astype(np.float32)
    rows = Rows.of(stored)
    assert np.abs(rows.codes).max() <= 127
    again = rows.codes * rows.scales[:, None].astype(np.float64)
    np.testing.assert_allclose(again, stored, rtol=2e-3, atol=np.float32(scale) * 2e-3)
    if most == 127 and (np.abs(codes).max(axis=1) == 127).all():
        np.testing.assert_array_equal(rows.codes, codes)


def test_other_weights_become_the_nearest_integers():
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((20, 30)).astype(np.float32)
    weight[4] = 0
    rows = Rows.of(weight)
    off = np.abs(rows.codes * rows.scales[:, None].astype(np.float64) - weight).max(axis=1)
    assert (off <= np.abs(weight).max(axis=1) / 127 * 0.5001).all()
    assert (np.abs(rows.codes).max(axis=1) == np.where(np.arange(20) == 4, 0, 127)).all()


def test_steps_of_states():
    values = np.float32([0, 1 / 256, 3 / 256, -1, -1.01, 0.999, 1.2, -1 / 256])
    assert steps_of_state(values).tolist() == [0, 0, 2, -128, -128, 127, 127, 0]


@pytest.mark.parametrize(("kind", "after"), CELLS)
@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("uint8", 128), ("int8", -7)])
def test_results_are_near_the_float32_layer(kind, after, dtype, zero):
    for seed, (steps, inputs, hidden) in enumerate(((30, 32, 32), (9, 5, 3), (4, 1, 17))):
        workload, constants, x = layer(kind, after, steps, inputs, hidden, seed, dtype, zero)
        got = reference(workload, [x], constants)
        np.testing.assert_array_equal(got, to_bfloat16(got))
        plain = replace(workload, real=replace(workload.real, precision="float32"))
        assert np.abs(got - reference(plain, [x], constants)).max() < 0.05
        assert within_bound(workload, [x], constants, got).all()
        assert 0.01 < share(got, real_expected(workload, [x], constants, got)) < 0.6


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_states_at_their_ends_are_within_the_bound(kind, after):
    """Gates of large sums, states that are clipped."""
    workload, constants, x = layer(kind, after, 60, 16, 16, scale=40.0)
    got = reference(workload, [x], constants)
    assert np.abs(got).max() > 0.99
    assert within_bound(workload, [x], constants, got).all()


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_a_wrong_gate_is_outside_of_the_bound(kind, after):
    workload, constants, x = layer(kind, after, 10, 24, 24, scale=3.0)
    rows = {name: constants[name].copy() for name in ("weight", "recurrent")}
    for values in rows.values():
        values[:24], values[24:48] = values[24:48].copy(), values[:24].copy()
    got = reference(workload, [x], constants | rows)
    assert not within_bound(workload, [x], constants, got).all()


def test_what_has_no_meaning():
    workload, constants, _ = layer("gru", True, 2, 130, 3, zero=-128)
    assert refuses_integer_recurrent(workload) is None
    floats = recurrent("gru", steps=2, batch=1, inputs=3, hidden=3)
    assert "is float32, and not quantised" in refuses_integer_recurrent(floats)
    two = recurrent("lstm", steps=2, batch=2, inputs=3, hidden=3)
    assert "2 sequences side by side" in refuses_integer_recurrent(two)
    assert too_large(workload, constants) is None
    constants["weight"][:] = 1.0
    assert "may be 4210050" in too_large(workload, constants)
