"""Small quantised ONNX networks of dense layers; all constants from a seed."""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper

from tests.qdq import Nodes

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16}


@dataclass(frozen=True)
class Layer:
    """A dense layer: outputs, stored type and its zero point, scale of the weights."""

    outputs: int
    dtype: str = "int8"
    zero: int = 0
    step: float = 2.0**-4
    weight_scale: float = 2.0**-7
    weights: str = "int8"
    per_channel: bool = False
    relu: bool = False


class DenseNet(Nodes):
    """QDQ dense layers from an integer input to an integer output."""

    def __init__(self, rows, inputs, dtype="int8", zero=0, step=2.0**-4, seed=0):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.rows, self.width = rows, inputs
        self.dtype, self.zero, self.step = dtype, zero, step
        self.first = (inputs, dtype)
        self.last = self.node("DequantizeLinear", ["x", *self.pair()])

    def pair(self):
        return self.const(np.float32(self.step)), self.const(np.dtype(self.dtype).type(self.zero))

    def dense(self, layer):
        shape = (self.width, layer.outputs)
        info = np.iinfo(layer.weights)
        values = self.rng.integers(info.min, info.max + 1, shape).astype(layer.weights)
        scale = np.float32(layer.weight_scale)
        if layer.per_channel:
            scale = (scale * self.rng.uniform(0.5, 1.5, layer.outputs)).astype(np.float32)
        zeros = np.zeros(scale.shape, values.dtype)
        weight = self.node(
            "DequantizeLinear", [self.const(values), self.const(scale), self.const(zeros)], axis=1
        )
        bias = self.rng.integers(-(2**12), 2**12, layer.outputs).astype(np.int32)
        step = np.asarray(np.float32(self.step) * scale, np.float32)
        bias = self.node(
            "DequantizeLinear",
            [self.const(bias), self.const(step), self.const(np.zeros(scale.shape, np.int32))],
            axis=0,
        )
        real = self.node("Add", [self.node("MatMul", [self.last, weight]), bias])
        real = self.node("Relu", [real]) if layer.relu else real
        self.width, self.dtype, self.zero = layer.outputs, layer.dtype, layer.zero
        self.step = layer.step
        self.stored = self.node("QuantizeLinear", [real, *self.pair()])
        self.last = self.node("DequantizeLinear", [self.stored, *self.pair()])
        return self

    def model(self):
        inputs, dtype = self.first
        x = helper.make_tensor_value_info("x", TYPES[dtype], (self.rows, inputs))
        y = helper.make_tensor_value_info(self.stored, TYPES[self.dtype], (self.rows, self.width))
        graph = helper.make_graph(self.nodes[:-1], "net", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Attending(DenseNet):
    """Dense layers with what transformers put between them."""

    def stored_as(self, real, step, zero):
        self.step, self.zero = step, zero
        self.stored = self.node("QuantizeLinear", [real, *self.pair()])
        self.last = self.node("DequantizeLinear", [self.stored, *self.pair()])
        return self

    def gelu(self):
        root, one, half = (self.const(np.float32(v)) for v in (2**0.5, 1.0, 0.5))
        inner = self.node("Erf", [self.node("Div", [self.last, root])])
        both = self.node("Mul", [self.last, self.node("Add", [inner, one])])
        return self.stored_as(self.node("Mul", [both, half]), 0.031, -100)

    def gated(self):
        """x * sigmoid(x), quantised between the two."""
        x = self.last
        self.stored_as(self.node("Sigmoid", [x]), 1 / 256, -128)
        return self.stored_as(self.node("Mul", [x, self.last]), 0.03, -60)

    def norm(self, quantised):
        """With its numbers in float32, or quantised."""
        weight, bias = (self.rng.normal(at, 0.2, self.width).astype(np.float32) for at in (1, 0))
        if not quantised:
            names = [self.const(weight), self.const(bias)]
        else:
            step, zero = self.const(np.float32(0.01)), self.const(np.int8(0))
            stored = (self.const(np.rint(v / 0.02).astype(np.int8)) for v in (weight, bias))
            names = [self.node("DequantizeLinear", [name, step, zero]) for name in stored]
        real = self.node("LayerNormalization", [self.last, *names], axis=-1, epsilon=1e-5)
        return self.stored_as(real, 0.03, 5)

    def rms_norm(self):
        """Spelled out, as exporters do before opset 23."""
        two, epsilon = self.const(np.float32(2)), self.const(np.float32(1e-5))
        mean = self.node(
            "ReduceMean",
            [self.node("Pow", [self.last, two]), self.const(np.array([-1]))],
            keepdims=1,
        )
        root = self.node("Sqrt", [self.node("Add", [mean, epsilon])])
        weight = self.const(self.rng.normal(1, 0.2, self.width).astype(np.float32))
        real = self.node("Mul", [self.node("Div", [self.last, root]), weight])
        return self.stored_as(real, 0.03, -7)

    def softmax(self):
        return self.stored_as(self.node("Softmax", [self.last], axis=-1), 1 / 256, -128)
