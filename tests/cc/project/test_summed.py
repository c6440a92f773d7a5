"""Quantised sums behind products, as onnxruntime writes them: one layer, the same bits."""

import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.machine import executes, machine
from tests.qdq import Nodes

pytestmark = [
    pytest.mark.skipif(not any(map(shutil.which, ("gcc", "clang"))), reason="no C compiler"),
    pytest.mark.skipif(not executes(machine("x86-64-v3")), reason="this machine has no AVX2"),
]
X, Y = 0.03125, 0.5
SHAPES = {"dense": (5, 24), "conv": (1, 8, 9, 7)}


class Network(Nodes):
    """Quantised tensors of one scale for x, one for everything behind it."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(4)

    def stored(self, value, scale=Y, zero=120):
        parameters = [self.const(np.float32(scale)), self.const(np.uint8(zero))]
        return self.read(self.node("QuantizeLinear", [value, *parameters]), parameters)

    def read(self, value, parameters):
        return self.node("DequantizeLinear", [value, *parameters])

    def known(self, shape, dtype, scale):
        info = np.iinfo(dtype)
        steps = self.rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
        parameters = [self.const(np.float32(scale)), self.const(np.zeros((), dtype))]
        return self.read(self.const(steps), parameters)

    def model(self, kind):
        """A product, (of the dense layer a bias that is a tensor of its own,) and x's residual."""
        x = self.stored("x", X)
        if kind == "dense":
            total = self.stored(self.node("MatMul", [x, self.known((24, 24), np.int8, 0.0625)]))
            total = self.stored(self.node("Add", [total, self.known((24,), np.uint8, 0.25)]))
        else:
            total = self.stored(
                self.node("Conv", [x, self.known((8, 8, 3, 3), np.int8, 0.03)], pads=[1] * 4)
            )
        y = self.stored(self.node("Add", [total, x]), 0.61, 90)
        ports = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPES[kind])]
            for name in ("x", y)
        ]
        graph = helper.make_graph(self.nodes, "net", *ports, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("kind", "pattern"), [("dense", "dense_added_twice"), ("conv", "conv2d_added")]
)
def test_a_residual_is_part_of_its_product(kind, pattern, tmp_path):
    model = Network().model(kind)
    onnx.checker.check_model(model)
    net = match.compile(model, CPU("x86-64-v3"))
    chosen = [option.candidate.pattern.name for option in net.assignment.chosen]
    assert pattern in chosen
    assert not any(name.startswith("add") for name in chosen)
    x = np.random.default_rng(1).uniform(-4, 4, SHAPES[kind]).astype(np.float32)
    result = net.write(tmp_path / "net").run(x, quick=True)
    assert result.mismatches == ()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (expected,) = session.run(None, {"x": x})
    (got,) = result.outputs.values()
    # An unoptimised run sums in float32, whose halves may round to the other side.
    assert np.abs(got - expected).max() <= np.float32(0.61) * 1.001
