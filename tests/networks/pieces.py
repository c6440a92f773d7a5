"""Small networks of the layers that image, speech and language networks have between products."""

from __future__ import annotations

import math

import numpy as np
import onnx

from tests.networks.graph import Graph

CHANNELS, SIZE = 16, 16
IMAGE = (1, CHANNELS, SIZE, SIZE)


def _conv(graph: Graph, x: str, inputs: int = CHANNELS, outputs: int = CHANNELS) -> str:
    weight = graph.normal(outputs, inputs, 3, 3, deviation=(2 / (9 * inputs)) ** 0.5)
    bias = graph.normal(outputs, deviation=0.05)
    return graph.add("Conv", x, weight, bias, kernel_shape=[3, 3], pads=[1] * 4)


def lines() -> onnx.ModelProto:
    """Convolutions of lines, one of them dilated, one depthwise."""
    graph = Graph(81)
    x, inputs = "x", CHANNELS
    for groups, dilation in ((1, 1), (32, 1), (1, 2)):
        weight = graph.normal(32, inputs // groups, 5, deviation=(2 * groups / 5 / inputs) ** 0.5)
        bias = graph.normal(32, deviation=0.05)
        given = {"kernel_shape": [5], "dilations": [dilation], "pads": [2 * dilation] * 2}
        x = graph.add("Relu", graph.add("Conv", x, weight, bias, group=groups, **given))
        inputs = 32
    return graph.model("lines", {"x": (1, CHANNELS, 200)}, {x: (1, 32, 200)})


def transposed() -> onnx.ModelProto:
    """Transposed convolutions of 4x4 with stride 2 on an image, of 8 with stride 4 on a line."""
    graph = Graph(82)
    image = graph.add(
        *("ConvTranspose", "x", graph.normal(CHANNELS, 8, 4, 4, deviation=0.1)),
        kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4,
    )  # fmt: skip
    line = graph.add(
        *("ConvTranspose", "z", graph.normal(CHANNELS, 8, 8, deviation=0.1)),
        kernel_shape=[8], strides=[4], pads=[2, 2],
    )  # fmt: skip
    outputs = {image: (1, 8, 2 * SIZE, 2 * SIZE), line: (1, 8, 4 * SIZE)}
    return graph.model("transposed", {"x": IMAGE, "z": (1, CHANNELS, SIZE)}, outputs)


def resize(mode: str) -> onnx.ModelProto:
    """A convolution, its result twice as large by `mode`, a convolution."""
    graph = Graph(83)
    scales = graph.constant([1.0, 1.0, 2.0, 2.0])
    place = "asymmetric" if mode == "nearest" else "half_pixel"
    rounding = {"nearest_mode": "floor"} if mode == "nearest" else {}
    given = {"mode": mode, "coordinate_transformation_mode": place, **rounding}
    y = _conv(graph, graph.add("Resize", _conv(graph, "x"), "", scales, **given))
    return graph.model("resize", {"x": IMAGE}, {y: (1, CHANNELS, 2 * SIZE, 2 * SIZE)})


def rearranged() -> onnx.ModelProto:
    """Pad by reflection, split, concatenate; a space to depth by slices and back by an operator."""
    graph = Graph(84)
    pads = graph.constant([0, 0, 1, 1, 0, 0, 1, 1])
    x = graph.add("Pad", _conv(graph, "x"), pads, mode="reflect")
    first, second = graph.split("Split", x, parts=2, axis=1)
    x = graph.add("Concat", second, first, axis=1)
    cuts = [(down, right) for right in (0, 1) for down in (0, 1)]
    axes, steps = graph.constant([2, 3]), graph.constant([2, 2])
    end = graph.constant([1000, 1000])
    parts = [graph.add("Slice", x, graph.constant(list(begin)), end, axes, steps) for begin in cuts]
    x = _conv(graph, graph.add("Concat", *parts, axis=1), 4 * CHANNELS, 4 * CHANNELS)
    y = graph.add("DepthToSpace", x, blocksize=2)
    return graph.model("rearranged", {"x": IMAGE}, {y: (1, CHANNELS, SIZE + 2, SIZE + 2)})


def activations() -> onnx.ModelProto:
    """Hard swish, SiLU and a leaky ReLU spelled out behind convolutions, a gate of channels."""
    graph = Graph(85)
    x = _conv(graph, "x")
    x = graph.add("Mul", x, graph.add("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    x = _conv(graph, x)
    x = graph.add("Mul", x, graph.add("Sigmoid", x))
    x = graph.add("LeakyRelu", _conv(graph, x), alpha=0.1)
    gate = graph.add("GlobalAveragePool", x)
    weight = graph.normal(CHANNELS, CHANNELS, 1, 1, deviation=CHANNELS**-0.5)
    gate = graph.add("Sigmoid", graph.add("Conv", gate, weight, kernel_shape=[1, 1]))
    y = graph.add("Mul", x, gate)
    return graph.model("activations", {"x": IMAGE}, {y: IMAGE})


def gelus() -> onnx.ModelProto:
    """GELU by Div and Erf, and by tanh, between dense layers."""
    graph = Graph(86)
    x = graph.linear("x", 64, 64)
    erf = graph.add("Erf", graph.add("Div", x, graph.constant(math.sqrt(2))))
    x = graph.add("Mul", x, graph.add("Add", erf, graph.constant(1.0)))
    x = graph.linear(graph.add("Mul", x, graph.constant(0.5)), 64, 64)
    cubed = graph.add("Mul", graph.add("Mul", x, graph.add("Mul", x, x)), graph.constant(0.044715))
    inner = graph.add("Mul", graph.add("Add", x, cubed), graph.constant(math.sqrt(2 / math.pi)))
    x = graph.add("Mul", x, graph.add("Add", graph.add("Tanh", inner), graph.constant(1.0)))
    y = graph.linear(graph.add("Mul", x, graph.constant(0.5)), 64, 16)
    return graph.model("gelus", {"x": (8, 64)}, {y: (8, 16)})


def reductions() -> onnx.ModelProto:
    """Along the last axis: mean and variance, L2 norm, largest, log of a sum of exponentials."""
    graph = Graph(87)
    mean = graph.add("ReduceMean", "x", axes=[-1])
    apart = graph.add("Sub", "x", mean)
    spread = graph.add("Sqrt", graph.add("ReduceMean", graph.add("Mul", apart, apart), axes=[-1]))
    x = graph.add("Div", apart, graph.add("Add", spread, graph.constant(1e-3)))
    x = graph.add("Div", x, graph.add("ReduceL2", x, axes=[-1]))
    most = graph.add("ReduceMax", x, axes=[-1])
    least = graph.add("ReduceLogSumExp", x, axes=[-1])
    place = graph.add("ArgMax", x, axis=-1)
    outputs = {most: (16, 8, 1), least: (16, 8, 1)}
    y = graph.add("Add", graph.add("Cast", place, to=1), graph.add("Mul", most, least))
    return graph.model("reductions", {"x": (16, 8, 96)}, outputs | {y: (16, 8, 1)})


def sorted_and_scattered() -> onnx.ModelProto:
    """The 8 largest of 64, their rows gathered, a layer, and scattered to where they were."""
    graph = Graph(88)
    score = graph.add("Squeeze", graph.linear("x", 32, 1), graph.constant([1]))
    top, places = graph.split("TopK", score, graph.constant([8]), parts=2, axis=0)
    rows = graph.linear(graph.add("Gather", "x", places), 32, 32)
    where = graph.add("Unsqueeze", places, graph.constant([1]))
    y = graph.add("ScatterND", "x", where, rows)
    return graph.model("sorted_and_scattered", {"x": (64, 32)}, {y: (64, 32), top: (8,)})


def dynamic_quantised() -> onnx.ModelProto:
    """`DynamicQuantizeLinear` and `MatMulInteger`, as onnxruntime's dynamic quantiser writes."""
    graph, rng = Graph(89), np.random.default_rng(89)
    x, width = "x", 64
    for outputs in (128, 64):
        weight = graph.constant(rng.integers(-64, 64, (width, outputs)).astype(np.int8))
        zero, scale = graph.constant(np.int8(0)), graph.constant(0.003)
        quantised, step, point = graph.split("DynamicQuantizeLinear", x, parts=3)
        total = graph.add("MatMulInteger", quantised, weight, point, zero)
        real = graph.add("Mul", graph.add("Cast", total, to=1), graph.add("Mul", step, scale))
        x = graph.add("Relu", graph.add("Add", real, graph.normal(outputs, deviation=0.05)))
        width = outputs
    return graph.model("dynamic_quantised", {"x": (8, 64)}, {x: (8, 64)})


def blocked_weights(bits: int, block: int = 32) -> onnx.ModelProto:
    """`MatMulNBits`: weights of 4 or 8 bits with a scale and a zero point a block."""
    graph, rng = Graph(90), np.random.default_rng(90)
    inputs, outputs = 128, 64
    count = inputs // block
    weight = rng.integers(0, 256, (outputs, count, block * bits // 8)).astype(np.uint8)
    scales = (rng.random((outputs, count)) * 0.02 + 0.005) * (16 / 2**bits)
    points = rng.integers(0, 256, (outputs, -(-count * bits // 8))).astype(np.uint8)
    y = graph.add(
        *("MatMulNBits", "x", graph.constant(weight), graph.constant(scales.reshape(-1))),
        graph.constant(points.reshape(-1)),
        **{"domain": "com.microsoft", "K": inputs, "N": outputs},
        **{"bits": bits, "block_size": block},
    )
    y = graph.add("Relu", graph.add("Add", y, graph.normal(outputs, deviation=0.05)))
    return graph.model("blocked_weights", {"x": (8, inputs)}, {y: (8, outputs)})


def clipped() -> onnx.ModelProto:
    """QCDQ: a layer of 4-bit weights and activations, narrowed by `Clip` between Q and DQ."""
    graph, rng = Graph(91), np.random.default_rng(91)

    def narrowed(x: str, scale: float) -> str:
        step, zero = graph.constant(scale), graph.constant(np.int8(0))
        low, high = graph.constant(np.int8(-8)), graph.constant(np.int8(7))
        stored = graph.add("Clip", graph.add("QuantizeLinear", x, step, zero), low, high)
        return graph.add("DequantizeLinear", stored, step, zero)

    x, width = narrowed("x", 0.25), 64
    for outputs in (64, 16):
        weight = graph.constant(rng.integers(-8, 8, (width, outputs)).astype(np.int8))
        scale, zero = graph.constant(0.02), graph.constant(np.int8(0))
        weight = graph.add("DequantizeLinear", weight, scale, zero)
        x = narrowed(graph.add("Relu", graph.add("MatMul", x, weight)), 0.25)
        width = outputs
    return graph.model("clipped", {"x": (8, 64)}, {x: (8, 16)})


def halves() -> onnx.ModelProto:
    """Dense layers in 16-bit floats between two casts."""
    graph, rng = Graph(92), np.random.default_rng(92)
    x, width = graph.add("Cast", "x", to=onnx.TensorProto.FLOAT16), 64
    for outputs in (128, 32):
        weight = rng.standard_normal((width, outputs)) * width**-0.5
        x = graph.add("MatMul", x, graph.constant(weight.astype(np.float16)))
        bias = graph.constant((rng.standard_normal(outputs) / 20).astype(np.float16))
        x, width = graph.add("Relu", graph.add("Add", x, bias)), outputs
    y = graph.add("Cast", x, to=onnx.TensorProto.FLOAT)
    return graph.model("halves", {"x": (8, 64)}, {y: (8, 32)})


def narrow_weights() -> onnx.ModelProto:
    """Weights in 16-bit floats, widened in front of every float32 layer."""
    graph, rng = Graph(93), np.random.default_rng(93)
    x, width = "x", 64
    for outputs in (128, 32):
        weight = (rng.standard_normal((width, outputs)) * width**-0.5).astype(np.float16)
        wide = graph.add("Cast", graph.constant(weight), to=onnx.TensorProto.FLOAT)
        x, width = graph.add("Relu", graph.add("MatMul", x, wide)), outputs
    return graph.model("narrow_weights", {"x": (8, 64)}, {x: (8, 32)})
