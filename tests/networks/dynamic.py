"""Small networks whose sizes, branches and steps are known only once something is given."""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.networks.graph import Graph

WIDTH = 32


def positions() -> onnx.ModelProto:
    """(1, steps, 32) open: a table of 512 positions, cut by shape arithmetic, then two heads."""
    graph = Graph(61)
    count = graph.add("Gather", graph.add("Shape", "x"), _number(graph, 1))
    one, steps = graph.constant([1]), graph.add("Unsqueeze", count, graph.constant([0]))
    table = graph.normal(512, WIDTH, deviation=0.5)
    numbers = graph.add("Range", _number(graph, 0), count, _number(graph, 1))
    x = graph.add("Add", "x", graph.add("Gather", table, numbers))
    query, key, value = (_heads(graph, x, one, steps) for _ in range(3))
    scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.add("Mul", scores, graph.constant(0.25))
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    turned = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    apart = graph.add("Concat", one, steps, graph.constant([WIDTH]), axis=0)
    y = graph.linear(graph.add("Reshape", turned, apart), WIDTH, WIDTH)
    return graph.model("positions", {"x": (1, "steps", WIDTH)}, {y: (1, "steps", WIDTH)})


def _number(graph: Graph, value: int) -> str:
    """A constant without dimensions."""
    return graph.add("Squeeze", graph.constant([value]), graph.constant([0]))


def _heads(graph: Graph, x: str, one: str, steps: str) -> str:
    apart = graph.add("Concat", one, steps, graph.constant([2, WIDTH // 2]), axis=0)
    x = graph.add("Reshape", graph.linear(x, WIDTH, WIDTH), apart)
    return graph.add("Transpose", x, perm=[0, 2, 1, 3])


def anchors(channels: int = 8) -> onnx.ModelProto:
    """Images of open sizes: boxes about the points of a grid that is made of the map's shape."""
    graph = Graph(62)
    given = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}
    x, inputs = "x", 3
    for outputs in (channels, channels, 4):
        weight = graph.normal(outputs, inputs, 3, 3, deviation=(2 / (9 * inputs)) ** 0.5)
        bias = graph.normal(outputs, deviation=0.05)
        x, inputs = graph.add("Relu", graph.add("Conv", x, weight, bias, **given)), outputs
    sizes = [graph.add("Shape", x, start=at, end=at + 1) for at in (2, 3)]
    lines = [_line(graph, size) for size in sizes]
    grid = graph.add("Concat", *sizes, axis=0)
    high = graph.add("Expand", graph.add("Unsqueeze", lines[0], graph.constant([1])), grid)
    wide = graph.add("Expand", graph.add("Unsqueeze", lines[1], graph.constant([0])), grid)
    flat = [graph.add("Reshape", points, graph.constant([1, 1, -1])) for points in (wide, high)]
    centres = graph.add("Concat", *flat, axis=1)
    boxes = graph.add("Reshape", x, graph.constant([1, 4, -1]))
    before, after = graph.split("Split", boxes, parts=2, axis=1)
    corners = graph.add("Sub", centres, before), graph.add("Add", centres, after)
    y = graph.add("Mul", graph.add("Concat", *corners, axis=1), graph.constant(8.0))
    return graph.model("anchors", {"x": (1, 3, "high", "wide")}, {y: (1, 4, "points")})


def _line(graph: Graph, size: str) -> str:
    """0.5, 1.5, ... of as many points as `size` says."""
    count = graph.add("Squeeze", size, graph.constant([0]))
    numbers = graph.add("Range", _number(graph, 0), count, _number(graph, 1))
    return graph.add("Add", graph.add("Cast", numbers, to=1), graph.constant(0.5))


def negative_sizes() -> onnx.ModelProto:
    """A dense layer whose rows, in the file's ports, are -1."""
    graph = Graph(63)
    y = graph.add("Relu", graph.linear("x", WIDTH, WIDTH))
    return graph.model("negative_sizes", {"x": (-1, WIDTH)}, {y: (-1, WIDTH)})


def rates() -> onnx.ModelProto:
    """`If` on an input, the rate of the samples: a layer for 16000, another one for 8000."""
    graph = Graph(64)
    names = [
        (graph.normal(WIDTH, WIDTH, deviation=WIDTH**-0.5), activation)
        for activation in ("Relu", "Tanh")
    ]
    branches = [_branch(weight, activation) for weight, activation in names]
    fits = graph.add("Equal", "sr", graph.constant(16000))
    y = graph.add("If", fits, then_branch=branches[0], else_branch=branches[1])
    ports = {"x": (1, WIDTH), "sr": ()}
    return graph.model("rates", ports, {y: (1, WIDTH)}, integers=("sr",))


def verified() -> onnx.ModelProto:
    """`If` on a result: a second layer's word where the first one's largest value is above 1.

    The branch that is not taken divides integers by zero.
    """
    graph = Graph(66)
    first = graph.add("Relu", graph.linear("x", WIDTH, WIDTH))
    high = graph.add("ReduceMax", first, keepdims=0)
    sure = graph.add("Greater", high, graph.constant(1.0))
    by = graph.add("Cast", sure, to=TensorProto.INT32)
    seven = graph.add("Cast", graph.constant(7), to=TensorProto.INT32)
    asked = graph.normal(WIDTH, WIDTH, deviation=WIDTH**-0.5)
    nodes = [
        helper.make_node("MatMul", [first, asked], ["again"]),
        helper.make_node("Div", [seven, by], ["whole"]),
        helper.make_node("Cast", ["whole"], ["times"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["again", "times"], ["yes result"]),
    ]
    kept = [helper.make_node("Identity", [first], ["no result"])]
    yes, no = (
        helper.make_graph(made, name, [], [_info(f"{name} result", shape=[1, WIDTH])])
        for made, name in ((nodes, "yes"), (kept, "no"))
    )
    y = graph.add("If", sure, then_branch=yes, else_branch=no)
    return graph.model("verified", {"x": (1, WIDTH)}, {y: (1, WIDTH)})


def _branch(weight: str, activation: str) -> onnx.GraphProto:
    nodes = [
        helper.make_node("MatMul", ["x", weight], [f"{activation} sum"]),
        helper.make_node(activation, [f"{activation} sum"], [f"{activation} result"]),
    ]
    result = helper.make_tensor_value_info(f"{activation} result", TensorProto.FLOAT, [1, WIDTH])
    return helper.make_graph(nodes, activation, [], [result])


_info = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)


def loop(steps: int = 6) -> onnx.ModelProto:
    """`Loop` with a trip count: s = tanh(s W + x[i]), every s kept."""
    graph = Graph(65)
    weight = graph.normal(WIDTH, WIDTH, deviation=WIDTH**-0.5)
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["slice"]),
        *_step(weight),
        helper.make_node("Identity", ["going"], ["more"]),
    ]
    entries = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("going", TensorProto.BOOL, []),
        _info("s", shape=[1, WIDTH]),
    ]
    leaving = [
        helper.make_tensor_value_info("more", TensorProto.BOOL, []),
        *(_info(name, shape=[1, WIDTH]) for name in ("next", "piece")),
    ]
    body = helper.make_graph(nodes, "body", entries, leaving)
    trips, first = graph.constant(steps), graph.constant(np.zeros((1, WIDTH)))
    last, pieces = graph.split("Loop", trips, "", first, parts=2, body=body)
    outputs = {last: (1, WIDTH), pieces: (steps, 1, WIDTH)}
    return graph.model("loop", {"x": (steps, 1, WIDTH)}, outputs)


