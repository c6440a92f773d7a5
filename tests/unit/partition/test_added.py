"""Sums behind a quantised product: one layer, which means what the layers one by one mean."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.hardware import summed
from match_aie.hardware.pattern import accepts_all
from match_aie.partition.candidates import candidates_of
from match_aie.workload import Quantized, Tail, dense, elementwise, full_range, reference, with_sum
from tests.plain_graphs import Builder
from tests.unit.partition.test_partition import Module

PATTERNS = {p.name: p for p in summed("dense", "dense", "matmul", accepts_all)}
RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(-128, 128, (6, 4)).astype(np.int8)


class Graph(Builder):
    """A dense layer of [5, 6] by [6, 4], and what follows."""

    def product(self, scale=0.5, zero=7):
        x = self.dequantize(self.input("x", (5, 6)), 0.5, 3)
        return self.quantize(self.matmul(x, WEIGHT), scale, zero)

    def sum_of(self, result, other, scale=0.75, zero=-9, step=0.5, start=7):
        total = self.op(
            "add",
            self.dequantize(result, step, start),
            self.dequantize(other, 0.125, 2),
            shape=(5, 4),
        )
        return self.quantize(total, scale, zero)

    def found(self, name, result):
        (one,) = candidates_of(self.graph(result), Module(), PATTERNS[name])
        return one


def one_by_one(x, other, tail=full_range("int8", -9), scale=0.75, zero=-9):
    """The results of the two layers."""
    first = dense(
        Quantized("int8", 0.5, 3), Quantized("int8", 0.5, 7), rows=5, inputs=6, outputs=4,
        tail=full_range("int8", 7), scales=1,
    )  # fmt: skip
    constants = {
        "weight": np.ascontiguousarray(WEIGHT.T),
        "bias": np.zeros(4, np.int32),
        "scale": np.float32([0.5 * 0.125 / 0.5]),
    }
    result = reference(first, [x], constants)
    return added(result, other, tail, scale, zero, 0.5, 7), result


def added(result, other, tail, scale, zero, step, start):
    both = elementwise(
        "add", Quantized("int8", step, start), Quantized("int8", 0.125, 2),
        Quantized("int8", scale, zero), shape=(1, 1, 5, 4),
        shape1=(1, 1, *np.atleast_2d(other).shape), out=(1, 1, 5, 4), tail=tail,
    )  # fmt: skip
    arrays = [a.reshape(o.shape) for a, o in zip((result, other), both.inputs, strict=True)]
    return reference(both, arrays).reshape(5, 4)


def bytes_of(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def test_a_sum_with_an_activation():
    graph = Graph()
    result = graph.sum_of(graph.product(), graph.input("r", (5, 4)))
    layer = graph.found("dense_added", result).layer
    assert layer.inputs == ("x", "r")
    x, other = bytes_of(5, 6), bytes_of(5, 4)
    expected, _ = one_by_one(x, other)
    np.testing.assert_array_equal(reference(layer.workload, [x, other], layer.constants), expected)


def test_the_other_way_round_and_clipped():
    graph = Graph()
    other = graph.dequantize(graph.input("r", (5, 4)), 0.125, 2)
    total = graph.op("add", other, graph.dequantize(graph.product(), 0.5, 7), shape=(5, 4))
    stored = graph.quantize(total, 0.75, -9)
    result = graph.op("clip", stored, -9.0, 60.0, shape=(5, 4), dtype="int8")
    layer = graph.found("dense_added_clip", result).layer
    x, other = bytes_of(5, 6), bytes_of(5, 4)
    expected, _ = one_by_one(x, other, Tail(-9, -9, 60))
    np.testing.assert_array_equal(reference(layer.workload, [x, other], layer.constants), expected)


@pytest.mark.parametrize("shape", [(4,), (1, 4)])
def test_a_constant_per_channel_and_then_an_activation(shape):
    graph, known = Graph(), bytes_of(*shape)
    biased = graph.sum_of(graph.product(), graph.constant(known))
    result = graph.sum_of(biased, graph.input("r", (5, 4)), 0.5, 1, step=0.75, start=-9)
    layer = graph.found("dense_added_twice", result).layer
    assert [o.name for o in layer.workload.operands[-3:]] == ["residual", "residual1", "y"]
    x, other = bytes_of(5, 6), bytes_of(5, 4)
    first, _ = one_by_one(x, known)
    expected = added(first, other, full_range("int8", 1), 0.5, 1, 0.75, -9)
    np.testing.assert_array_equal(reference(layer.workload, [x, other], layer.constants), expected)


def test_a_vector_that_arrives_at_run_time_is_refused():
    graph = Graph()
    result = graph.sum_of(graph.product(), graph.input("r", (1, 4)))
    assert "not element by element" in graph.found("dense_added", result).refusal


def test_another_zero_point_than_the_result_was_stored_with_is_refused():
    graph = Graph()
    result = graph.sum_of(graph.product(zero=6), graph.input("r", (5, 4)))
    assert "not the result as it is stored" in graph.found("dense_added", result).refusal


def test_a_result_that_others_read_stays_a_layer():
    graph = Graph()
    product = graph.product()
    total = graph.sum_of(product, graph.input("r", (5, 4)))
    for outputs in ((total, product), (total, graph.quantize(graph.dequantize(product), 0.1, 0))):
        assert candidates_of(graph.graph(*outputs), Module(), PATTERNS["dense_added"]) == ()


def test_a_result_whose_dequantize_others_share_stays_a_layer():
    """The sum and a following layer read one dequantize, which could not be repeated outside."""
    graph = Graph()
    real = graph.dequantize(graph.product(), 0.5, 7)
    other = graph.dequantize(graph.input("r", (5, 4)), 0.125, 2)
    total = graph.quantize(graph.op("add", real, other, shape=(5, 4)), 0.75, -9)
    again = graph.quantize(graph.op("tanh", real, shape=(5, 4)), 0.1, 0)
    plain = graph.graph(total, again)
    assert candidates_of(plain, Module(), PATTERNS["dense_added"]) == ()


def test_only_products_in_float32_take_sums():
    x, y = Quantized("int8", 0.5), Quantized("int8", 0.5)
    tail = full_range("int8", 0)
    w = dense(x, y, rows=1, inputs=2, outputs=3, tail=tail, scales=1)
    taken = with_sum(w, x, y, tail=tail)
    with pytest.raises(ValueError, match="takes no sum along"):
        replace(taken, tail=None)
    with pytest.raises(ValueError, match="operands"):
        replace(taken, operands=w.operands)
