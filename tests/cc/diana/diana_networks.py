"""Small int8 ONNX networks whose scales are powers of two; all constants from a seed."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Net:
    """QDQ layers from an int8 input to an int8 output."""

    def __init__(self, shape, seed=0, zero=0):
        self.rng = np.random.default_rng(seed)
        self.first, self.shape = shape, shape
        self.nodes, self.constants, self.count = [], [], 0
        self.step, self.zero = 2.0**-4, zero
        self.stored = "x"
        self.last = self.real("x")

    def const(self, array):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, operator, inputs, **attributes):
        self.count += 1
        name = f"{operator.lower()}{self.count}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def pair(self):
        return self.const(np.float32(self.step)), self.const(np.int8(self.zero))

    def real(self, stored):
        return self.node("DequantizeLinear", [stored, *self.pair()])

    def quantized(self, real, step, zero=0, relu=False, seven=False):
        """Stored in steps of `step`; `seven` clips to 7 bits of sign and magnitude."""
        self.step, self.zero = step, zero
        real = self.node("Relu", [real]) if relu and not seven else real
        if seven:
            ends = [self.const(np.float32(end * step)) for end in (0 if relu else -63, 63)]
            real = self.node("Clip", [real, *ends])
        self.stored = self.node("QuantizeLinear", [real, *self.pair()])
        self.last = self.real(self.stored)
        return self

    def ternary(self, outputs, size=3, stride=1, relu=False, scale=0.011, pads=None):
        """As `conv`, with weights of -1, 0 and 1 and results of 7 bits, in any steps."""
        batch, channels, rows, columns = self.shape
        taps = channels * size * size
        values = self.const(
            self.rng.integers(-1, 2, (outputs, channels, size, size)).astype(np.int8)
        )
        real = self.node(
            "DequantizeLinear", [values, self.const(np.float32(scale)), self.const(np.int8(0))]
        )
        bias = self.rng.integers(-40, 41, outputs) * int(np.sqrt(taps))
        step = np.float32(np.float32(self.step) * np.float32(scale))
        zero = self.const(np.int32(0))
        added = self.node(
            "DequantizeLinear", [self.const(bias.astype(np.int32)), self.const(step), zero]
        )
        top, left, bottom, right = pads or [size // 2] * 4
        attributes = {"strides": [stride] * 2, "pads": [top, left, bottom, right]}
        y = self.node("Conv", [self.last, real, added], **attributes)
        rows, columns = rows + top + bottom - size, columns + left + right - size
        self.shape = (batch, outputs, rows // stride + 1, columns // stride + 1)
        # About two deviations of the sums, whose inputs are about 20.
        return self.quantized(y, float(step * 20 * np.sqrt(taps) / 32), relu=relu, seven=True)

    def weight(self, shape, scale):
        values = self.const(self.rng.integers(-128, 128, shape).astype(np.int8))
        zero = self.const(np.int8(0))
        real = self.node("DequantizeLinear", [values, self.const(np.float32(scale)), zero])
        bias = self.const(self.rng.integers(-(2**15), 2**15, shape[0]).astype(np.int32))
        step = self.const(np.float32(self.step * scale))
        return real, self.node("DequantizeLinear", [bias, step, self.const(np.int32(0))])

    def conv(
        self,
        outputs,
        size=3,
        stride=1,
        depthwise=False,
        relu=False,
        scale=2.0**-7,
        zero=0,
        pads=None,
        seven=False,
    ):
        """A convolution with symmetric SAME padding, or `pads`; depthwise keeps the channels."""
        batch, channels, rows, columns = self.shape
        outputs, groups = (channels, channels) if depthwise else (outputs, 1)
        weight, bias = self.weight((outputs, channels // groups, size, size), scale)
        attributes = {"strides": [stride] * 2, "pads": pads or [size // 2] * 4, "group": groups}
        y = self.node("Conv", [self.last, weight, bias], **attributes)
        top, left, bottom, right = attributes["pads"]
        rows, columns = rows + top + bottom - size, columns + left + right - size
        self.shape = (batch, outputs, rows // stride + 1, columns // stride + 1)
        return self.quantized(y, self.step * 4, zero, relu, seven)

    def dense(self, outputs, scale=2.0**-7):
        """A matrix product of rows."""
        weight, bias = self.weight((outputs, self.shape[1]), scale)
        y = self.node("Gemm", [self.last, weight, bias], transB=1)
        self.shape = (self.shape[0], outputs)
        return self.quantized(y, self.step * 4)

    def residual(self):
        """A 1x1 convolution and its input, added."""
        step, before = self.step, self.last
        self.conv(self.shape[1], size=1)
        # Both inputs of the sum have one scale, its output four times that.
        self.nodes[-2:] = []
        self.quantized(self.nodes[-1].output[0], step)
        return self.quantized(self.node("Add", [self.last, before]), step * 4)

    def model(self):
        graph = helper.make_graph(
            self.nodes[:-1],
            "net",
            [helper.make_tensor_value_info("x", TensorProto.INT8, self.first)],
            [helper.make_tensor_value_info(self.stored, TensorProto.INT8, self.shape)],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def images(seed=0):
    """All filters, both strides, few and odd channels, depthwise, a residual."""
    net = Net((1, 1, 26, 21), seed).conv(24, size=7, stride=2, relu=True).residual()
    net.conv(0, depthwise=True, relu=True).conv(33, size=5, stride=2).conv(16, stride=2)
    return net.conv(0, depthwise=True, size=5, stride=2).conv(40, size=1, stride=2)


def sides(seed=0):
    """Padding that differs by side, as SAME has it with stride 2, and none."""
    net = Net((1, 1, 18, 18), seed).conv(16, stride=2, pads=[0, 0, 1, 1], relu=True)
    net.conv(20, size=5, pads=[2, 0, 0, 1]).conv(0, depthwise=True, stride=2, pads=[0, 1, 1, 0])
    return net.conv(40, pads=[0, 0, 0, 0])


def ternary(seed=0):
    """A digital layer that stores 7 bits, then ternary ones: filters, strides, odd sides."""
    net = Net((1, 3, 14, 14), seed).conv(16, seven=True)
    net.ternary(40, relu=True).ternary(24, stride=2, pads=[0, 1, 1, 0])
    return net.ternary(130, size=5).ternary(10, size=1, relu=True)


def rows(seed=0):
    """Dense layers, with channels that fill no block of 16."""
    return Net((9, 70), seed).dense(96).dense(37)
