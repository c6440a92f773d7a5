"""The architectures of MLPerf Tiny in float32: ResNet8, MobileNetV1 0.25, DS-CNN, an autoencoder.

Batch normalisation is folded into the convolutions, weights are random. `nhwc`: the input has its
channels last and is transposed, and the average is a pool, as in what TensorFlow exports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import onnx

from tests.networks.graph import Graph

#: Channels and stride of ResNet8's stacks and of MobileNet's depthwise-separable blocks.
STACKS = ((16, 1), (32, 2), (64, 2))
BLOCKS = (
    *((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)),
    *((128, 1),) * 5,
    *((256, 2), (256, 1)),
)
#: Widths of the autoencoder's layers.
CODER = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640)


@dataclass(frozen=True)
class Image:
    """A tensor of the network: its name, channels, height and width."""

    name: str
    channels: int
    height: int
    width: int


@dataclass(frozen=True)
class Filter:
    """A convolution: channels out (0: depthwise), height and width of its filter, stride, ReLU."""

    channels: int
    height: int
    width: int
    stride: int = 1
    relu: bool = True


def resnet8(*, nhwc: bool = False) -> onnx.ModelProto:
    """Nine convolutions, three sums, ten classes of (3, 32, 32)."""
    net = _Net(11, Image("x", 3, 32, 32), nhwc=nhwc)
    x = net.convolution(net.entry, Filter(16, 3, 3))
    for channels, stride in STACKS:
        y = net.convolution(x, Filter(channels, 3, 3, stride))
        y = net.convolution(y, Filter(channels, 3, 3, relu=False))
        if channels != x.channels:
            x = net.convolution(x, Filter(channels, 1, 1, stride, relu=False))
        total = net.graph.add("Add", y.name, x.name)
        x = replace(y, name=net.graph.add("Relu", total))
    return net.classified(x, 10, "resnet8")


def mobilenet(*, nhwc: bool = False) -> onnx.ModelProto:
    """Thirteen depthwise-separable blocks, two classes of (3, 96, 96)."""
    net = _Net(12, Image("x", 3, 96, 96), nhwc=nhwc)
    x = net.convolution(net.entry, Filter(8, 3, 3, 2))
    for channels, stride in BLOCKS:
        x = net.convolution(x, Filter(0, 3, 3, stride))
        x = net.convolution(x, Filter(channels, 1, 1))
    return net.classified(x, 2, "mobilenet")


def dscnn(*, nhwc: bool = False) -> onnx.ModelProto:
    """Four depthwise-separable blocks, twelve words of (1, 49, 10)."""
    net = _Net(13, Image("x", 1, 49, 10), nhwc=nhwc)
    x = net.convolution(net.entry, Filter(64, 10, 4, 2))
    for _ in range(4):
        x = net.convolution(x, Filter(0, 3, 3))
        x = net.convolution(x, Filter(64, 1, 1))
    return net.classified(x, 12, "dscnn")


def branches() -> onnx.ModelProto:
    """Two branches of (32, 12, 12), 3x3 filters in one, 5x5 depthwise ones in the other; a sum."""
    net = _Net(15, Image("x", 32, 12, 12), nhwc=False)
    x = net.convolution(net.entry, Filter(32, 1, 1))
    one = net.convolution(net.convolution(x, Filter(128, 3, 3)), Filter(32, 3, 3, relu=False))
    other = net.convolution(net.convolution(x, Filter(0, 5, 5)), Filter(0, 5, 5, relu=False))
    total = net.graph.add("Add", one.name, other.name)
    return net.classified(replace(one, name=net.graph.add("Relu", total)), 4, "branches")


def branches_even() -> onnx.ModelProto:
    """Two branches of (32, 28, 6) that take two units of GAP9 about as long: four layers each.

    3x3 filters, 96 and 32 by turns, in one, 5x5 depthwise ones in the other; their sum is the end.
    """
    net = _Net(15, Image("x", 32, 28, 6), nhwc=False)
    one = other = net.convolution(net.entry, Filter(32, 1, 1))
    for index, channels in enumerate((96, 32, 96, 32)):
        one = net.convolution(one, Filter(channels, 3, 3, relu=index < 3))
        other = net.convolution(other, Filter(0, 5, 5, relu=index < 3))
    y = net.graph.add("Add", one.name, other.name)
    return net.graph.model("branches_even", {"x": (1, 32, 28, 6)}, {y: (1, 32, 28, 6)})


def filters() -> onnx.ModelProto:
    """Depthwise filters of (32, 24, 16), which two units of GAP9 share, then one of a pixel."""
    net = _Net(16, Image("x", 32, 24, 16), nhwc=False)
    x = net.convolution(net.entry, Filter(32, 1, 1))
    x = net.convolution(x, Filter(0, 3, 3))
    x = net.convolution(net.convolution(x, Filter(48, 1, 1)), Filter(0, 3, 3))
    return net.classified(x, 4, "filters")


def wide_filters() -> onnx.ModelProto:
    """One convolution of (48, 6, 6) to 100 channels, with most of the network's weights."""
    net = _Net(18, Image("x", 48, 6, 6), nhwc=False)
    return net.classified(net.convolution(net.entry, Filter(100, 3, 3)), 4, "wide_filters")


