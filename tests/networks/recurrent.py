"""Small recurrent networks in the forms of files: states, directions, lengths, integers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.networks.graph import Graph

STEPS, WIDTH, HIDDEN = 6, 24, 32
GATES = {"GRU": 3, "LSTM": 4}


def gru_states(before: bool) -> onnx.ModelProto:
    """Steps of a GRU, its state in and out; the reset gate before or after the product."""
    graph = Graph(71)
    operands = (*_weights(graph, 3, 1), "", "h")
    y, last = graph.split(
        "GRU", "x", *operands, parts=2, hidden_size=HIDDEN, linear_before_reset=int(not before)
    )
    ports = {"x": (STEPS, 1, WIDTH), "h": (1, 1, HIDDEN)}
    outputs = {y: (STEPS, 1, 1, HIDDEN), last: (1, 1, HIDDEN)}
    return graph.model("gru_states", ports, outputs)


def gru_both_ways() -> onnx.ModelProto:
    """A GRU both ways from given states, of which only the last states go on."""
    graph = Graph(72)
    first = graph.normal(2, 1, HIDDEN, deviation=0.5)
    operands = (*_weights(graph, 3, 2), "", first)
    last = graph.split(
        *("GRU", "x", *operands), parts=2, hidden_size=HIDDEN,
        linear_before_reset=1, direction="bidirectional",
    )[1]  # fmt: skip
    y = graph.linear(last, HIDDEN, 8)
    return graph.model("gru_both_ways", {"x": (STEPS, 1, WIDTH)}, {y: (2, 1, 8)})


def lstm_states() -> onnx.ModelProto:
    """An LSTM both ways, as PyTorch exports it: states and cells in and out."""
    graph = Graph(77)
    operands = (*_weights(graph, 4, 2), "", "h", "c")
    results = graph.split(
        "LSTM", "x", *operands, parts=3, hidden_size=HIDDEN, direction="bidirectional"
    )
    ports = {"x": (STEPS, 1, WIDTH), "h": (2, 1, HIDDEN), "c": (2, 1, HIDDEN)}
    shapes = ((STEPS, 2, 1, HIDDEN), (2, 1, HIDDEN), (2, 1, HIDDEN))
    return graph.model("lstm_states", ports, dict(zip(results, shapes, strict=True)))


def lstm_lengths() -> onnx.ModelProto:
    """An LSTM both ways on three sequences of different lengths, its last cells asked for."""
    graph = Graph(73)
    lengths = graph.constant(np.array([6, 4, 1], np.int32))
    operands = (*_weights(graph, 4, 2), lengths)
    y, last, cell = graph.split(
        "LSTM", "x", *operands, parts=3, hidden_size=HIDDEN, direction="bidirectional"
    )
    outputs = {y: (STEPS, 2, 3, HIDDEN), last: (2, 3, HIDDEN), cell: (2, 3, HIDDEN)}
    return graph.model("lstm_lengths", {"x": (STEPS, 3, WIDTH)}, outputs)


def rnn() -> onnx.ModelProto:
    """A plain recurrent layer, backwards."""
    graph = Graph(74)
    operands = _weights(graph, 1, 1)
    y = graph.add("RNN", "x", *operands, hidden_size=HIDDEN, direction="reverse")
    return graph.model("rnn", {"x": (STEPS, 1, WIDTH)}, {y: (STEPS, 1, 1, HIDDEN)})


def quantised_lstm() -> onnx.ModelProto:
    """`DynamicQuantizeLSTM`: int8 weights, activations quantised as they come.

    Weights are small, so that no kernel of onnxruntime saturates (`toolchain.whole_sums`).
    """
    graph, rng = Graph(75), np.random.default_rng(75)
    weights = [
        graph.constant(rng.integers(-60, 60, (1, inputs, 4 * HIDDEN)).astype(np.int8))
        for inputs in (WIDTH, HIDDEN)
    ]
    zeros = graph.constant(np.zeros((1, 1, HIDDEN)))
    scale, point = graph.constant([0.003]), graph.constant(np.zeros(1, np.int8))
    bias = graph.normal(1, 8 * HIDDEN, deviation=0.05)
    y = graph.add(
        *("DynamicQuantizeLSTM", "x", *weights, bias, "", zeros, zeros, ""),
        *(scale, point, scale, point),
        domain="com.microsoft",
        hidden_size=HIDDEN,
    )
    return graph.model("quantised_lstm", {"x": (STEPS, 1, WIDTH)}, {y: (STEPS, 1, 1, HIDDEN)})


def quantised_cells(layers, steps, inputs, dtype="int8", zero=0):
    """Recurrent layers in a row, every tensor between them and every weight quantised.

    Args:
        layers: (operator, units, attributes) each.
        steps: of the sequence.
        inputs: of a step.
        dtype: of activations.
        zero: their zero point.
    """
    rng = np.random.default_rng(0)
    nodes, constants, width = [], [], inputs
    point = np.array(zero, dtype)

    def constant(values, name):
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(operator, ins, out, **more):
        nodes.append(helper.make_node(operator, ins, [out], **more))
        return out

    def weight(name, rows, columns):
        """Integers with a scale for each row."""
        codes = rng.integers(-127, 127, (1, rows, columns), endpoint=True).astype(np.int8)
        scales = rng.uniform(0.3, 1, rows) * columns**-0.5 / 127
        parts = [
            constant(codes, f"{name}_codes"),
            constant(scales.astype(np.float32).reshape(1, rows)[0], f"{name}_scales"),
            constant(np.zeros(rows, np.int8), f"{name}_points"),
        ]
        return node("DequantizeLinear", parts, name, axis=1)

    constant(np.array([1], np.int64), "axis")
    constant(np.float32(1 / 64), "step")
    constants.append(numpy_helper.from_array(point, "point"))
    last = "x"
    for at, (operator, units, attributes) in enumerate(layers):
        rows = GATES[operator] * units
        real = node("DequantizeLinear", [last, "step", "point"], f"real{at}")
        names = [weight(f"w{at}", rows, width), weight(f"r{at}", rows, units)]
        bias = rng.uniform(-0.3, 0.3, (1, 2 * rows)).astype(np.float32)
        options = {"hidden_size": units, **attributes}
        node(operator, [real, *names, constant(bias, f"b{at}")], f"all{at}", **options)
        node("Squeeze", [f"all{at}", "axis"], f"y{at}")
        last, width = node("QuantizeLinear", [f"y{at}", "step", "point"], f"q{at}"), units
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = helper.make_tensor_value_info("x", kind, (steps, 1, inputs))
    y = helper.make_tensor_value_info(last, kind, (steps, 1, width))
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def keyword_gru(
    steps: int = 49, features: int = 40, hidden: int = 64, words: int = 12, kind: str = "GRU"
) -> onnx.ModelProto:
    """A keyword spotter: a recurrent layer on frames of features, a dense layer, softmax; uint8.

    The sizes are those of small spotters on Google's speech commands (10 MFCCs to 40 features a
    frame, 49 frames, 12 words); weights are random. The state after the last frame is classified.

    Args:
        steps: frames.
        features: of a frame.
        hidden: units.
        words: classes.
        kind: "GRU" or "LSTM".
    """
    rng, nodes, constants = np.random.default_rng(76), [], []

    def constant(values, name):
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(operator, ins, out, **more):
        nodes.append(helper.make_node(operator, ins, [out], **more))
        return out

    def through(real, name, scale, zero):
        pair = [constant(np.float32(scale), f"{name}_s"), constant(np.uint8(zero), f"{name}_z")]
        code = node("QuantizeLinear", [real, *pair], f"{name}_q")
        return node("DequantizeLinear", [code, *pair], f"{name}_d")

    def weight(name, shape, axis):
        codes = rng.integers(-127, 127, shape, endpoint=True).astype(np.int8)
        scales = (rng.uniform(0.5, 1, shape[axis]) * shape[-1] ** -0.5 / 60).astype(np.float32)
        names = [constant(codes, f"{name}_c"), constant(scales, f"{name}_s")]
        zeros = constant(np.zeros(shape[axis], np.int8), f"{name}_z")
        return node("DequantizeLinear", [*names, zeros], name, axis=axis)

    rows = GATES[kind] * hidden
    names = [weight("w", (1, rows, features), 1), weight("r", (1, rows, hidden), 1)]
    bias = constant(rng.uniform(-0.3, 0.3, (1, 2 * rows)).astype(np.float32), "b")
    reset = {"linear_before_reset": 1} if kind == "GRU" else {}
    node(kind, [through("x", "frames", 1 / 32, 128), *names, bias], "all",
         hidden_size=hidden, **reset)  # fmt: skip
    ends = [constant(np.array(v, np.int64), n) for v, n in (([steps - 1], "a"), ([steps], "e"))]
    axes = constant(np.array([0], np.int64), "axis")
    node("Slice", ["all", *ends, axes], "one")
    shape = constant(np.array([1, hidden], np.int64), "shape")
    state = through(node("Reshape", ["one", shape], "last"), "state", 1 / 127, 128)
    dense = node("MatMul", [state, weight("d", (hidden, words), 1)], "logits")
    scores = node("Softmax", [through(dense, "scores", 1 / 16, 128)], "soft", axis=-1)
    through(scores, "y", 1 / 256, 0)
    ports = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", (steps, 1, features)), ("y_d", (1, words)))
    ]
    graph = helper.make_graph(nodes, f"keyword_{kind.lower()}", ports[:1], ports[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _weights(graph: Graph, gates: int, directions: int) -> tuple[str, str, str]:
    return (
        graph.normal(directions, gates * HIDDEN, WIDTH, deviation=WIDTH**-0.5),
        graph.normal(directions, gates * HIDDEN, HIDDEN, deviation=HIDDEN**-0.5),
        graph.normal(directions, 2 * gates * HIDDEN, deviation=0.05),
    )
