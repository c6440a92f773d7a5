"""Functions of a quantised tensor's elements: what is found, and the table that is made of it."""

from math import erf, sqrt

import numpy as np
import pytest

from match_aie.hardware import tabulated
from match_aie.hardware.pattern import accepts_all
from match_aie.partition.extract import extract
from match_aie.partition.match import LARGEST_WEB, matches
from tests.plain_graphs import Builder

STRUCTURE = tabulated("table", accepts_all)[1].structure
SHAPE = (2, 3)


def layers(builder, output):
    """What every match at the last node means."""
    graph = builder.graph(output)
    return [extract(graph, match, "table") for match in matches(graph, STRUCTURE, graph.nodes[-1])]


def made(body, *, dtype="int8", scale=0.0513, zero=3, stored="int8"):
    """The one table of `body` between a dequantize and a quantize by 0.0407 and -7."""
    b = Builder()
    x = b.dequantize(b.input("x", SHAPE, dtype), scale, zero)
    y = b.quantize(body(b, x), 0.0407, -7 if stored == "int8" else 100, stored)
    (layer,) = layers(b, y)
    assert layer.workload.operand("x").scale == np.float32(scale)
    return layer.constants["table"]


def wanted(function, *, dtype="int8", stored="int8"):
    """The rounded float64 result for every key."""
    keys = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    real = np.array([function(v) for v in (keys - 3) * np.float64(np.float32(0.0513))])
    info, zero = np.iinfo(stored), -7 if stored == "int8" else 100
    steps = np.rint(real / np.float64(np.float32(0.0407))) + zero
    return np.clip(steps, info.min, info.max).astype(stored)


def one(operator):
    return lambda b, x: b.op(operator, x, shape=SHAPE)


def spelled_gelu(b, x):
    inner = b.op("divide", x, b.constant(np.float32(sqrt(2))), shape=SHAPE)
    half = b.op("multiply", x, b.constant(np.float32(0.5)), shape=SHAPE)
    one_more = b.op(
        "add", b.op("erf", inner, shape=SHAPE), b.constant(np.float32([1])), shape=SHAPE
    )
    return b.op("multiply", half, one_more, shape=SHAPE)


def hard_swish(b, x):
    more = b.op("add", x, b.constant(np.float32(3)), shape=SHAPE)
    gate = b.op("clip", more, 0.0, 6.0, shape=SHAPE)
    scaled = b.op("multiply", gate, b.constant(np.float32(1 / 6)), shape=SHAPE)
    return b.op("multiply", x, scaled, shape=SHAPE)


def cube(b, x):
    """As GELU by tanh has it in quantised models of GPT."""
    third = b.op("power", x, b.constant(np.float32(3)), shape=SHAPE)
    return b.op("multiply", third, b.constant(np.float32(0.05)), shape=SHAPE)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def tanh_gelu(v):
    return 0.5 * v * (1 + np.tanh(sqrt(2 / np.pi) * (v + 0.044715 * v**3)))