def scan(steps: int = 6) -> onnx.ModelProto:
    """The same by `Scan`, from the last step to the first."""
    graph = Graph(66)
    weight = graph.normal(WIDTH, WIDTH, deviation=WIDTH**-0.5)
    ports = {name: _info(name, shape=[1, WIDTH]) for name in ("s", "slice", "next", "piece")}
    entries, leaving = list(ports.values())[:2], list(ports.values())[2:]
    body = helper.make_graph(_step(weight), "body", entries, leaving)
    first = graph.constant(np.zeros((1, WIDTH)))
    last, pieces = graph.split(
        *("Scan", first, "x"), parts=2, body=body, num_scan_inputs=1, scan_input_directions=[1]
    )
    outputs = {last: (1, WIDTH), pieces: (steps, 1, WIDTH)}
    return graph.model("scan", {"x": (steps, 1, WIDTH)}, outputs)


def _step(weight: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("MatMul", ["s", weight], ["product"]),
        helper.make_node("Add", ["product", "slice"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"]),
        helper.make_node("Identity", ["next"], ["piece"]),
    ]


def reverse_sequence() -> onnx.ModelProto:
    """Sequences of three lengths turned about, then a dense layer."""
    graph = Graph(67)
    lengths = graph.constant([6, 4, 1])
    x = graph.add("ReverseSequence", "x", lengths, time_axis=0, batch_axis=1)
    y = graph.linear(x, WIDTH, WIDTH)
    return graph.model("reverse_sequence", {"x": (6, 3, WIDTH)}, {y: (6, 3, WIDTH)})
