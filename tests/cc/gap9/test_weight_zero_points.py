"""Networks whose 8-bit weights have a zero point: NE16 takes it from register 21."""

import numpy as np
from onnx import TensorProto, helper

import match_aie as match
from match_aie.targets.gap9 import GAP9
from tests.qdq import Nodes

RNG = np.random.default_rng(0)


class Network(Nodes):
    """A network of the operators that onnxruntime quantises to, of uint8 with zero points."""

    def quantisation(self, scale, zero):
        return [self.const(np.float32(scale)), self.const(np.uint8(zero))]

    def convolution(self, x, x_zero, shape, weight_zero, y_zero, **attributes):
        """QLinearConv of weights [K, C, FY, FX]."""
        weight = self.const(RNG.integers(0, 256, shape).astype(np.uint8))
        bias = self.const(RNG.integers(-2000, 2000, shape[0]).astype(np.int32))
        scale = 0.02 * 0.01 * 40 * np.sqrt(np.prod(shape[1:])) / 0.02
        inputs = [x, *self.quantisation(0.02, x_zero), weight]
        inputs += [*self.quantisation(0.01, weight_zero), *self.quantisation(scale, y_zero), bias]
        return self.node("QLinearConv", inputs, **attributes)

    def product(self, x, shape):
        weight = self.const(RNG.integers(0, 256, shape).astype(np.uint8))
        inputs = [x, *self.quantisation(0.02, 117), weight, *self.quantisation(0.01, 90)]
        return self.node("QLinearMatMul", [*inputs, *self.quantisation(0.3, 110)])


def network():
    net = Network()
    x = net.convolution("x", 120, (32, 16, 3, 3), 137, 3, pads=[1, 1, 1, 1])
    x = net.convolution(x, 3, (32, 1, 3, 3), 255, 0, group=32, strides=[2, 2], pads=[0, 0, 1, 1])
    x = net.convolution(x, 0, (24, 32, 1, 1), 0, 117)
    flat = net.node("Reshape", [x, net.const(np.array([1, 24 * 25], np.int64))])
    y = net.product(flat, (24 * 25, 10))
    graph = helper.make_graph(
        net.nodes,
        "weight_zero_points",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 16, 10, 10])],
        [helper.make_tensor_value_info(y, TensorProto.UINT8, [1, 10])],
        net.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_every_layer_runs_on_ne16_as_its_reference(tmp_path):
    net = match.compile(network(), GAP9(modules=("ne16",)))
    assert [layer.module for layer in net.program.schedule.layers] == ["ne16"] * 4
    result = net.write(tmp_path / "net").run(
        RNG.integers(0, 256, (1, 16, 10, 10)).astype(np.uint8), quick=True
    )
    assert result.matches_reference
    assert max(result.max_lsb_vs_model.values()) <= 1
