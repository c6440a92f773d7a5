"""`WHILE` of TFLite files: its steps are written out where constants say how many there are."""

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import LimitError, ModelError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.limits import Limits
from tests.networks.lite_recurrent import looped, looped_weights
from tests.networks.tflite_file import Step, Stored, flatbuffer


def test_steps_equal_numpy(tmp_path):
    x = np.random.default_rng(2).standard_normal((6, 4)).astype(np.float32)
    w, b, r = looped_weights(4, 8)
    h, states = np.zeros((1, 8)), []
    for row in x:
        h = np.tanh(row @ w.T + b + h @ r.T)
        states.append(h[0])
    outputs = match.compile(looped(), cache=False).write(tmp_path / "net").run({"x": x}).outputs
    np.testing.assert_allclose(outputs["all end"], states, rtol=0, atol=2e-6)
    np.testing.assert_allclose(outputs["h end"], h, rtol=0, atol=2e-6)


def test_weights_of_all_steps_are_there_once(tmp_path):
    sizes = []
    for steps in (2, 5):
        match.compile(looped(steps, 64, 64), cache=False).write(tmp_path / str(steps))
        (stored,) = (tmp_path / str(steps)).rglob("network.bin")
        sizes.append(stored.stat().st_size)
    assert 2 * 64 * 64 * 4 < sizes[0] < sizes[1] < 3 * 64 * 64 * 4


def test_a_number_of_steps_that_a_run_gives_is_refused():
    with pytest.raises(UnsupportedOperatorError, match="how often it runs"):
        load(looped(run_time=True))


def counted(body: list, condition: int = 1, inside: int = 2) -> bytes:
    """A loop that counts to 5 by what `body` does to its counter."""

    def scalar(name, value=None):
        content = None if value is None else np.int32(value)
        return Stored(name, (), "int32", content=content)

    plain = {"FusedActivationFunction": 0}
    main = [Stored("x", (1,), "int32"), scalar("i", 0), scalar("n"), Stored("y", (1,), "int32")]
    steps = [
        Step("WHILE", ("i",), "n", "WhileOptions",
             {"CondSubgraphIndex": condition, "BodySubgraphIndex": inside}),
        Step("ADD", ("x", "n"), "y", "AddOptions", plain),
    ]  # fmt: skip
    holds = [scalar("i"), scalar("five", 5), Stored("more", (), "bool")]
    others = [
        (holds, [Step("LESS", ("i", "five"), "more")], ["i"], ["more"]),
        ([scalar("i"), scalar("two", 2), scalar("next")], body, ["i"], ["next" if body else "i"]),
    ]
    return flatbuffer(main, steps, "x", "y", others)


TWO = [Step("ADD", ("i", "two"), "next", "AddOptions", {"FusedActivationFunction": 0})]


def test_a_counter_is_known_after_the_loop(tmp_path):
    project = match.compile(counted(TWO), cache=False).write(tmp_path / "net")
    assert project.run({"x": np.array([7], np.int32)}).outputs["y"] == 13


def test_a_loop_without_an_end_is_a_limit():
    with pytest.raises(LimitError, match="steps of `WHILE`"):
        load(counted([]), limits=Limits(nodes=500))


@pytest.mark.parametrize(("condition", "inside"), [(0, 2), (1, 0), (1, 3), (-1, 2)])
def test_subgraphs_that_are_none_are_refused(condition, inside):
    with pytest.raises(ModelError, match="damaged"):
        load(counted(TWO, condition, inside))


def growing(most: int | None) -> bytes:
    """Floats [3] that grow by half until one of them is 10, or `most` times; how often that was."""

    def scalar(name, value=None):
        content = None if value is None else np.int32(value)
        return Stored(name, (), "int32", content=content)

    def floats(name, shape, content=None):
        return Stored(name, shape, "float32", content=content)

    plain = {"FusedActivationFunction": 0}
    state = [scalar("i"), floats("v", (3,))]
    while_ = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    main = [scalar("i", 0), floats("x", (3,)), scalar("count"), floats("y", (3,))]
    loop = Step("WHILE", ("i", "x"), "count", "WhileOptions", while_, ("y",))
    holds = [*state, scalar("axis", 0), floats("ten", (), np.float32(10)), floats("largest", ())]
    holds += [Stored(name, (), "bool") for name in ("small", "early", "more")]
    asked = [
        Step("REDUCE_MAX", ("v", "axis"), "largest", "ReducerOptions"),
        Step("LESS", ("largest", "ten"), "small"),
    ]
    if most is not None:
        holds.append(scalar("most", most))
        asked += [
            Step("LESS", ("i", "most"), "early"),
            Step("LOGICAL_AND", ("early", "small"), "more"),
        ]
    body = [
        Step("MUL", ("v", "half"), "w", "MulOptions", plain),
        Step("ADD", ("i", "one"), "j", "AddOptions", plain),
    ]
    inner = [*state, floats("half", (), np.float32(1.5)), scalar("one", 1)]
    inner += [scalar("j"), floats("w", (3,))]
    others = [
        (holds, asked, ["i", "v"], ["small" if most is None else "more"]),
        (inner, body, ["i", "v"], ["j", "w"]),
    ]
    return flatbuffer(main, [loop], "x", ("count", "y"), others)


@pytest.mark.parametrize("most", [1, 4])
def test_a_condition_of_run_time_ends_a_bounded_loop(most, tmp_path):
    project = match.compile(growing(most), cache=False).write(tmp_path / "net")
    for first in (1.0, 3.0, 8.0, 12.0):
        v, count = np.array([0.5, first, -2], np.float32), 0
        outputs = project.run({"x": v}).outputs
        while count < most and v.max() < 10:
            v, count = v * np.float32(1.5), count + 1
        assert outputs["count"] == count
        np.testing.assert_array_equal(outputs["y"], v)


def test_a_condition_that_nothing_bounds_is_refused():
    with pytest.raises(UnsupportedOperatorError, match="no counter bounds it"):
        load(growing(None))
