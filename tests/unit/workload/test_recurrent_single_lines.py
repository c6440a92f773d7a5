"""Lines of the functions that programmable logic has in float32, and layers made of them."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.workload import reference
from match_aie.workload.recurrent_single_lines import (
    LINES,
    logistic_single_lines,
    tanh_single_lines,
)
from tests.unit.workload.test_recurrent_single import EVERY, layer

#: Every exponent, and the table's range in steps of a 1024th of a line.
MANY = np.concatenate([EVERY, np.linspace(-8.5, 8.5, 4_000_001).astype(np.float32)])


def test_functions_are_as_close_as_their_document_says():
    wide = MANY.astype(np.float64)
    got = tanh_single_lines()(MANY)
    assert got.dtype == np.float32
    assert 5e-7 < np.abs(got - np.tanh(wide)).max() <= 8.0e-7
    assert np.abs(got).max() <= 1
    gate = logistic_single_lines()(MANY)
    exact = 1 / (1 + np.exp(-2 * np.clip(wide, -300, 300)))
    assert 2e-7 < np.abs(gate - exact).max() <= 4.5e-7
    assert gate.min() >= 0
    assert gate.max() <= 1


def test_ends_are_held_and_what_is_no_number_stays_none():
    for function in (tanh_single_lines(), logistic_single_lines()):
        assert len(function.slopes) == LINES
        ends = np.array([-np.inf, np.inf, -8, 8], np.float32)
        held = function(ends)
        np.testing.assert_array_equal(held[:2], held[2:])
        assert np.isnan(function(np.array([np.nan], np.float32))).all()


@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize(("kind", "after"), [("gru", True), ("gru", False), ("lstm", True)])
def test_states_are_those_of_the_float_layer(kind, after, scale):
    """All steps of a long run, beside float64 from the first state on."""
    workload, constants, x = layer(kind, after, 50, 24, 32, scale=scale)
    real = replace(workload.real, precision="single_lines")
    got = reference(replace(workload, real=real), [x], constants)
    plain = replace(workload, real=replace(workload.real, precision="float32"))
    exact = reference(plain, [x], constants)
    assert 1e-7 < np.abs(got - exact).max() < 1e-5
    assert np.abs(got).max() > 0.3
