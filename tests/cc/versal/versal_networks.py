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
