"""The zoo: small layers of every kind, on which a target is tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match_aie.testing.case import Build, Case
from match_aie.testing.graph import GraphBuilder, Value
from match_aie.testing.operands import OPERANDS, PER_CHANNEL, PLAIN

NO_PADS = (0, 0, 0, 0)

#: What convolutions and dense layers read.
INT8 = Value("x", (1, 16, 8, 8), "int8", 0.05, 0)
UINT8 = Value("x", (1, 16, 8, 8), "uint8", 0.05, 128)
SHIFT = Value("x", (1, 16, 8, 8), "int8", 2.0**-5, 0)
FLOAT = Value("x", (1, 16, 8, 8))


@dataclass(frozen=True)
class Conv:
    """A convolution: `outputs` channels, filter and strides as (rows, columns).

    `pads` are top, left, bottom, right.
    """

    x: Value
    outputs: int = 16
    filter: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    per_channel: bool = False
    relu: bool = False
    bias: bool = True

    def __call__(self, graph: GraphBuilder) -> Value:
        """Add it, with an input of its own."""
        return self.on(graph, graph.input(self.x))

    def on(self, graph: GraphBuilder, x: Value) -> Value:
        """Add it to what `x` is."""
        channels = x.shape[1] // self.groups
        shape = (self.outputs, channels, *self.filter)
        operands = [graph.real(x), graph.weight(shape, x, 0, self.per_channel)]
        operands += [graph.bias(self.outputs, x)] if self.bias and not self.per_channel else []
        real = graph.node(
            "Conv",
            operands,
            strides=self.strides,
            pads=self.pads,
            dilations=self.dilations,
            group=self.groups,
        )
        real = graph.node("Relu", [real]) if self.relu else real
        spread = graph.weighted_spread(x, channels * self.filter[0] * self.filter[1])
        return graph.store(real, x, (x.shape[0], self.outputs, *self._extent(x)), spread)

    def _extent(self, x: Value) -> tuple[int, int]:
        def along(axis: int) -> int:
            reach = self.dilations[axis] * (self.filter[axis] - 1) + 1
            padded = x.shape[2 + axis] + self.pads[axis] + self.pads[axis + 2]
            return (padded - reach) // self.strides[axis] + 1

        return along(0), along(1)


def depthwise(x: Value, strides: tuple[int, int] = (1, 1), **more: object) -> Conv:
    """A depthwise convolution of 3x3."""
    channels = x.shape[1]
    made = Conv(x, channels, strides=strides, groups=channels)
    return replace(made, **more)  # type: ignore[arg-type]


def dense(x: Value, outputs: int, *, bias: bool = True, relu: bool = False) -> Build:
    """A matrix product with constant weights, a row per image.

    Args:
        x: [rows, inputs].
        outputs: columns of the weights.
        bias: is added.
        relu: is applied.
    """

    def build(graph: GraphBuilder) -> Value:
        data = graph.input(x)
        weight = graph.weight((x.shape[1], outputs), data, 1, False)
        real = graph.node("MatMul", [graph.real(data), weight])
        real = graph.node("Add", [real, graph.bias(outputs, data)]) if bias else real
        real = graph.node("Relu", [real]) if relu else real
        spread = graph.weighted_spread(data, x.shape[1])
        return graph.store(real, data, (x.shape[0], outputs), spread)

    return build


def binary(operator: str, x: Value, other: Value, growth: float) -> Build:
    """Two activations, element by element; the result spreads `growth` as much as the first.

    Args:
        operator: of ONNX.
        x: the first operand.
        other: the second one.
        growth: of the standard deviation.
    """

    def build(graph: GraphBuilder) -> Value:
        a, b = graph.input(x), graph.input(replace(other, name="x1"))
        real = graph.node(operator, [graph.real(a), graph.real(b)])
        return graph.store(real, a, x.shape, growth * a.spread)

    return build


def product(x: Value, other: Value) -> Build:
    """A matrix product of two activations."""

    def build(graph: GraphBuilder) -> Value:
        a, b = graph.input(x), graph.input(replace(other, name="x1"))
        real = graph.node("MatMul", [graph.real(a), graph.real(b)])
        spread = a.spread * b.spread * x.shape[-1] ** 0.5
        return graph.store(real, a, (*x.shape[:-1], other.shape[-1]), spread)

    return build


def pool(operator: str, x: Value, extent: tuple[int, int], **attributes: object) -> Build:
    """A pool whose output has `extent` rows and columns; the scale stays that of the input.

    Args:
        operator: of ONNX.
        x: an image, NCHW.
        extent: rows and columns of the result.
        attributes: of the node.
    """

    def build(graph: GraphBuilder) -> Value:
        data = graph.input(x)
        real = graph.node(operator, [graph.real(data)], **attributes)
        spread = data.spread if operator == "MaxPool" else data.spread / 2
        if operator == "MaxPool" and data.scale is not None:
            same = graph.node("QuantizeLinear", [real, *graph.scale(data)])
            return replace(data, name=same, shape=(*x.shape[:2], *extent))
        return graph.store(real, data, (*x.shape[:2], *extent), spread)

    return build


def unary(operator: str, x: Value, spread: float, **attributes: object) -> Build:
    """One activation, element by element, or a softmax.

    Args:
        operator: of ONNX.
        x: the operand.
        spread: standard deviation of the result.
        attributes: of the node.
    """

    def build(graph: GraphBuilder) -> Value:
        data = graph.input(x)
        real = graph.node(operator, [graph.real(data)], **attributes)
        return graph.store(real, data, x.shape, spread)

    return build


def residual(graph: GraphBuilder) -> Value:
    """A convolution, one of 1x1, and to its result, about as large, its input added."""
    x = graph.input(INT8)
    first = Conv(INT8, relu=True).on(graph, x)
    second = Conv(INT8, filter=(1, 1), pads=NO_PADS).on(graph, first)
    real = graph.node("Add", [graph.real(second), graph.real(first)])
    return graph.store(graph.node("Relu", [real]), x, x.shape, second.spread)


def separable(graph: GraphBuilder) -> Value:
    """A depthwise convolution, one of 1x1, the average of the image, a softmax."""
    x = graph.input(UINT8)
    deep = depthwise(UINT8, relu=True).on(graph, x)
    wide = Conv(UINT8, 10, (1, 1), pads=(0, 0, 0, 0), relu=True).on(graph, deep)
    mean = graph.node("GlobalAveragePool", [graph.real(wide)])
    pooled = graph.store(mean, x, (1, 10, 1, 1), wide.spread / 2)
    flat = graph.node("Flatten", [graph.real(pooled)])
    return graph.store(graph.node("Softmax", [flat], axis=-1), x, (1, 10), 0.3)


def between(graph: GraphBuilder) -> Value:
    """Constants added between two convolutions, one for every element and one for every channel."""
    x = graph.input(INT8)
    first = Conv(INT8, relu=True).on(graph, x)
    full = replace(PLAIN.constant, shape=first.shape, scale=0.031)
    added = replace(PLAIN, constant=full, shape=first.shape, spread=first.spread).on(graph, first)
    scaled = replace(PER_CHANNEL.constant, dtype="int8", zero_point=9, scale=0.5)
    shaped = replace(PER_CHANNEL, constant=scaled, shape=first.shape, spread=first.spread)
    return Conv(INT8, 8, (1, 1), pads=NO_PADS).on(graph, shaped.on(graph, added))


def _sized(value: Value, *shape: int) -> Value:
    return replace(value, shape=shape)


ODD = (1, 5, 7, 9)

LAYERS = (
    Case("conv 3x3 int8", Conv(INT8)),
    Case(
        "conv 3x3 int8, relu, one filter scale per channel", Conv(INT8, relu=True, per_channel=True)
    ),
    Case("conv 3x3 uint8", Conv(UINT8, relu=True)),
    Case("conv 3x3 int8, odd sizes, stride 2", Conv(_sized(INT8, *ODD), 11, strides=(2, 2))),
    Case("conv 5x3 int8, uneven padding", Conv(_sized(INT8, *ODD), 3, (5, 3), pads=(2, 0, 1, 2))),
    Case("conv 3x3 int8, dilation 2", Conv(INT8, dilations=(2, 2), pads=(2, 2, 2, 2))),
    Case("conv 3x3 int8, two groups", Conv(INT8, groups=2)),
    Case("conv 3x3 int8, 64 channels", Conv(_sized(INT8, 1, 64, 6, 6), 64)),
    Case("conv 1x1 int8", Conv(_sized(INT8, 1, 32, 6, 6), 24, (1, 1), pads=NO_PADS)),
    Case("conv 1x1 uint8, no bias", Conv(UINT8, 7, (1, 1), pads=NO_PADS, bias=False)),
    Case("conv 3x3 int8, scales powers of two", Conv(SHIFT, relu=True)),
    Case("conv 3x3 int8, relu, zero point -128", Conv(replace(INT8, zero_point=-128), relu=True)),
    Case("depthwise 3x3 int8", depthwise(INT8)),
    Case("depthwise 3x3 uint8, odd sizes, stride 2", depthwise(_sized(UINT8, *ODD), (2, 2))),
    Case("dense int8", dense(_sized(INT8, 1, 64), 10)),
    Case("dense uint8, odd sizes, three rows", dense(_sized(UINT8, 3, 37), 13, relu=True)),
    Case("dense int8, no bias", dense(_sized(INT8, 1, 32), 32, bias=False)),
    Case("dense int8, scales powers of two", dense(_sized(SHIFT, 1, 64), 16)),
    Case("matmul int8 of two activations", product(_sized(INT8, 1, 6, 8), _sized(INT8, 1, 8, 5))),
    Case("add int8", binary("Add", INT8, replace(INT8, scale=0.03), 1.2)),
    Case("add uint8, odd sizes", binary("Add", _sized(UINT8, *ODD), _sized(UINT8, *ODD), 1.4)),
    Case("add int8, scales powers of two", binary("Add", SHIFT, SHIFT, 1.4)),
    Case("mul int8", binary("Mul", INT8, INT8, INT8.scale * 74 if INT8.scale else 1.0)),
    Case("max pool 2x2 int8", pool("MaxPool", INT8, (4, 4), kernel_shape=(2, 2), strides=(2, 2))),
    Case(
        "max pool 3x3 uint8, odd sizes, padding",
        pool(
            "MaxPool",
            _sized(UINT8, *ODD),
            (4, 5),
            kernel_shape=(3, 3),
            strides=(2, 2),
            pads=(1,) * 4,
        ),
    ),
    Case(
        "average pool 2x2 int8",
        pool("AveragePool", INT8, (4, 4), kernel_shape=(2, 2), strides=(2, 2)),
    ),
    Case("global average pool uint8", pool("GlobalAveragePool", UINT8, (1, 1))),
    Case("softmax int8", unary("Softmax", _sized(INT8, 1, 10), 0.3, axis=-1)),
    Case("relu int8", unary("Relu", INT8, 3.0)),
    Case("sigmoid int8", unary("Sigmoid", INT8, 0.5)),
    Case("residual block int8", residual, single=False),
    Case("separable block uint8", separable, single=False),
    Case("constants between convolutions int8", between, single=False),
    Case("conv 3x3 float", Conv(FLOAT, relu=True), terms=144),
    Case("depthwise 3x3 float", depthwise(FLOAT), terms=9),
    Case("dense float", dense(_sized(FLOAT, 2, 37), 13), terms=37),
    Case("add float", binary("Add", FLOAT, FLOAT, 1.4)),
    Case("max pool float", pool("MaxPool", FLOAT, (4, 4), kernel_shape=(2, 2), strides=(2, 2))),
    Case("softmax float", unary("Softmax", _sized(FLOAT, 3, 11), 0.3, axis=-1), terms=11),
)

#: Layers of every kind, then layers whose operands are constants.
ZOO: tuple[Case, ...] = (*LAYERS, *OPERANDS)
