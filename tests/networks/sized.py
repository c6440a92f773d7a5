"""Networks whose batch, sequence or image is open, as exporters write them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from tests.networks.graph import Graph


@dataclass(frozen=True)
class Sizes:
    """Of an encoder: width, heads, width between two dense layers, words, positions, layers."""

    width: int = 32
    heads: int = 4
    inner: int = 48
    words: int = 50
    places: int = 48
    layers: int = 1


SMALL = Sizes()
MINILM6 = Sizes(384, 12, 1536, 1000, 128, 6)
WIDTH, WORDS, PLACES = SMALL.width, SMALL.words, SMALL.places


def mlp() -> onnx.ModelProto:
    """(batch, 20): dense, GELU, layer norm, dense, softmax."""
    graph = Graph(71)
    x = gelu(graph, graph.linear("x", 20, WIDTH))
    y = graph.add("Softmax", graph.linear(norm(graph, x), WIDTH, 7), axis=-1)
    return graph.model("mlp", {"x": ("batch", 20)}, {y: ("batch", 7)})


def elementwise() -> onnx.ModelProto:
    """(batch, 3, 5) and (batch, 1, 5): operators without weights, a mean, a concatenation."""
    graph = Graph(72)
    both = graph.add("Add", graph.add("Mul", "a", "b"), graph.add("Tanh", "a"))
    least = graph.add("ReduceMax", both, axes=[2], keepdims=1)
    y = graph.add("Concat", graph.add("Sub", both, least), "b", axis=1)
    shapes = {"a": ("batch", 3, 5), "b": ("batch", 1, 5)}
    return graph.model("elementwise", shapes, {y: ("batch", 4, 5)})


def cnn() -> onnx.ModelProto:
    """(n, 3, 11, 10): convolutions, one of them depthwise, pools, a dense layer."""
    graph = Graph(77)
    taps = graph.normal(12, 3, 3, 3, deviation=0.3), graph.normal(12, deviation=0.1)
    x = graph.add("Relu", graph.add("Conv", "x", *taps, strides=[2, 2], pads=[1, 1, 1, 1]))
    deep = graph.normal(12, 1, 3, 3, deviation=0.3)
    x = graph.add("Add", x, graph.add("Conv", x, deep, pads=[1, 1, 1, 1], group=12))
    x = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    flat = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    y = graph.linear(flat, 12, 5)
    return graph.model("cnn", {"x": ("n", 3, 11, 10)}, {y: ("n", 5)})


def recurrent() -> onnx.ModelProto:
    """(n, 1, 4): a GRU over an open number of steps."""
    graph = Graph(78)
    weights = [graph.normal(1, 24, size, deviation=0.3) for size in (4, 8)]
    ys, _ = graph.split("GRU", "x", *weights, parts=2, hidden_size=8, linear_before_reset=1)
    return graph.model("recurrent", {"x": ("n", 1, 4)}, {ys: ("n", 1, 1, 8)})


def mean() -> onnx.ModelProto:
    """(1, n, 6): what stands for a sequence: its mean, its largest, its last element."""
    graph = Graph(79)
    parts = [graph.add(kind, "x", axes=[1], keepdims=0) for kind in ("ReduceMean", "ReduceMax")]
    last = graph.add("Slice", "x", graph.constant([-1]), graph.constant([99]), graph.constant([1]))
    parts.append(graph.add("Reshape", last, graph.constant([1, 6])))
    y = graph.add("Concat", *parts, axis=1)
    return graph.model("mean", {"x": (1, "n", 6)}, {y: (1, 18)})


def softmax() -> onnx.ModelProto:
    """(2, n): over the open axis."""
    graph = Graph(73)
    y = graph.add("Softmax", "x", axis=-1)
    return graph.model("softmax", {"x": (2, "n")}, {y: (2, "n")})


def encoder(sizes: Sizes = SMALL) -> onnx.ModelProto:
    """Words and a mask of (batch, length): embeddings with positions, post-norm blocks."""
    graph = Graph(74)
    width = sizes.width
    words = graph.add("Gather", graph.normal(sizes.words, width, deviation=0.5), "ids")
    length = _size(graph, "ids", 1)
    table = graph.normal(1, sizes.places, width, deviation=0.5)
    zero, one = graph.constant([0]), graph.constant([1])
    places = graph.add("Slice", table, zero, length, one)
    x = norm(graph, graph.add("Add", words, places), width)
    wide = graph.add("Unsqueeze", "attention_mask", graph.constant([1, 2]))
    kept = graph.add("Sub", graph.constant(1.0), graph.add("Cast", wide, to=1))
    mask = graph.add("Mul", kept, graph.constant(-1e4))
    for _ in range(sizes.layers):
        x = norm(graph, graph.add("Add", x, attention(graph, x, mask, sizes)), width)
        inner = gelu(graph, graph.linear(x, width, sizes.inner))
        x = norm(graph, graph.add("Add", x, graph.linear(inner, sizes.inner, width)), width)
    ports = {"ids": ("batch", "length"), "attention_mask": ("batch", "length")}
    return graph.model("encoder", ports, {x: ("batch", "length", width)}, integers=tuple(ports))


def causal() -> onnx.ModelProto:
    """(1, n, 32): attention to words before, the mask a corner of a constant."""
    graph = Graph(75)
    length = _size(graph, "x", 1)
    zeros, both = graph.constant([0, 0]), graph.add("Concat", length, length, axis=0)
    whole = np.triu(np.full((PLACES, PLACES), -1e4), 1)
    corner = graph.add("Slice", graph.constant(whole), zeros, both, graph.constant([0, 1]))
    x = graph.add("Add", "x", attention(graph, norm(graph, "x"), corner))
    return graph.model("causal", {"x": (1, "n", WIDTH)}, {x: (1, "n", WIDTH)})


def attention(graph: Graph, x: str, mask: str, sizes: Sizes = SMALL) -> str:
    """Heads by Reshape to sizes that shape arithmetic makes; `mask` is added to the scores."""
    batch, length = _size(graph, x, 0), _size(graph, x, 1)
    width, depth = sizes.width, sizes.width // sizes.heads
    apart = graph.add("Concat", batch, length, graph.constant([sizes.heads, depth]), axis=0)
    parts = [graph.add("Reshape", graph.linear(x, width, width), apart) for _ in range(3)]
    turns = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    query, key, value = (
        graph.add("Transpose", part, perm=perm) for part, perm in zip(parts, turns, strict=True)
    )
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.constant(depth**0.5))
    weights = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
    back = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    flat = graph.add("Concat", batch, length, graph.constant([width]), axis=0)
    return graph.linear(graph.add("Reshape", back, flat), width, width)


def norm(graph: Graph, x: str, width: int = WIDTH) -> str:
    """A layer norm."""
    scale, shift = graph.normal(width, deviation=0.2), graph.normal(width, deviation=0.2)
    return graph.add("LayerNormalization", x, scale, shift, axis=-1)


def gelu(graph: Graph, x: str) -> str:
    """By Erf."""
    inner = graph.add("Erf", graph.add("Div", x, graph.constant(2.0**0.5)))
    twice = graph.add("Mul", x, graph.add("Add", inner, graph.constant(1.0)))
    return graph.add("Mul", twice, graph.constant(0.5))


def _size(graph: Graph, x: str, axis: int) -> str:
    """The size of an axis, as a vector of one number."""
    return graph.add("Gather", graph.add("Shape", x), graph.constant([axis]))
