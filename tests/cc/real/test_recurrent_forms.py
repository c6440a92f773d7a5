"""Every form of GRU and LSTM is layers of a module, and what onnxruntime computes."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from real_harness import COMPILERS

import match_aie as match
from match_aie.targets.cpu.machine import PORTABLE, machine
from tests.networks import recurrent
from tests.networks.graph import Graph

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")


def one_state_twice():
    """An LSTM whose first state is its first cell, too; only the states are asked for."""
    graph = Graph(76)
    weights = [graph.normal(1, 28, n, deviation=0.3) for n in (5, 7)]
    y = graph.add("LSTM", "x", *weights, "", "", "s", "s", hidden_size=7)
    return graph.model("twice", {"x": (3, 1, 5), "s": (1, 1, 7)}, {y: (3, 1, 1, 7)})


MODELS = {
    "one state twice": (one_state_twice, 1),
    "states both ways": (recurrent.lstm_states, 2),
    "reset first": (lambda: recurrent.gru_states(before=True), 1),
    "known states": (recurrent.gru_both_ways, 2),
    "lengths and cells": (recurrent.lstm_lengths, 2),
    "integer weights": (recurrent.quantised_lstm, 1),
}
#: Largest difference: a state that is stored in 8 bits may be a step off.
NEAR = {"integer weights": 2e-3}
QUICK = ("one state twice", "states both ways", "reset first")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS],
)
def test_all_of_it_is_in_modules(name, tmp_path):
    make, count = MODELS[name]
    model = make()
    net = match.compile(model, "CPU")
    layers = [layer.workload for layer in net.program.schedule.layers]
    modules = machine().name != PORTABLE  # which has none for floats
    found = [layer for layer in layers if layer.kind in ("gru", "lstm")]
    assert len(found) == (count if modules else 0)
    assert all(layer.integer_rows == (name == "integer weights") for layer in found)
    rng = np.random.default_rng(4)
    feeds = {p.name: rng.standard_normal(p.shape).astype(np.float32) for p in net.inputs}
    result = net.write(tmp_path / "net").run(feeds)
    assert result.matches_reference is (True if modules else None), result.mismatches
    session = ort.InferenceSession(model.SerializeToString())
    for port, expected in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        np.testing.assert_allclose(
            result.outputs[port.name], expected, rtol=0, atol=NEAR.get(name, 3e-6)
        )


@pytest.mark.parametrize("op", ["GRU", "LSTM"])
def test_64_bit_floats_are_the_cores(op, tmp_path):
    """Modules have layers of float32: these stay with the core, in float64."""
    rng, gates = np.random.default_rng(7), {"GRU": 9, "LSTM": 12}[op]
    arrays = {"w": (1, gates, 5), "r": (1, gates, 3)}
    constants = [numpy_helper.from_array(rng.normal(size=s) / 2, n) for n, s in arrays.items()]
    node = helper.make_node(op, ["x", "w", "r"], ["y"], hidden_size=3)
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)
        for name, shape in (("x", [4, 1, 5]), ("y", [4, 1, 1, 3]))
    )
    graph = helper.make_graph([node], "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": rng.normal(size=(4, 1, 5))}
    net = match.compile(model, "CPU", cache=False)
    (got,) = net.write(tmp_path / "net").run(feeds, check=False).outputs.values()
    (want,) = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