FUNCTIONS = {
    "sigmoid": (one("sigmoid"), sigmoid),
    "tanh": (one("tanh"), np.tanh),
    "exp": (one("exp"), np.exp),
    "gelu": (one("nn.gelu"), lambda v: 0.5 * v * (1 + erf(v / sqrt(2)))),
    "gelu_tanh": (one("nn.gelu_tanh"), tanh_gelu),
    "silu": (one("nn.silu"), lambda v: v * sigmoid(v)),
    "spelled_gelu": (spelled_gelu, lambda v: 0.5 * v * (1 + erf(v / sqrt(2)))),
    "cube": (cube, lambda v: v**3 * 0.05),
    "hard_swish": (hard_swish, lambda v: v * min(max(v + 3, 0), 6) / 6),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("types", [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8")])
def test_every_entry_is_the_rounded_result(name, types) -> None:
    body, function = FUNCTIONS[name]
    dtype, stored = types
    table = made(body, dtype=dtype, stored=stored)
    np.testing.assert_array_equal(table, wanted(function, dtype=dtype, stored=stored))
    assert np.unique(table).size > 12


def gated():
    """x * sigmoid(x) as quantisers write it: quantised between the two."""
    b = Builder()
    x = b.input("x", SHAPE)
    real = b.dequantize(x, 0.0513, 3)
    gate = b.quantize(b.op("sigmoid", real, shape=SHAPE), 1 / 256, -128)
    both = b.op("multiply", b.dequantize(gate, 1 / 256, -128), real, shape=SHAPE)
    return b, gate, b.quantize(both, 0.0407, -7)


def test_what_is_quantised_inside_is_rounded_there() -> None:
    b, _, y = gated()
    (layer,) = layers(b, y)
    assert layer.inputs == ("x",)
    keys = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32)
    real = (keys - 3) * np.float32(0.0513)
    gate = np.clip(np.rint(sigmoid(real.astype(np.float64)) * 256), 0, 255) / 256
    steps = np.rint(gate.astype(np.float32) * real / np.float32(0.0407)) - 7
    np.testing.assert_array_equal(layer.constants["table"], np.clip(steps, -128, 127))


def test_a_value_that_others_read_stays_outside() -> None:
    b, gate, y = gated()
    graph = b.graph(gate, y)
    assert not list(matches(graph, STRUCTURE, graph.nodes[-1]))


@pytest.mark.parametrize(("steps", "tables"), [(LARGEST_WEB - 1, 1), (LARGEST_WEB, 0)])
def test_a_web_is_bounded(steps, tables) -> None:
    """The dequantize before these operators is one of the web."""
    b = Builder()
    value = b.dequantize(b.input("x", SHAPE), 0.05, 3)
    for _ in range(steps):
        value = b.op("negative", value, shape=SHAPE)
    assert len(layers(b, b.quantize(value, 0.05, 3))) == tables


def test_two_tensors_are_no_table() -> None:
    b = Builder()
    parts = [b.dequantize(b.input(name, SHAPE)) for name in ("x", "x1")]
    assert layers(b, b.quantize(b.op("add", *parts, shape=SHAPE))) == []


def test_refusals_name_what_no_table_holds() -> None:
    b = Builder()
    x = b.dequantize(b.input("x", SHAPE))
    several = b.op("multiply", x, b.constant(np.ones(3, np.float32)), shape=SHAPE)
    (refusal,) = layers(b, b.quantize(several))
    assert "a constant of shape (3,) is not the same for all elements" in refusal
    b = Builder()
    x = b.dequantize(b.input("x", (1, 3)))
    wide = b.op("add", x, b.constant(np.ones((1, 1), np.float32)), shape=(2, 3))
    (refusal,) = layers(b, b.quantize(wide))
    assert "of shape (2, 3) is not of its operand's, (1, 3)" in refusal


def _requantised(b, x, factor):
    """A product with a stored 8-bit constant, quantised and widened again."""
    number = b.dequantize(b.constant(np.full((1,), 127, np.int8)), factor / 127, 0)
    product = b.op("multiply", x, number, shape=SHAPE)
    return b.dequantize(b.quantize(product, 0.02, 1, "int8"), 0.02, 1)


def test_a_constant_of_8_bits_is_no_operand_of_a_table():
    b = Builder()
    x = b.dequantize(b.input("x", SHAPE, "int8"), 0.0513, 3)
    y = b.op("multiply", x, _requantised(b, x, 0.25), shape=SHAPE)
    found = layers(b, b.quantize(y, 0.0407, -7, "int8"))
    keys = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    real = (keys - 3) * np.float64(np.float32(0.0513))
    inner = np.clip(np.rint(real * 0.25 / np.float64(np.float32(0.02))) + 1, -128, 127)
    steps = np.rint(
        real * (inner - 1) * np.float64(np.float32(0.02)) / np.float64(np.float32(0.0407))
    )
    assert [layer.inputs for layer in found] == [("x",)]
    apart = found[0].constants["table"] - np.clip(steps - 7, -128, 127)
    assert np.abs(apart).max() <= 1
    assert np.count_nonzero(apart) < 8


def test_the_farthest_tensor_comes_first():
    b = Builder()
    x = b.dequantize(b.input("x", SHAPE, "int8"), 0.0513, 3)
    y = b.quantize(_requantised(b, _requantised(b, x, 0.5), 0.5), 0.0407, -7, "int8")
    found = layers(b, y)
    assert len(found) == 3
    assert found[0].inputs == ("x",)
