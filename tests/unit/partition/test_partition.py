"""Matching, extraction and selection on plain graphs."""

from collections.abc import Sequence

import numpy as np
import pytest

from match_aie.errors import TargetError
from match_aie.hardware import (
    Any,
    Chain,
    Const,
    Cost,
    ExecModule,
    Loop,
    Mapping,
    MatchTarget,
    Op,
    Pattern,
    load_target,
    target_names,
)
from match_aie.hardware.graph import Graph
from match_aie.partition.candidates import candidates
from match_aie.partition.match import matches
from match_aie.partition.select import Option, select
from match_aie.partition.spelling import refuse_unknown_operators
from match_aie.workload import Workload
from tests.plain_graphs import Builder


def dq(inner):
    return Op("dequantize", inner)


MATMUL = Op("matmul", dq(Any("x")), dq(Const("weight")))
DENSE_BIAS = Pattern("dense_bias", "dense", Op("quantize", Op("add", MATMUL, dq(Const("bias")))))
DENSE = Pattern("dense", "dense", Op("quantize", MATMUL))
ADD = Pattern("add", "add", Op("quantize", Op("add", dq(Any("x")), dq(Any("x1")))))
DEQUANTIZE = Pattern("dequantize", "dequantize", dq(Any("x")))
QUANTIZE = Pattern("quantize", "quantize", Op("quantize", Any("x")))


class Module(ExecModule):
    name = "unit"

    def __init__(self, *patterns: Pattern):
        self.table = patterns

    def patterns(self) -> Sequence[Pattern]:
        return self.table

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        return ()

    def cost_model(self, workload):
        raise NotImplementedError

    def template(self, workload):
        return "none"


class Target(MatchTarget):
    name = "T"

    def __init__(self, *modules: ExecModule):
        self.units = modules

    def modules(self):
        return self.units


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (Op("quantize", Op("matmull", dq(Any("x")))), "'matmull', which no network has"),
        (Op("quantise", MATMUL), "'quantise', which no network has"),
        (Op("quantize", Chain(frozenset({"mutliply"}), MATMUL)), "'mutliply', which no network"),
    ],
)
def test_a_pattern_that_no_network_can_have_is_refused(structure, words):
    """Its layers would go to others, and nothing would say why."""
    wrong = Target(Module(DENSE, Pattern("mine", "dense", structure)))
    with pytest.raises(TargetError, match=f"pattern 'mine' of module 'unit'.*{words}") as caught:
        candidates(dense_graph(), wrong)
    assert "did you mean" in caught.value.hint


@pytest.mark.parametrize("name", target_names())
def test_operators_of_installed_targets_exist(name):
    refuse_unknown_operators(load_target(name))


def dense_graph(bias_scale=0.0625, weight=None, bias_first=False):
    b = Builder()
    weight = np.arange(12, dtype=np.int8).reshape(4, 3) if weight is None else weight
    x = b.dequantize(b.input("x", (2, 4)), 0.5, 3)
    product = b.matmul(x, weight)
    bias = b.dequantize(b.constant(np.array([1, -2, 3], np.int32)), bias_scale)
    pair = (bias, product) if bias_first else (product, bias)
    return b.graph(b.quantize(b.op("add", *pair, shape=(2, 3)), 0.25, -5))


@pytest.mark.parametrize("bias_first", [False, True])
def test_a_dense_layer_is_extracted_exactly(bias_first):
    graph = dense_graph(bias_first=bias_first)
    (found,) = candidates(graph, Target(Module(DENSE_BIAS)))
    assert found.refusal == ""
    layer = found.layer
    assert dict(layer.workload.dims) == {"B": 2, "K": 3, "C": 4}
    np.testing.assert_array_equal(layer.constants["weight"], np.arange(12).reshape(4, 3).T)
    np.testing.assert_array_equal(layer.constants["bias"], [1, -2, 3])
    np.testing.assert_array_equal(layer.constants["scale"], np.float32([0.5 * 0.125 / 0.25]))
    assert (layer.workload.operand("x").zero_point, layer.workload.tail.zero_point) == (3, -5)
    assert layer.inputs == ("x",)


def test_a_bias_in_other_units_is_refused_with_the_reason():
    (found,) = candidates(dense_graph(bias_scale=0.07), Target(Module(DENSE_BIAS)))
    assert found.layer is None
    assert found.refusal == "the bias scale is not input scale times weight scale"


def test_a_sum_that_could_overflow_is_refused():
    rows = 2**31 // (131 * 127) + 10
    weight = np.full((rows, 3), 127, np.int8)
    b = Builder()
    product = b.matmul(b.dequantize(b.input("x", (1, rows)), 0.5, 3), weight)
    graph = b.graph(b.quantize(product))
    (found,) = candidates(graph, Target(Module(DENSE)))
    assert found.refusal == "the sum can overflow 32 bits"


def test_weights_quantised_along_the_wrong_axis_are_refused():
    b = Builder()
    scales = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    product = b.matmul(b.dequantize(b.input("x", (1, 4))), np.ones((4, 4), np.int8), scales, axis=0)
    (found,) = candidates(b.graph(b.quantize(product)), Target(Module(DENSE)))
    assert "along an axis" in found.refusal


