"""Small quantised ONNX networks of layers that NE16 runs."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Chain:
    """Layer after layer on uint8 activations with zero point 0; all constants from a seed."""

    def __init__(self, shape, seed=0, zero=0):
        self.rng = np.random.default_rng(seed)
        self.shape, self.nodes, self.constants, self.first = shape, [], [], shape
        self.count, self.step = 0, 0.05
        self.last = self.quantized("x", "uint8", zero)

    def const(self, array):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, operator, inputs, **attributes):
        self.count += 1
        name = f"{operator.lower()}{self.count}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def quantized(self, real, dtype, zero, scale=0.05):
        self.step = scale
        pair = [self.const(np.float32(scale)), self.const(np.array(zero, dtype))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [real, *pair]), *pair])

    def weight(self, shape):
        scale = self.rng.uniform(0.002, 0.02, shape[0]).astype(np.float32)
        values = self.const(self.rng.integers(-128, 128, shape).astype(np.int8))
        zeros = self.const(np.zeros(shape[0], np.int8))
        real = self.node("DequantizeLinear", [values, self.const(scale), zeros], axis=0)
        bias = self.const(self.rng.integers(-3000, 3000, shape[0]).astype(np.int32))
        step = self.const((np.float32(self.step) * scale).astype(np.float32))
        zeros = self.const(np.zeros(shape[0], np.int32))
        return real, self.node("DequantizeLinear", [bias, step, zeros], axis=0)

    def conv(self, outputs, size=3, stride=1, pads=(1, 1, 1, 1), depthwise=False, out="uint8"):
        """A convolution and its requantisation; depthwise takes as many outputs as inputs."""
        _, channels, rows, columns = self.shape
        groups = channels if depthwise else 1
        outputs = channels if depthwise else outputs
        weight, bias = self.weight((outputs, channels // groups, size, size))
        attributes = {"strides": [stride] * 2, "pads": list(pads), "group": groups}
        y = self.node("Conv", [self.last, weight, bias], **attributes)
        spans = (rows + pads[0] + pads[2] - size, columns + pads[1] + pads[3] - size)
        self.shape = (1, outputs, *(span // stride + 1 for span in spans))
        self.last = self.quantized(y, out, 0 if out == "uint8" else -3, 0.4)
        return self

    def dense(self, outputs, out="uint8"):
        """A matrix product of rows, and its requantisation."""
        rows, inputs = self.shape
        weight, bias = self.weight((outputs, inputs))
        y = self.node("Gemm", [self.last, weight, bias], transB=1)
        self.shape = (rows, outputs)
        self.last = self.quantized(y, out, 0 if out == "uint8" else 5, 0.7)
        return self

    def model(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "chain",
            [value("x", TensorProto.FLOAT, self.first)],
            [value(self.last, TensorProto.FLOAT, self.shape)],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def every_kind(seed=0):
    """All filters, both strides, odd sizes, few channels, padding with 124, an int8 output."""
    chain = Chain((1, 3, 27, 21), seed, zero=124)
    chain.conv(24, stride=2, pads=(0, 0, 1, 1))
    chain.conv(0, depthwise=True).conv(40, size=1, pads=(0, 0, 0, 0))
    chain.conv(0, depthwise=True, stride=2).conv(34).conv(16, size=1, stride=2, pads=(0, 0, 0, 0))
    return chain.conv(8, out="int8")


def padded_with(zero, pads, stride):
    """One layer whose padding means `zero`."""
    chain = Chain((1, 3, 14, 11), zero=zero)
    return chain.conv(16, stride=stride, pads=pads)
