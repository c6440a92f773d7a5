"""Float32 image and speech networks of the forms that are shipped, with random weights.

Sizes are those of the papers that introduced them; `width` and `size` make small ones for tests.
"""

from __future__ import annotations

import numpy as np
import onnx

from tests.networks.graph import Graph

#: MobileNetV2's stages: expansion, channels, blocks, stride.
INVERTED = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


class _Net:
    """A network of images (channels, rows, columns) under construction."""

    def __init__(self, seed: int) -> None:
        self.graph = Graph(seed)

    def conv(self, x: str, inputs: int, outputs: int, side: int = 3, **given: int) -> str:
        """A convolution with bias; `stride`, `groups` as given, the image keeps its size."""
        groups = given.get("groups", 1)
        shape = (outputs, inputs // groups, side, side)
        weight = self.graph.normal(*shape, deviation=(2 / (inputs // groups * side**2)) ** 0.5)
        return self.graph.add(
            *("Conv", x, weight, self.graph.normal(outputs, deviation=0.05)),
            kernel_shape=[side] * 2,
            strides=[given.get("stride", 1)] * 2,
            pads=[side // 2] * 4,
            group=groups,
        )

    def relu(self, x: str) -> str:
        return self.graph.add("Relu", x)

    def relu6(self, x: str) -> str:
        return self.graph.add("Clip", x, self.graph.constant(0.0), self.graph.constant(6.0))

    def classified(self, x: str, channels: int, classes: int) -> str:
        pooled = self.graph.add("Flatten", self.graph.add("GlobalAveragePool", x), axis=1)
        weight = self.graph.normal(classes, channels, deviation=channels**-0.5)
        bias = self.graph.normal(classes, deviation=0.05)
        return self.graph.add("Gemm", pooled, weight, bias, transB=1)

    def twice(self, x: str, inputs: int, outputs: int) -> str:
        x = self.relu(self.conv(x, inputs, outputs))
        return self.relu(self.conv(x, outputs, outputs))


def mobilenetv2(size: int = 224, divisor: int = 1) -> onnx.ModelProto:
    """Inverted residuals of 3x3 depthwise convolutions, ReLU6; `divisor` divides channels."""
    net, channels = _Net(31), 32 // divisor
    x = net.relu6(net.conv("x", 3, channels, stride=2))
    for expansion, outputs, blocks, first in INVERTED:
        outputs //= divisor
        for block in range(blocks):
            inner, stride = channels * expansion, first if block == 0 else 1
            y = x if expansion == 1 else net.relu6(net.conv(x, channels, inner, 1))
            y = net.relu6(net.conv(y, inner, inner, stride=stride, groups=inner))
            y = net.conv(y, inner, outputs, 1)
            x = net.graph.add("Add", x, y) if stride == 1 and channels == outputs else y
            channels = outputs
    x = net.relu6(net.conv(x, channels, 1280 // divisor, 1))
    y = net.classified(x, 1280 // divisor, 1000 // divisor)
    return net.graph.model("mobilenetv2", {"x": (1, 3, size, size)}, {y: (1, 1000 // divisor)})


def resnet18(size: int = 224, divisor: int = 1) -> onnx.ModelProto:
    """Four stages of two residual blocks, normalisation folded."""
    net, channels = _Net(32), 64 // divisor
    x = net.relu(net.conv("x", 3, channels, 7, stride=2))
    x = net.graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage in range(4):
        outputs = (64 << stage) // divisor
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = net.relu(net.conv(x, channels, outputs, stride=stride))
            y = net.conv(y, outputs, outputs)
            short = net.conv(x, channels, outputs, 1, stride=stride) if stride == 2 else x
            x, channels = net.relu(net.graph.add("Add", y, short)), outputs
    y = net.classified(x, channels, 1000 // divisor)
    return net.graph.model("resnet18", {"x": (1, 3, size, size)}, {y: (1, 1000 // divisor)})


def unet(size: int = 128, base: int = 16, levels: int = 4) -> onnx.ModelProto:
    """Down by max pools, up by transposed convolutions of 2x2, shortcuts concatenated."""
    net = _Net(33)
    x, channels, kept = net.twice("x", 3, base), base, []
    for _ in range(levels):
        kept.append((x, channels))
        pooled = net.graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        x, channels = net.twice(pooled, channels, 2 * channels), 2 * channels
    for short, wide in reversed(kept):
        weight = net.graph.normal(channels, wide, 2, 2, deviation=channels**-0.5)
        bias = net.graph.normal(wide, deviation=0.05)
        up = {"kernel_shape": [2, 2], "strides": [2, 2]}
        x = net.graph.add("ConvTranspose", x, weight, bias, **up)
        x = net.twice(net.graph.add("Concat", short, x, axis=1), 2 * wide, wide)
        channels = wide
    y = net.graph.add("Sigmoid", net.conv(x, channels, 1, 1))
    return net.graph.model("unet", {"x": (1, 3, size, size)}, {y: (1, 1, size, size)})


def bidirectional(graph: Graph, x: str, inputs: int, hidden: int, steps: int) -> str:
    """An LSTM both ways on (steps, 1, inputs), as PyTorch's exporter writes it."""
    y = graph.split("LSTM", x, *_lstm(graph, inputs, hidden, 2), parts=3, hidden_size=hidden,
                    direction="bidirectional")[0]  # fmt: skip
    turned = graph.add("Transpose", y, perm=[0, 2, 1, 3])
    return graph.add("Reshape", turned, graph.constant([steps, 1, 2 * hidden]))


def _lstm(graph: Graph, inputs: int, hidden: int, directions: int = 1) -> tuple[str, ...]:
    """W, R, B, no lengths, and the zeros that the exporter gives as first states."""
    zeros = graph.constant(np.zeros((directions, 1, hidden), np.float32))
    return (
        graph.normal(directions, 4 * hidden, inputs, deviation=inputs**-0.5),
        graph.normal(directions, 4 * hidden, hidden, deviation=hidden**-0.5),
        graph.normal(directions, 8 * hidden, deviation=0.05),
        *("", zeros, zeros),
    )


def crnn_lstm(wide: int = 160, divisor: int = 1, classes: int = 97) -> onnx.ModelProto:
    """Text in a line of 32 rows: seven convolutions, two bidirectional LSTMs, a class a column."""
    net, channels = _Net(34), 1
    graph, x = net.graph, "x"
    for outputs, pool in ((64, 2), (128, 2), (256, 0), (256, 1), (512, 0), (512, 1)):
        outputs //= divisor
        x = net.relu(net.conv(x, channels, outputs))
        channels = outputs
        if pool:
            x = graph.add("MaxPool", x, kernel_shape=[2, pool], strides=[2, pool])
    weight = graph.normal(channels, channels, 2, 1, deviation=channels**-0.5)
    bias = graph.normal(channels, deviation=0.05)
    x = net.relu(graph.add("Conv", x, weight, bias, kernel_shape=[2, 1]))
    steps, hidden = wide // 4, 256 // divisor
    x = graph.add("Transpose", graph.add("Squeeze", x, graph.constant([2])), perm=[2, 0, 1])
    for inputs in (channels, 2 * hidden):
        x = bidirectional(graph, x, inputs, hidden, steps)
    y = graph.linear(x, 2 * hidden, classes)
    return graph.model("crnn_lstm", {"x": (1, 1, 32, wide)}, {y: (steps, 1, classes)})


def vad_stream(hidden: int = 128) -> onnx.ModelProto:
    """Is it speech? 512 samples and the states of an LSTM in, a probability and new states out.

    A spectrum by a convolution of fixed windows, four one-dimensional convolutions, an LSTM.
    """
    graph = Graph(35)

    def conv(x: str, inputs: int, outputs: int, side: int, stride: int, pad: int) -> str:
        weight = graph.normal(outputs, inputs, side, deviation=(inputs * side) ** -0.5)
        bias = graph.normal(outputs, deviation=0.05)
        given = {"kernel_shape": [side], "strides": [stride], "pads": [pad] * 2}
        return graph.add("Conv", x, weight, bias, **given)

    x = conv(graph.add("Unsqueeze", "x", graph.constant([1])), 1, 258, 256, 128, 64)
    real, imaginary = graph.split("Split", x, parts=2, axis=1)
    squares = (graph.add("Mul", part, part) for part in (real, imaginary))
    x, channels = graph.add("Sqrt", graph.add("Add", *squares)), 129
    for outputs, stride in ((hidden, 1), (hidden // 2, 2), (hidden // 2, 2), (hidden, 1)):
        x, channels = graph.add("Relu", conv(x, channels, outputs, 3, stride, 1)), outputs
    x = graph.add("Transpose", x, perm=[2, 0, 1])
    w, r, b = _lstm(graph, hidden, hidden)[:3]
    y, *states = graph.split("LSTM", x, w, r, b, "", "h", "c", parts=3, hidden_size=hidden)
    y = graph.add("Relu", graph.add("Squeeze", y, graph.constant([1])))
    y = graph.add("Sigmoid", graph.linear(y, hidden, 1))
    state = (1, 1, hidden)
    outputs = {y: (1, 1, 1), **{graph.add("Identity", name): state for name in states}}
    return graph.model("vad_stream", {"x": (1, 512), "h": state, "c": state}, outputs)


def bilstm_tagger(
    steps: int = 64, width: int = 128, hidden: int = 128, words: int = 10_000
) -> onnx.ModelProto:
    """Words by number: embeddings, two bidirectional LSTMs, nine classes each."""
    graph = Graph(36)
    table = graph.normal(words, width, deviation=0.5)
    x = graph.add("Transpose", graph.add("Gather", table, "ids"), perm=[1, 0, 2])
    for inputs in (width, 2 * hidden):
        x = bidirectional(graph, x, inputs, hidden, steps)
    y = graph.linear(x, 2 * hidden, 9)
    ports = {"ids": (1, steps)}
    return graph.model("bilstm_tagger", ports, {y: (steps, 1, 9)}, integers=("ids",))
