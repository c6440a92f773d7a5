"""Float32 networks on sequences: transformer encoders, an MLP mixer, recurrent speech filters."""

from __future__ import annotations

import onnx

from tests.networks.graph import Graph

#: Width, heads and inner width of BERT base's encoder layers.
WIDTH, HEADS, INNER = 768, 12, 3072
#: Spectrum, hidden width and dense width of NSNet2.
BINS, HIDDEN, DENSE = 161, 400, 600


def attention(steps: int) -> onnx.ModelProto:
    """Multi-head self-attention on (1, steps, WIDTH)."""
    graph = Graph(steps)
    return _on_sequence(graph, "attention", steps, _attention(graph, "x", steps))


def encoder(steps: int) -> onnx.ModelProto:
    """An encoder layer with post-norm: attention, then two dense layers with GELU."""
    graph = Graph(steps + 1)
    attended = _norm(graph, graph.add("Add", "x", _attention(graph, "x", steps)), WIDTH)
    inner = _gelu(graph, graph.linear(attended, WIDTH, INNER))
    total = graph.add("Add", attended, graph.linear(inner, INNER, WIDTH))
    return _on_sequence(graph, "encoder", steps, _norm(graph, total, WIDTH))


def mixer(patches: int = 196, width: int = 512, across: int = 256, within: int = 2048):
    """One block of MLP-Mixer S/16: a perceptron across patches, one within each."""
    graph = Graph(3)
    turned = graph.add("Transpose", _norm(graph, "x", width), perm=[0, 2, 1])
    mixed = graph.linear(_gelu(graph, graph.linear(turned, patches, across)), across, patches)
    tokens = graph.add("Add", "x", graph.add("Transpose", mixed, perm=[0, 2, 1]))
    inner = _gelu(graph, graph.linear(_norm(graph, tokens, width), width, within))
    y = graph.add("Add", tokens, graph.linear(inner, within, width))
    return graph.model("mixer", {"x": (1, patches, width)}, {y: (1, patches, width)})


def gru(steps: int = 100, width: int = HIDDEN) -> onnx.ModelProto:
    """A GRU of the same width in and out on (steps, 1, width)."""
    graph = Graph(4)
    y = _gru(graph, "x", width, width)
    return graph.model("gru", {"x": (steps, 1, width)}, {y: (steps, 1, width)})


def nsnet2(steps: int = 100) -> onnx.ModelProto:
    """NSNet2 on a whole recording: dense, two GRUs, three dense layers."""
    graph = Graph(5)
    x = graph.add("Relu", graph.linear("x", BINS, HIDDEN))
    for _ in range(2):
        x = _gru(graph, x, HIDDEN, HIDDEN)
    y = _mask(graph, x)
    return graph.model("nsnet2", {"x": (steps, 1, BINS)}, {y: (steps, 1, BINS)})


def nsnet2_step() -> onnx.ModelProto:
    """NSNet2 on one frame; the states of its GRUs, spelled out, go in and out."""
    graph = Graph(6)
    x = graph.add("Relu", graph.linear("x", BINS, HIDDEN))
    first = _gru_step(graph, x, "h0", HIDDEN)
    second = _gru_step(graph, first, "h1", HIDDEN)
    y = _mask(graph, second)
    outputs = {y: (1, BINS)}
    outputs |= {graph.add("Identity", state): (1, HIDDEN) for state in (first, second)}
    inputs = {"x": (1, BINS), "h0": (1, HIDDEN), "h1": (1, HIDDEN)}
    return graph.model("nsnet2_step", inputs, outputs, opset=13)


def _on_sequence(graph: Graph, name: str, steps: int, y: str) -> onnx.ModelProto:
    shape = (1, steps, WIDTH)
    return graph.model(name, {"x": shape}, {y: shape})


def _attention(graph: Graph, x: str, steps: int) -> str:
    depth = WIDTH // HEADS
    apart = graph.constant([1, steps, HEADS, depth])
    turns = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
    query, key, value = (
        graph.add(
            "Transpose",
            graph.add("Reshape", graph.linear(x, WIDTH, WIDTH), apart),
            perm=order,
        )
        for order in turns.values()
    )
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.constant(depth**0.5))
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    back = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", back, graph.constant([1, steps, WIDTH]))
    return graph.linear(joined, WIDTH, WIDTH)


def _norm(graph: Graph, x: str, width: int) -> str:
    scale, shift = graph.constant([1.0] * width), graph.constant([0.0] * width)
    return graph.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)


def _gelu(graph: Graph, x: str) -> str:
    """GELU by the error function, as exporters spell it."""
    inner = graph.add("Erf", graph.add("Div", x, graph.constant(2.0**0.5)))
    twice = graph.add("Mul", x, graph.add("Add", inner, graph.constant(1.0)))
    return graph.add("Mul", twice, graph.constant(0.5))


def _gru(graph: Graph, x: str, inputs: int, hidden: int) -> str:
    weights = graph.normal(1, 3 * hidden, inputs, deviation=inputs**-0.5)
    recurrent = graph.normal(1, 3 * hidden, hidden, deviation=hidden**-0.5)
    bias = graph.normal(1, 6 * hidden, deviation=0.02)
    # Steps, directions, batch, width: one direction, which goes.
    y = graph.add("GRU", x, weights, recurrent, bias, hidden_size=hidden, linear_before_reset=1)
    return graph.add("Squeeze", y, graph.constant([1]))


def _gru_step(graph: Graph, x: str, state: str, hidden: int) -> str:
    """z * h + (1 - z) * tanh(n + r * m), as PyTorch's cells are exported."""
    new = graph.split("Split", graph.linear(x, hidden, 3 * hidden), parts=3, axis=-1)
    old = graph.split("Split", graph.linear(state, hidden, 3 * hidden), parts=3, axis=-1)
    update, reset = (
        graph.add("Sigmoid", graph.add("Add", a, b)) for a, b in zip(new[:2], old[:2], strict=True)
    )
    inner = graph.add("Add", new[2], graph.add("Mul", reset, old[2]))
    fresh = graph.add("Sub", graph.constant(1.0), update)
    changed = graph.add("Mul", fresh, graph.add("Tanh", inner))
    return graph.add("Add", changed, graph.add("Mul", update, state))


def _mask(graph: Graph, x: str) -> str:
    x = graph.add("Relu", graph.linear(x, HIDDEN, DENSE))
    x = graph.add("Relu", graph.linear(x, DENSE, DENSE))
    return graph.add("Sigmoid", graph.linear(x, DENSE, BINS))
