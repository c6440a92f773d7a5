"""What a network keeps from one call to the next, as the front end finds it."""

import random

import numpy as np
import pytest

from match_aie.errors import MatchError, ModelError, OptionError, UnsupportedOperatorError
from match_aie.frontend import load, with_states
from tests.streams import Kept, delay_line, running_sum


def test_variables_are_inputs_and_outputs():
    model = load(delay_line((Kept("b", -1), Kept("a", 3))))
    assert [port.name for port in model.inputs] == ["x", "a read", "b read"]
    assert [port.name for port in model.outputs] == ["y", "a next", "b next"]
    found = [(state.input, state.output) for state in model.states]
    assert found == [("a read", "a next"), ("b read", "b next")]
    first = [state.initial for state in model.states]
    np.testing.assert_array_equal(first[0], np.full((1, 2, 3), 3, np.int8))
    np.testing.assert_array_equal(first[1], np.full((1, 2, 3), -1, np.int8))


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (Kept("a", 0, reads=2), "read once, then assigned once"),
        (Kept("a", 0, assigns=0), "read once, then assigned once"),
        (Kept("a", None), "nothing says what it is at first"),
        (Kept("a", 0, first_rows=3), "of another size or type at first"),
        (Kept("a", 0, first_type="int32"), "of another size or type at first"),
    ],
)
def test_other_uses_of_variables_are_refused(kept, why):
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(delay_line((kept,)))


def test_subgraphs_for_something_else_are_refused():
    with pytest.raises(ModelError, match="2 subgraphs"):
        load(delay_line((Kept("a", 0),), called=False))


def test_pairs_are_given_by_the_user():
    model = with_states(load(running_sum()), {"h": "y"})
    (state,) = model.states
    assert (state.input, state.output) == ("h", "y")
    np.testing.assert_array_equal(state.initial, np.zeros((1, 4), np.float32))


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({"no": "y"}, "no input called 'no'"),
        ({"h": "no"}, "no output called 'no'"),
        ({"h": "y", "x": "y"}, "'y' is in two states"),
        ({"h": "wide"}, r"cannot be input 'h' of the next call: float32\[1, 8\]"),
    ],
)
def test_pairs_that_do_not_fit_are_refused(pairs, why):
    with pytest.raises(OptionError, match=why):
        with_states(load(running_sum()), pairs)


def test_damaged_files_are_refused_with_a_type():
    data, rng = delay_line((Kept("a", 3), Kept("b", 1))), random.Random(1)
    loaded = 0
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 255, rng.randrange(256)])
        try:
            load(bytes(changed))
        except MatchError:
            continue
        loaded += 1
    assert 0 < loaded < 150
