"""Functions, norms, sums and products of float32 tensors: what patterns of the array find."""

import numpy as np
import pytest

from match_aie.partition.extract import extract
from match_aie.partition.layer import Extracted
from match_aie.partition.match import matches
from match_aie.targets.versal.patterns import FLOATS
from tests.plain_graphs import Builder

SHAPE = (2, 3)


def layers(builder, output):
    """What every pattern makes of the last node, those of dense layers apart."""
    graph = builder.graph(output)
    root = graph.nodes[-1]
    found = [
        extract(graph, match, pattern.kind)
        for pattern in FLOATS
        if pattern.structure.operator == root.operator
        for match in matches(graph, pattern.structure, root)
    ]
    return [layer for layer in found if isinstance(layer, Extracted)], found


def on(body):
    """The longest layer of `body`."""
    b = Builder()
    x = b.input("x", SHAPE, "float32")
    (layer, *_), _ = layers(b, body(b, x))
    assert layer.inputs == (x,)
    return layer.workload


def one(operator):
    return lambda b, x: b.op(operator, x, shape=SHAPE)


def reciprocal(b, x):
    return b.op("divide", b.constant(np.float32(1)), x, shape=SHAPE)


def spelled_root(b, x):
    return reciprocal(b, b.op("sqrt", x, shape=SHAPE))


def spelled_silu(b, x):
    return b.op("multiply", x, b.op("sigmoid", x, shape=SHAPE), shape=SHAPE)


FUNCTIONS = {
    "gelu": one("nn.gelu"),
    "gelu_tanh": one("nn.gelu_tanh"),
    "silu": spelled_silu,
    "sigmoid": one("sigmoid"),
    "tanh": one("tanh"),
    "exp": one("exp"),
    "reciprocal": reciprocal,
    "rsqrt": one("rsqrt"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_found_by_what_they_compute(name):
    workload = on(FUNCTIONS[name])
    assert (workload.kind, workload.real.activation) == ("function", name)
    assert workload.output.size == 6


def test_a_root_and_a_reciprocal_are_one_function():
    assert on(spelled_root).real.activation == "rsqrt"


@pytest.mark.parametrize("change", [2.0, -1.0])
def test_another_number_than_one_is_no_reciprocal(change):
    b = Builder()
    x = b.input("x", SHAPE, "float32")
    made, found = layers(b, b.op("divide", b.constant(np.float32(change)), x, shape=SHAPE))
    assert not made
    assert found == ["its operators are no function that has a name"]


@pytest.mark.parametrize(("operator", "kind"), [("add", "add"), ("multiply", "mul")])
def test_sums_and_products_of_two_tensors(operator, kind):
    b = Builder()
    x, x1 = (b.input(name, SHAPE, "float32") for name in ("x", "x1"))
    (layer,), _ = layers(b, b.op(operator, x, x1, shape=SHAPE))
    assert (layer.workload.kind, layer.inputs) == (kind, (x, x1))


def test_shapes_that_differ_stay():
    b = Builder()
    x, x1 = b.input("x", SHAPE, "float32"), b.input("x1", (1, 3), "float32")
    made, found = layers(b, b.op("add", x, x1, shape=SHAPE))
    assert not made
    assert any("shapes [[2, 3], [1, 3]]" in reason for reason in found)
