"""A convolutional network in the form in which PyTorch's exporter writes one."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def exported_cnn(size: int = 32, width: int = 16) -> onnx.ModelProto:
    """NCHW convolutions with folded normalisation, residual block, pools, Flatten, Gemm.

    Names, attributes and the order of nodes are those of `torch.onnx.export` of a small residual
    network in evaluation mode: weights as initialisers under their parameters' names, values named
    by their module's path, all attributes written out, `Gemm` with transposed weights.

    Args:
        size: rows and columns of the image.
        width: channels of the first stage.
    """
    made = _Exporter()
    x = made.conv("input", "stem.0", 3, width, 3, stride=2)
    x = made.relu(x, "/stem/stem.2")
    x = made.node("MaxPool", [x], "/pool/MaxPool", kernel_shape=[3, 3], strides=[2, 2],
                  pads=[1, 1, 1, 1], dilations=[1, 1], ceil_mode=0)  # fmt: skip
    y = made.relu(made.conv(x, "block1.conv1", width, width, 3), "/block1/relu")
    y = made.conv(y, "block1.conv2", width, width, 3)
    x = made.relu(made.node("Add", [y, x], "/block1/Add"), "/block1/relu_1")
    y = made.relu(made.conv(x, "block2.conv1", width, 2 * width, 3, stride=2), "/block2/relu")
    y = made.conv(y, "block2.conv2", 2 * width, 2 * width, 3)
    short = made.conv(x, "block2.downsample.0", width, 2 * width, 1, stride=2)
    x = made.relu(made.node("Add", [y, short], "/block2/Add"), "/block2/relu_1")
    x = made.node("GlobalAveragePool", [x], "/avgpool/GlobalAveragePool")
    x = made.node("Flatten", [x], "/Flatten", axis=1)
    made.weight("fc.weight", (10, 2 * width))
    made.weight("fc.bias", (10,))
    made.node("Gemm", [x, "fc.weight", "fc.bias"], "/fc/Gemm", "output",
              alpha=1.0, beta=1.0, transB=1)  # fmt: skip
    image = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])
    result = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(made.nodes, "main_graph", [image], [result], made.weights)
    model = helper.make_model(
        graph, producer_name="pytorch", opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    return model


class _Exporter:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(17)

    def node(self, kind, inputs, path, output=None, **attributes) -> str:
        result = output or f"{path}_output_0"
        self.nodes.append(helper.make_node(kind, inputs, [result], name=path, **attributes))
        return result

    def weight(self, name, shape) -> str:
        scale = np.sqrt(2 / max(1, int(np.prod(shape[1:]))))
        values = (self._random.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, x, name, channels, filters, kernel, stride=1) -> str:
        weight = self.weight(f"{name}.weight", (filters, channels, kernel, kernel))
        bias = self.weight(f"{name}.bias", (filters,))
        pad = kernel // 2
        path = "/" + name.replace(".", "/") + "/Conv"
        return self.node("Conv", [x, weight, bias], path, dilations=[1, 1], group=1,
                         kernel_shape=[kernel] * 2, pads=[pad] * 4,
                         strides=[stride] * 2)  # fmt: skip

    def relu(self, x, path) -> str:
        return self.node("Relu", [x], f"{path}/Relu")
