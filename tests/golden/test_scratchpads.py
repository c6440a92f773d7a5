"""The exact text of networks on chips with scratchpads; the same projects are compiled and run."""

import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.targets.diana import Diana
from match_aie.targets.gap9 import GAP9
from tests.networks.graph import Graph
from tests.qdq import Nodes
from tests.shared import random_inputs

sys.path.insert(0, str(Path(__file__).parents[1] / "cc" / "diana"))
from diana_networks import Net


def softmax() -> onnx.ModelProto:
    """Rows of 20 in uint8, weights of 1/256."""
    graph = Nodes()
    x_pair = [graph.const(np.float32(0.05)), graph.const(np.uint8(100))]
    y_pair = [graph.const(np.float32(1 / 256)), graph.const(np.uint8(0))]
    real = graph.node("Softmax", [graph.node("DequantizeLinear", ["x", *x_pair])], axis=-1)
    stored = graph.node("QuantizeLinear", [real, *y_pair])
    ports = [helper.make_tensor_value_info(n, TensorProto.UINT8, (24, 20)) for n in ("x", stored)]
    made = helper.make_graph(graph.nodes, "net", ports[:1], ports[1:], graph.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def analog() -> onnx.ModelProto:
    """A digital layer that stores 7 bits, and a ternary one."""
    return Net((1, 16, 6, 6)).conv(16, size=1, seven=True).ternary(16, relu=True).model()


def floats() -> onnx.ModelProto:
    """Two convolutions of float32 with a ReLU between them."""
    graph, rng = Graph(1), np.random.default_rng(1)
    weight = graph.constant(rng.standard_normal((6, 3, 3, 3)).astype(np.float32))
    x = graph.add("Relu", graph.add("Conv", "x", weight, pads=[1, 1, 1, 1]))
    weight = graph.constant(rng.standard_normal((6, 6, 1, 1)).astype(np.float32))
    y = graph.add("Conv", x, weight)
    return graph.model("net", {"x": (1, 3, 5, 5)}, {y: (1, 6, 5, 5)})


CASES = {
    "gap9_bfloat16.c": (floats, lambda: GAP9(modules=("cluster",), floats="bf16")),
    "gap9_softmax.c": (softmax, lambda: GAP9(modules=("cluster",))),
    "diana_analog.c": (analog, lambda: Diana(analog=True, conversion_cycles=8.0)),
}


def compiled(name):
    model, target = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model(), target())


@pytest.mark.parametrize("name", CASES)
def test_text(name, golden):
    golden(name, compiled(name).sources()["src/net.c"].decode())


@pytest.mark.parametrize("name", CASES)
def test_the_same_text_runs(name, tmp_path):
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    net = compiled(name)
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    result = net.write(tmp_path / "net").run(inputs)
    assert result.matches_reference
    assert result.layers_checked > 0
