"""Transposed convolutions: random workloads, and a quantised network around one."""

import numpy as np
from onnx import TensorProto, helper

from match_aie.workload import Quantized, Window, conv2d_transpose, full_range
from tests.qdq import Nodes

#: Filter, stride, what is cut off in front and behind, and what is added behind.
SHAPES = (
    ((2, 2), (2, 2), (0, 0, 0, 0), (0, 0)),
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    ((4, 4), (2, 2), (1, 1, 1, 1), (0, 0)),
    ((3, 3), (1, 1), (1, 1, 1, 1), (0, 0)),
    ((5, 3), (3, 1), (1, 0, 1, 0), (0, 0)),
    ((1, 2), (2, 4), (0, 0, 0, 0), (1, 2)),
)


def transposed(rng, shape, size, *, dtype="int8", point=0):
    """A workload with one of `SHAPES`; `size` is rows, columns, channels and outputs."""
    filter_, stride, padding, extra = shape
    rows, columns, channels, outputs = size
    out = [
        (n - 1) * stride[i] + filter_[i] - padding[i] - padding[2 + i] + extra[i]
        for i, n in enumerate((rows, columns))
    ]
    return conv2d_transpose(
        Quantized(dtype, 0.05, point),
        Quantized(dtype, 0.05, point),
        shape=(1, rows, columns, channels),
        weight_shape=(outputs, *filter_, channels),
        out=(out[0], out[1]),
        window=Window(stride, (1, 1), padding),
        tail=full_range(dtype, point),
        scales=int(rng.choice([1, outputs])),
    )


class _Net(Nodes):
    """QDQ nodes with constants of a seed."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def real(self, x, point):
        pair = self.const(np.float32(0.05)), self.const(np.int8(point))
        return self.node("DequantizeLinear", [x, *pair])

    def stored(self, x, point):
        pair = self.const(np.float32(0.05)), self.const(np.int8(point))
        return self.node("QuantizeLinear", [x, *pair])

    def filtered(self, operator, x, shape, axis, **attributes):
        """A convolution with a bias and a scale per channel."""
        outputs = shape[axis]
        scale = (self.rng.uniform(0.5, 1.0, outputs) / 300).astype(np.float32)
        zeros = self.const(np.zeros(outputs, np.int8))
        values = self.const(self.rng.integers(-127, 128, shape).astype(np.int8))
        pair = [self.const(scale), zeros]
        weight = self.node("DequantizeLinear", [values, *pair], axis=axis)
        bias = self.const(self.rng.integers(-900, 900, outputs).astype(np.int32))
        step = self.const(np.float32(0.05) * scale)
        pair = [step, self.const(np.zeros(outputs, np.int32))]
        bias = self.node("DequantizeLinear", [bias, *pair], axis=0)
        return self.node(operator, [x, weight, bias], **attributes)


def upsampling(between=12):
    """int8[1,5,9,9]: a strided convolution, a transposed one with ReLU, and a 1x1 convolution.

    `between`: channels that the transposed one gives.
    """
    net = _Net(7)
    x = net.real("x", 3)
    x = net.filtered("Conv", x, (16, 5, 3, 3), 0, strides=[2, 2], pads=[1, 1, 1, 1])
    x = net.real(net.stored(x, -5), -5)
    x = net.filtered("ConvTranspose", x, (16, between, 4, 4), 1, strides=[2, 2], pads=[1, 1, 1, 1])
    x = net.real(net.stored(net.node("Relu", [x]), -128), -128)
    x = net.filtered("Conv", x, (6, between, 1, 1), 0)
    y = net.stored(x, 0)
    ports = [
        helper.make_tensor_value_info(name, TensorProto.INT8, shape)
        for name, shape in (("x", (1, 5, 9, 9)), (y, (1, 6, 10, 10)))
    ]
    graph = helper.make_graph(net.nodes, "up", ports[:1], ports[1:], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
