"""Networks with `Quant` nodes of QONNX, as Brevitas and hls4ml's front ends write them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "qonnx.custom_op.general"


class Nodes:
    """Nodes and constants of such a model."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: object) -> str:
        """In float32."""
        name = f"constant_{len(self.constants)}"
        array = np.asarray(value, np.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        """A node with one output."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [name], name, domain=domain, **attributes)
        )
        return name

    def quant(self, x: str, scale: object, bits: float, zero: object = 0, **how: object) -> str:
        """A `Quant`; `how` are its attributes."""
        how = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **how}
        numbers = (self.constant(scale), self.constant(zero), self.constant(bits))
        return self.add("Quant", x, *numbers, domain=DOMAIN, **how)

    def model(self, name: str, shape: tuple[int, ...], y: str, out: tuple[int, ...]):
        """From x to y."""
        ports = [
            [helper.make_tensor_value_info(port, TensorProto.FLOAT, sizes)]
            for port, sizes in (("x", shape), (y, out))
        ]
        graph = helper.make_graph(self.nodes, name, *ports, self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def perceptron(bits: int) -> onnx.ModelProto:
    """Two dense layers of so many bits, scales that are powers of two, biases of 32 bits."""
    rng, n = np.random.default_rng(81), Nodes()
    a = n.quant("x", 2.0**-4, 8)
    weights = n.quant(n.constant(rng.standard_normal((16, 32)) * 0.3), 2.0**-5, bits, narrow=1)
    bias = n.quant(n.constant(rng.standard_normal(32) * 0.1), 2.0**-9, 32)
    a = n.add("Relu", n.add("Add", n.add("MatMul", a, weights), bias))
    a = n.quant(a, 2.0**-3, bits, signed=0)
    weights = n.quant(n.constant(rng.standard_normal((32, 10)) * 0.3), 2.0**-5, bits, narrow=1)
    bias = n.quant(n.constant(rng.standard_normal(10) * 0.1), 2.0**-8, 16)
    y = n.quant(n.add("Add", n.add("MatMul", a, weights), bias), 2.0**-3, 8)
    return n.model("perceptron", (4, 16), y, (4, 10))


def perceptron_by_hand(bits: int, x: np.ndarray) -> np.ndarray:
    """The same in float64, where every sum of it is exact."""
    rng = np.random.default_rng(81)
    draw = [rng.standard_normal(shape) for shape in ((16, 32), (32,), (32, 10), (10,))]
    scaled = [(draw[0] * 0.3), (draw[1] * 0.1), (draw[2] * 0.3), (draw[3] * 0.1)]
    w1, b1, w2, b2 = (value.astype(np.float32) for value in scaled)
    most = (1 << bits - 1) - 1

    def grid(value: np.ndarray, scale: float, low: int, high: int) -> np.ndarray:
        return np.clip(np.rint(value / scale), low, high).astype(np.float64) * scale

    a = grid(x, 2.0**-4, -128, 127) @ grid(w1, 2.0**-5, -most, most)
    a = np.maximum(a + grid(b1, 2.0**-9, -(2**31), 2**31 - 1), 0)
    a = grid(a, 2.0**-3, 0, (1 << bits) - 1) @ grid(w2, 2.0**-5, -most, most)
    return grid(a + grid(b2, 2.0**-8, -(2**15), 2**15 - 1), 2.0**-3, -128, 127)
