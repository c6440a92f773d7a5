"""A few random models, and the fuzzer's own parts: its judge, its workers, its reducer."""

import itertools
import os
import signal
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.fuzzing import cases
from tests.fuzzing.float_networks import float_network
from tests.fuzzing.judge import Verdict, compared, expected, feeds_of, judge
from tests.fuzzing.quantised_networks import quantised_network
from tests.fuzzing.reduce import Budget, reduced
from tests.fuzzing.workers import Limits, Lost, each
from tests.thinned import thinned

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("case", "seed"),
    [
        *thinned(itertools.product(("cpu_float", "cpu_quantised"), (1, 2, 3)), 2),
        *(pytest.param("versal", seed, marks=pytest.mark.slow) for seed in (1, 2, 3)),
    ],
)
def test_random_models(case, seed, quick):
    [found] = [c for c in cases.CASES if c.name == case]
    verdict = judge(found.make(seed), found.target, seed, compiler=quick)
    assert verdict.status == "passed", verdict


@pytest.mark.parametrize("make", [float_network, quantised_network])
def test_a_seed_is_a_model(make):
    assert make(5).SerializeToString() == make(5).SerializeToString()
    assert make(5).SerializeToString() != make(6).SerializeToString()


@pytest.mark.parametrize("make", [float_network, quantised_network])
def test_generated_models_mean_something(make):
    for seed in range(40):
        model = make(seed)
        for array in expected(model, feeds_of(model, seed)).values():
            assert np.isfinite(array).all(), seed


class Net:
    """What the judge reads of a run whose outputs are `outputs`."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.mismatches = self.deviations = ()


def plain(nodes, shape=(2, 5), output=(2, 5), constants=(), dtype=TensorProto.FLOAT):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", dtype, output)],
        list(constants),
    )
    opsets = [helper.make_opsetid("", 19)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def test_the_judge_sees_a_small_difference():
    model = plain([helper.make_node("Tanh", ["x"], ["y"])])
    feeds = feeds_of(model, 0)
    right = expected(model, feeds)["y"]
    assert compared(model, None, feeds, Net({"y": right})).status == "passed"
    wrong = right.copy()
    wrong[1, 2] += 1e-3
    verdict = compared(model, None, feeds, Net({"y": wrong}))
    assert verdict.status == "wrong"
    assert "1 of 10 elements, first [1, 2]" in verdict.detail


def test_the_judge_bears_what_cancels():
    # (x + 3000) - 3000 loses three digits in float32, whoever computes it.
    big = numpy_helper.from_array(np.float32(3000), "big")
    nodes = [
        helper.make_node("Add", ["x", "big"], ["a"]),
        helper.make_node("Sub", ["a", "big"], ["y"]),
    ]
    model = plain(nodes, constants=[big])
    feeds = feeds_of(model, 0)
    verdict = compared(model, None, feeds, Net({"y": feeds["x"] + np.float32(2e-4)}))
    assert verdict.status == "passed"
    assert verdict.widened
    verdict = compared(model, None, feeds, Net({"y": feeds["x"] + np.float32(0.1)}))
    assert verdict.status == "wrong"


def test_the_judge_bears_a_comparison_at_its_edge():
    nodes = [
        helper.make_node("Sub", ["x", "x"], ["zero"]),
        helper.make_node("Exp", ["zero"], ["one"]),
        helper.make_node("Greater", ["one", "edge"], ["y"]),
    ]
    edge = numpy_helper.from_array(np.float32(1), "edge")
    model = plain(nodes, constants=[edge], dtype=TensorProto.BOOL)
    feeds = feeds_of(model, 0)
    other = ~expected(model, feeds)["y"]
    assert compared(model, None, feeds, Net({"y": other})).status == "passed"


def misbehave(item):
    if item == "hangs":
        time.sleep(60)
    if item == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "grows":
        try:
            return len(bytearray(8 << 30))
        except MemoryError:
            return "refused"
    return item


def test_workers_survive_what_they_do():
    limits = Limits(seconds=3.0, memory=3 << 30)
    found = dict(each(misbehave, ["a", "hangs", "b", "dies", "grows", "c"], 2, limits))
    assert (found["a"], found["b"], found["c"]) == ("a", "b", "c")
    assert found["hangs"] == Lost(True, "no answer after 3 s")
    assert found["dies"] == Lost(False, "the process ended with signal 11")
    assert found["grows"] == "refused"


def faulty(model, feeds):
    """A compiler's outputs with a fault: it takes every softmax for its logarithm."""
    there = onnx.ModelProto()
    there.CopyFrom(model)
    for node in there.graph.node:
        if node.op_type == "Softmax":
            node.op_type = "LogSoftmax"
    return expected(there, feeds)


def test_an_injected_fault_is_cut_down_to_its_node():
    def fails(model):
        feeds = feeds_of(model, 0)
        try:
            return compared(model, None, feeds, Net(faulty(model, feeds))).status == "wrong"
        except Exception:  # noqa: BLE001  onnxruntime refuses some candidates
            return False

    sizes = []
    for seed in range(400):
        model = float_network(seed, 9)
        if len(model.graph.node) > 6 and fails(model):
            smallest = reduced(model, fails, Budget(tries=300, seconds=60))
            assert fails(smallest)
            sizes.append((len(model.graph.node), len(smallest.graph.node)))
            if len(sizes) == 2:
                break
    assert len(sizes) == 2
    assert all(small <= 2 for _, small in sizes), sizes


def test_a_failure_is_saved_with_its_command(tmp_path):
    item = cases.Item("cpu_float", "CPU", 4, ("cc",))
    place = cases.save(tmp_path, item, Verdict("wrong", "why"), None)
    assert {p.name for p in place.iterdir()} == {"model.onnx", "original.onnx", "command.txt"}
    text = (place / "command.txt").read_text()
    assert "wrong: why" in text
    assert "--target CPU --seed 4 --quick" in text
