"""Chains of element-wise operators in patterns, on plain graphs."""

import numpy as np
import pytest

from match_aie.hardware import Any, Chain, Const, Op, integer_patterns
from match_aie.hardware.pattern import accepts_all
from match_aie.partition.extract import extract
from match_aie.partition.match import matches
from tests.plain_graphs import Builder

CORE = Op("matmul", Chain(frozenset({"astype", "subtract"}), Any("x", ("int8",))), Const("weight"))
TAIL = Op("astype", Chain(frozenset({"add", "right_shift", "clip"}), CORE), dtypes=("int8",))


class Integers(Builder):
    """Dense layers on integers, a line per operator."""

    def step(self, operator, x, *more, dtype="int32"):
        arguments = [self.constant(np.asarray(m, np.int32)) if m is not None else m for m in more]
        if operator == "clip":
            arguments = [float(m) for m in more]
        return self.op(operator, x, *arguments, shape=self.shape(x), dtype=dtype)

    def product(self, x, width=3):
        weight = self.constant(np.ones((4, width), np.int8))
        return self.op("matmul", x, weight, shape=(2, width), dtype="int32")

    def stored(self, x, dtype="int8"):
        return self.step("astype", self.step("clip", x, -128, 127), dtype=dtype)


def found(graph, structure):
    (root,) = (n for n in graph.nodes if n.output == graph.outputs[0])
    return list(matches(graph, structure, root))


def layer():
    """(builder, int8 input, the last value before the clip)."""
    b = Integers()
    x = b.input("x", (2, 4))
    wide = b.step("subtract", b.step("astype", x), 3)
    shifted = b.step("right_shift", b.step("add", b.product(wide), [1, 2, 3]), 5)
    return b, x, shifted


def test_a_chain_is_as_long_as_it_must_be():
    b, _, shifted = layer()
    (match,) = found(b.graph(b.stored(shifted)), TAIL)
    assert match.bound["x"] == "x"
    operators = [b.nodes[i].operator for i in match.nodes]
    assert operators == ["astype", "clip", "right_shift", "add", "matmul", "subtract", "astype"]


def test_a_chain_may_be_empty():
    b = Integers()
    (match,) = found(b.graph(b.stored(b.product(b.input("x", (2, 4))))), TAIL)
    assert [b.nodes[i].operator for i in match.nodes] == ["astype", "clip", "matmul"]


def test_element_types_are_part_of_a_structure():
    b, _, shifted = layer()
    assert not found(b.graph(b.stored(shifted, dtype="int16")), TAIL)
    b = Integers()
    unsigned = b.input("x", (2, 4), "uint8")
    assert not found(b.graph(b.stored(b.product(unsigned))), TAIL)


def test_a_chain_is_not_torn_where_others_read_it():
    b, _, shifted = layer()
    graph = b.graph(b.stored(shifted), shifted)
    (root,) = (n for n in graph.nodes if n.output == graph.outputs[0])
    assert list(matches(graph, TAIL, root)) == []


def test_a_chain_does_not_run_through_a_sum_of_two_tensors():
    b = Integers()
    x = b.input("x", (2, 4))
    both = b.op("add", b.product(x), b.product(x), shape=(2, 3), dtype="int32")
    assert not found(b.graph(b.stored(both)), TAIL)


@pytest.mark.parametrize("zero", [3, 200])
def test_the_zero_point_of_a_widened_input(zero):
    b = Integers()
    wide = b.step("subtract", b.step("astype", b.input("x", (2, 4))), zero)
    graph = b.graph(b.stored(b.step("right_shift", b.product(wide), 4)))
    _, pattern, *_ = integer_patterns("dense", "dense", accepts_all)
    (match,) = found(graph, pattern.structure)
    result = extract(graph, match, "dense")
    if zero == 200:
        assert result == "a zero point of 200 for int8"
        return
    assert result.workload.operand("x").zero_point == 3
    assert (result.workload.tail.shift, result.workload.tail.rounding) == (4, "floor")
    np.testing.assert_array_equal(result.constants["bias"], [0, 0, 0])