def large() -> onnx.ModelProto:
    """More than 5 MB of weights in 8 bits, 2 MB of activations, 0.6 MB of them at a time."""
    net = _Net(17, Image("x", 3, 96, 96), nhwc=False)
    x = net.convolution(net.entry, Filter(32, 3, 3))
    for _ in range(2):
        x = net.convolution(x, Filter(0, 3, 3))
        x = net.convolution(x, Filter(32, 1, 1))
    for channels in (64, 128, 256):
        x = net.convolution(x, Filter(channels, 3, 3, 2))
    x = net.convolution(x, Filter(512, 1, 1, 2))
    for _ in range(12):
        x = net.convolution(x, Filter(640, 1, 1))
    return net.classified(x, 10, "large")


def tall(*, pooled: bool) -> onnx.ModelProto:
    """Images of (16, 24, 24) and (32, 24, 24), then small ones: what a small memory holds in bands.

    Separable layers, or a block with a sum behind a pool where `pooled`.
    """
    net = _Net(19, Image("x", 3, 24, 24), nhwc=False)
    x = net.convolution(net.entry, Filter(16, 3, 3))
    if pooled:
        how = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}
        x = replace(x, name=net.graph.add("MaxPool", x.name, **how))
        y = net.convolution(net.convolution(x, Filter(0, 3, 3)), Filter(16, 1, 1, relu=False))
        x = replace(x, name=net.graph.add("Add", y.name, x.name))
    else:
        x = net.convolution(net.convolution(x, Filter(0, 3, 3)), Filter(32, 1, 1))
    x = net.convolution(net.convolution(x, Filter(0, 3, 3, 2)), Filter(32, 1, 1))
    return net.classified(x, 4, "tall")


def autoencoder(widths: Sequence[int] = CODER) -> onnx.ModelProto:
    """Dense layers of one row, all but the last with ReLU: ten, or of these widths."""
    graph = Graph(14)
    x = "x"
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        last = index == len(widths) - 2
        weight = graph.normal(outputs, inputs, deviation=(2 / inputs) ** 0.5)
        x = graph.add("Gemm", x, weight, graph.normal(outputs, deviation=0.02), transB=1)
        x = x if last else graph.add("Relu", x)
    return graph.model("autoencoder", {"x": (1, widths[0])}, {x: (1, widths[-1])})


class _Net:
    """A network of convolutions under construction, constants named as TensorFlow names them."""

    def __init__(self, seed: int, entry: Image, *, nhwc: bool) -> None:
        self.graph, self.entry, self._nhwc = Graph(seed), entry, nhwc
        self._given, self._made = entry, 0
        if nhwc:
            name = self.graph.add("Transpose", entry.name, perm=[0, 3, 1, 2])
            self.entry = replace(entry, name=name)

    def convolution(self, x: Image, made: Filter) -> Image:
        """With a bias and TensorFlow's SAME padding."""
        depthwise = not made.channels
        channels = made.channels or x.channels
        inputs = 1 if depthwise else x.channels
        number = f"_{self._made}" if self._made else ""
        self._made += 1
        shape = (channels, inputs, made.height, made.width)
        deviation = (2 / (inputs * made.height * made.width)) ** 0.5
        named = f"model/conv2d{number}"
        weight = self.graph.normal(*shape, deviation=deviation, name=f"{named}/Conv2D")
        bias = self.graph.normal(channels, deviation=0.05, name=f"{named}/BiasAdd")
        high, top, bottom = _same(x.height, made.height, made.stride)
        wide, left, right = _same(x.width, made.width, made.stride)
        name = self.graph.add(
            *("Conv", x.name, weight, bias),
            kernel_shape=[made.height, made.width],
            strides=[made.stride] * 2,
            pads=[top, left, bottom, right],
            group=channels if depthwise else 1,
        )
        return Image(self.graph.add("Relu", name) if made.relu else name, channels, high, wide)

    def classified(self, x: Image, classes: int, name: str) -> onnx.ModelProto:
        """The average of every channel, a dense layer, softmax."""
        graph, size = self.graph, [x.height, x.width]
        pooled = (
            graph.add("AveragePool", x.name, kernel_shape=size, strides=size)
            if self._nhwc
            else graph.add("GlobalAveragePool", x.name)
        )
        weight = graph.normal(
            classes, x.channels, deviation=x.channels**-0.5, name="model/dense/MatMul"
        )
        bias = graph.normal(classes, deviation=0.05, name="model/dense/BiasAdd")
        dense = graph.add("Gemm", graph.add("Flatten", pooled), weight, bias, transB=1)
        y = graph.add("Softmax", dense, axis=-1)
        given = self._given
        shape = (given.channels, given.height, given.width)
        shape = (1, *shape[1:], shape[0]) if self._nhwc else (1, *shape)
        return graph.model(name, {given.name: shape}, {y: (1, classes)})


def _same(size: int, window: int, stride: int) -> tuple[int, int, int]:
    """Positions of a window with TensorFlow's SAME padding, and what is added on both sides."""
    positions = -(-size // stride)
    missing = max((positions - 1) * stride + window - size, 0)
    return positions, missing // 2, missing - missing // 2