def test_asymmetric_weights_become_16_bit():
    b = Builder()
    weight = np.array([[0], [255]], np.uint8)
    scale, zero = b.constant(np.float32(0.1)), b.constant(np.uint8(100))
    w = b.op("dequantize", b.constant(weight), scale, zero, shape=(2, 1), axis=0)
    product = b.op("matmul", b.dequantize(b.input("x", (1, 2))), w, shape=(1, 1))
    (found,) = candidates(b.graph(b.quantize(product)), Target(Module(DENSE)))
    assert found.layer.workload.operand("weight").dtype == "int16"
    np.testing.assert_array_equal(found.layer.constants["weight"], [[-100, 155]])


def residual():
    """A dequantize with two readers, as in every residual network."""
    b = Builder()
    shared = b.dequantize(b.input("x", (1, 4)), 0.5, 1)
    branch = b.quantize(b.matmul(shared, np.eye(4, dtype=np.int8)))
    total = b.op("add", b.dequantize(branch), shared, shape=(1, 4))
    return b.graph(b.quantize(total))


def options(graph, target, cycles=None):
    prices = cycles or {}
    return [
        Option(c, Mapping((), ()), Cost(prices.get(c.module.name, 1.0))) if c.layer else Option(c)
        for c in candidates(graph, target)
    ]


def test_a_shared_dequantize_belongs_to_both_layers():
    graph = residual()
    target = Target(Module(DENSE, ADD, DEQUANTIZE, QUANTIZE))
    assignment = select(graph, options(graph, target), target)
    assert [o.candidate.pattern.name for o in assignment.chosen] == ["dense", "add"]
    dense, add = (o.candidate.layer for o in assignment.chosen)
    assert set(add.inputs) == {"x", dense.output}


def test_a_dequantize_that_something_else_reads_is_a_layer():
    graph = residual()
    outputs = (*graph.outputs, graph.nodes[0].output)
    graph = Graph(graph.nodes, graph.values, outputs)
    target = Target(Module(DENSE, ADD, DEQUANTIZE))
    assignment = select(graph, options(graph, target), target)
    assert [o.candidate.pattern.name for o in assignment.chosen] == ["dequantize", "dense", "add"]


def test_a_value_needed_outside_keeps_its_operator_out_of_the_match():
    graph = dense_graph()
    product = next(n for n in graph.nodes if n.operator == "matmul").output
    graph = Graph(graph.nodes, graph.values, (*graph.outputs, product))
    root = graph.nodes[-1]
    assert list(matches(graph, DENSE_BIAS.structure, root)) == []


def test_the_longest_pattern_wins_then_the_cheaper_module():
    class Other(Module):
        name = "other"

    graph = dense_graph()
    target = Target(Module(QUANTIZE, DENSE_BIAS), Other(DENSE_BIAS))
    priced = options(graph, target, {"unit": 5.0, "other": 4.0})
    (first,) = select(graph, priced, target, rule="match").chosen
    assert (first.candidate.module.name, first.candidate.pattern.name) == ("other", "dense_bias")
    priced = options(graph, target, {"unit": 3.0, "other": 4.0})
    (second,) = select(graph, priced, target, rule="match").chosen
    assert second.candidate.module.name == "unit"


def test_a_pattern_check_refuses_with_its_own_sentence():
    picky = Pattern("dense_bias", "dense", DENSE_BIAS.structure, lambda w: f"no {w.kind} today")
    (found,) = candidates(dense_graph(), Target(Module(picky)))
    assert (found.layer, found.refusal) == (None, "no dense today")


def test_equal_names_bind_equal_values():
    square = Op("quantize", Op("multiply", dq(Any("x")), dq(Any("x"))))
    for same in (True, False):
        b = Builder()
        left = b.dequantize(b.input("x", (1, 4)))
        right = left if same else b.dequantize(b.input("z", (1, 4)))
        b.quantize(b.op("multiply", left, right, shape=(1, 4)))
        graph = b.graph(b.nodes[-1].output)
        assert bool(list(matches(graph, square, graph.nodes[-1]))) is same


@pytest.mark.parametrize("constant_first", [False, True])
def test_an_operand_known_at_compile_time_is_a_constant_of_the_layer(constant_first):
    b = Builder()
    x = b.dequantize(b.input("x", (1, 2, 2, 3)))
    known = np.array([[[1]], [[-7]]], np.int8)
    pair = [x, b.dequantize(b.constant(known), 0.125)]
    total = b.op("add", *(pair[::-1] if constant_first else pair), shape=(1, 2, 2, 3))
    y = b.quantize(total)
    [found] = candidates(b.graph(y), Target(Module(ADD)))
    assert found.layer is not None
    assert found.layer.inputs == ("x",)
    [operand] = found.layer.workload.constants
    assert operand.shape == (1, 2, 1, 1)
    assert np.array_equal(found.layer.constants[operand.name], known.reshape(1, 2, 1, 1))


def test_a_pattern_of_an_integer_pool_refuses_a_float_one_with_its_clip():
    b = Builder()
    pool = b.op("nn.max_pool2d", b.input("x", (1, 4, 4, 8), "float32"), shape=(1, 2, 2, 8))
    graph = b.graph(b.op("clip", pool, 0.0, 6.0, shape=(1, 2, 2, 8)))
    clipped = Pattern("clipped", "max_pool2d", Op("clip", Op("nn.max_pool2d", Any("x"))))
    (found,) = candidates(graph, Target(Module(clipped)))
    assert found.layer is None
    assert "takes no clip behind it" in found.refusal
