"""`IF` of TFLite files: both branches are computed, what one of them gives is chosen."""

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend import load
from tests.networks.tflite_file import NONE, Step, Stored, flatbuffer

RNG = np.random.default_rng(5)
WEIGHT = RNG.standard_normal((1, 8)).astype(np.float32)
SECOND = RNG.standard_normal((3, 8)).astype(np.float32)
SUMS = RNG.standard_normal((3,)).astype(np.float32)
DENSE = {"FusedActivationFunction": NONE}


def floats(*names, shape=(1, 3)):
    return [Stored(name, shape, "float32") for name in names]


def verified(then=1, other=2, shape=(1, 3), more=()):
    """Where a first layer gives at least 0.1, a second layer with operands of its own, or zeros."""
    main = [
        Stored("x", (1, 8), "float32"),
        Stored("w", WEIGHT.shape, "float32", content=WEIGHT),
        Stored("s", SECOND.shape, "float32", content=SECOND),
        Stored("b", SUMS.shape, "float32", content=SUMS),
        Stored("least", (), "float32", content=np.float32(0.1)),
        *floats("score", shape=(1, 1)),
        Stored("sure", (1, 1), "bool"),
        *floats("y"),
    ]
    steps = [
        Step("FULLY_CONNECTED", ("x", "w"), "score", "FullyConnectedOptions", DENSE),
        Step("GREATER_EQUAL", ("score", "least"), "sure"),
        Step("IF", ("sure", "x", "s", "b"), "y", "IfOptions",
             {"ThenSubgraphIndex": then, "ElseSubgraphIndex": other}),
    ]  # fmt: skip
    given = [Stored("x", (1, 8), "float32"), *floats("s", shape=(3, 8)), *floats("b", shape=(3,))]
    yes = [
        [*given, *floats("score", "y")],
        [Step("FULLY_CONNECTED", ("x", "s", "b"), "score", "FullyConnectedOptions", DENSE),
         Step("LOGISTIC", ("score",), "y")],
        ["x", "s", "b"],
        ["y"],
    ]  # fmt: skip
    zeros = Stored("zeros", shape, "float32", content=np.zeros(shape, np.float32))
    no = [[*given, zeros], [], ["x", "s", "b"], ["zeros"]]
    return flatbuffer(main, steps, "x", "y", [tuple(yes), tuple(no), *more])


def test_the_condition_chooses(tmp_path):
    project = match.compile(verified(), cache=False).write(tmp_path / "net")
    sides = set()
    for x in RNG.standard_normal((12, 1, 8)).astype(np.float32):
        sure = bool((x @ WEIGHT.T >= 0.1).all())
        sides.add(sure)
        wanted = 1 / (1 + np.exp(-(x @ SECOND.T + SUMS))) if sure else np.zeros((1, 3))
        np.testing.assert_allclose(project.run({"x": x}).outputs["y"], wanted, atol=1e-6)
    assert sides == {True, False}


def test_branches_of_different_shapes_are_refused():
    with pytest.raises(UnsupportedOperatorError, match="different shapes"):
        load(verified(shape=(1, 4)))


@pytest.mark.parametrize(("then", "other"), [(0, 2), (1, 3), (-1, 2)])
def test_branches_that_are_none_are_refused(then, other):
    with pytest.raises(ModelError, match="damaged"):
        load(verified(then, other))


def test_other_subgraphs_are_refused():
    with pytest.raises(ModelError, match="4 subgraphs"):
        load(verified(more=[(floats("a"), [])]))
