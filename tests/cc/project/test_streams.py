"""Networks that keep something from one call to the next: the emitted `_step`, step by step."""

from dataclasses import replace

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import OptionError
from tests.streams import Kept, delay_line, delayed, running_sum


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    net = match.compile(delay_line((Kept("a", 3), Kept("b", -1))), cache=False)
    return net.write(tmp_path_factory.mktemp("line") / "net")


def rows(count, seed):
    return np.random.default_rng(seed).integers(-128, 128, (count, 3)).astype(np.int8)


def steps(stream, given):
    return np.array([stream.step(row.reshape(1, 1, 3))["y"] for row in given])


def test_steps_equal_numpy_and_streams_are_apart(line):
    one, other = line.stream(), line.stream()
    first, second = rows(9, 1), rows(9, 2)
    for at in range(9):
        np.testing.assert_array_equal(
            steps(one, first[at : at + 1]), delayed((3, -1), first)[at : at + 1]
        )
        steps(other, second[at : at + 1])
    one.reset()
    np.testing.assert_array_equal(steps(one, second), delayed((3, -1), second))
    assert not (delayed((3, -1), first)[-1] == delayed((0, 0), first)[0]).all()


def test_a_run_takes_and_gives_the_state(line):
    """`run` is a network like any other: what is kept is an input and an output."""
    held = {f"{name} read": rows(2, at).reshape(1, 2, 3) for at, name in enumerate("ab")}
    x = rows(1, 5).reshape(1, 1, 3)
    result = line.run({"x": x, **held})
    assert result.matches_reference is not False
    np.testing.assert_array_equal(
        result.outputs["a next"], np.concatenate([held["a read"], x], 1)[:, 1:]
    )


def test_an_output_that_is_kept_is_given_too(tmp_path):
    """h' = x + h / 2; without a pointer for it the output stays inside."""
    net = match.compile(running_sum(), cache=False, states={"h": "y"})
    project = net.write(tmp_path / "net")
    stream, held = project.stream(), np.zeros((1, 4), np.float32)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.standard_normal((1, 4)).astype(np.float32)
        given = stream.step({"x": x})
        np.testing.assert_array_equal(given["wide"], np.concatenate([x, held], 1))
        held = x + held / np.float32(2)
        np.testing.assert_array_equal(given["y"], held)
    assert "_STATE_BYTES" in (project.folder / "include" / "sums.h").read_text()


def test_a_first_value_of_different_numbers(tmp_path):
    """It is a table in the code, where a value of one byte is a fill."""
    net = match.compile(running_sum(), cache=False, states={"h": "y"})
    first = np.array([[1, -2, 0.5, 3]], np.float32)
    states = tuple(replace(state, initial=first) for state in net.model.states)
    other = replace(net, model=replace(net.model, states=states))
    given = other.write(tmp_path / "net").stream().step({"x": np.zeros((1, 4), np.float32)})
    np.testing.assert_array_equal(given["y"], first / 2)


def test_a_network_that_keeps_nothing_has_no_stream(tmp_path):
    project = match.compile(running_sum(), cache=False).write(tmp_path / "net")
    with pytest.raises(OptionError, match="keeps nothing"):
        project.stream()
    assert "_step(" not in (project.folder / "include" / "sums.h").read_text()


def test_kept_inputs_are_not_given(line):
    with pytest.raises(OptionError, match="a read"):
        line.stream().step(
            {"x": rows(1, 0).reshape(1, 1, 3), "a read": np.zeros((1, 2, 3), np.int8)}
        )
