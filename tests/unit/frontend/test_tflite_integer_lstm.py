"""LSTMs of integers in TFLite files: their tables and states, and what is refused of them."""

import numpy as np
import pytest

from match_aie.errors import LimitError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.frontend.tflite_fixed_point import hyperbolic_table, logistic_table, multiplier
from match_aie.limits import Limits
from tests.networks.lite_integer_lstm import Layer, built

NUMBERS = np.arange(-32768, 32768)


def test_tables_are_the_functions():
    logistic = 1 / (1 + np.exp(-NUMBERS / 4096))
    assert abs(logistic_table() / 32768 - logistic).max() < 3e-4
    for before in range(7):
        wanted = np.tanh(NUMBERS / 2.0 ** (15 - before))
        assert abs(hyperbolic_table(before) / 32768 - wanted).max() < 1e-3


@pytest.mark.parametrize("scale", [1e-12, 3e-7, 0.25, 1 - 2.0**-40, 1.0, 7.3])
def test_a_multiplier_is_its_scale(scale):
    whole, exponent = multiplier(scale)
    assert 0 <= whole < 1 << 31
    assert whole * 2.0 ** (exponent - 31) == pytest.approx(scale, rel=1e-9, abs=2.0**-32)


def test_states_are_what_stands_for_zero():
    states = {s.input: s.initial for s in load(built(Layer(zeros=(3, -7))).file()).states}
    assert states["h"].dtype == np.int8
    assert (states["h"] == -7).all()
    assert states["c"].dtype == np.int16
    assert not states["c"].any()


def test_too_many_steps_are_a_limit():
    data = built(Layer(steps=9)).file()
    with pytest.raises(LimitError, match="steps of a recurrent layer"):
        load(data, limits=Limits(recurrent_steps=8))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({16: np.ones((8, 8), np.int8)}, "peepholes and projections"),
        ({9: np.ones(8, np.int16)}, "peepholes and projections"),
        ({20: np.ones(8, np.int16)}, "in only some of its gates"),
        ({2: np.ones((8, 6), np.int16)}, "int8 activations and weights"),
        ({13: None}, "an operand that it needs is left out"),
        ({12: None}, "int8 activations and weights"),
    ],
)
def test_other_operands_are_refused(change, why):
    made = built(Layer())
    for at, values in change.items():
        if values is None:
            del made.content[at]
        else:
            made.content[at], made.scales[at] = values, np.float32(0.01)
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(made.file())


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Layer(cell=-16), "no power of two from"),
        (Layer(cell=-8), "no power of two from"),
        (Layer(cell=-10.5), "no power of two from"),
        (Layer(act=1), "only tanh"),
        (Layer(silent=True), "how its inner results are quantised"),
    ],
)
def test_other_forms_are_refused(layer, why):
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(built(layer).file())


def test_weights_that_are_computed_are_refused():
    made = built(Layer())
    made.computed = (6,)
    with pytest.raises(UnsupportedOperatorError, match="must be in the file"):
        load(made.file())


def test_a_result_of_floats_is_refused():
    made = built(Layer())
    made.real = True
    with pytest.raises(UnsupportedOperatorError, match="not known for quantised tensors"):
        load(made.file())
