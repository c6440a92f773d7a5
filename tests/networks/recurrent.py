"""Small recurrent networks in the forms of files: states, directions, lengths, integers."""

from __future__ import annotations

import numpy as np
import onnx

from tests.networks.graph import Graph

STEPS, WIDTH, HIDDEN = 6, 24, 32


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
    """`DynamicQuantizeLSTM`: int8 weights, activations quantised as they come."""
    graph, rng = Graph(75), np.random.default_rng(75)
    weights = [
        graph.constant(rng.integers(-100, 100, (1, inputs, 4 * HIDDEN)).astype(np.int8))
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


def _weights(graph: Graph, gates: int, directions: int) -> tuple[str, str, str]:
    return (
        graph.normal(directions, gates * HIDDEN, WIDTH, deviation=WIDTH**-0.5),
        graph.normal(directions, gates * HIDDEN, HIDDEN, deviation=HIDDEN**-0.5),
        graph.normal(directions, 2 * gates * HIDDEN, deviation=0.05),
    )
