"""Stacks of transformer layers in float32 with published sizes and random weights.

Post-norm encoders (BERT and its descendants), a pre-norm causal block (GPT-2), and DeBERTa's
attention with relative positions. Exporters' spelling: heads by Reshape and Transpose, GELU by Erf.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx

from tests.networks.graph import Graph
from tests.networks.quantised import unsigned


@dataclass(frozen=True)
class Sizes:
    """A stack of layers.

    Attributes:
        steps: positions of the sequence.
        width: of an activation.
        heads: of attention.
        inner: width between the two dense layers.
        layers: how many.
        shared: whether all layers have the same weights.
        words: size of the vocabulary, where word numbers go in; else activations do.
    """

    steps: int
    width: int
    heads: int
    inner: int
    layers: int
    shared: bool = False
    words: int = 0


BERT_BASE = Sizes(128, 768, 12, 3072, 12)
#: BERT's relatives, by name.
ENCODERS = {
    "bert_base_stack": BERT_BASE,
    "bert_tiny": Sizes(128, 128, 2, 512, 2, words=30522),
    "distilbert_stack": replace(BERT_BASE, layers=6),
    "albert_stack": replace(BERT_BASE, shared=True),
    "minilm6": Sizes(128, 384, 12, 1536, 6, words=30522),
}


@dataclass(frozen=True)
class _Weights:
    """Names of one layer's weights: (weight, bias) of four products of attention and two dense
    layers, (scale, shift) of two norms."""

    products: tuple[tuple[str, str], ...]
    norms: tuple[tuple[str, str], ...]


def _weights(graph: Graph, sizes: Sizes) -> _Weights:
    shapes = [(sizes.width, sizes.width)] * 4
    shapes += [(sizes.width, sizes.inner), (sizes.inner, sizes.width)]
    products = tuple(
        (graph.normal(a, b, deviation=a**-0.5), graph.normal(b, deviation=0.02)) for a, b in shapes
    )
    ones = [1.0] * sizes.width
    norms = tuple((graph.constant(ones), graph.normal(sizes.width, deviation=0.02)) for _ in "ab")
    return _Weights(products, norms)


def encoder(name: str, sizes: Sizes, masked: np.ndarray | None = None) -> onnx.ModelProto:
    """A post-norm encoder; with words, their numbers and a mask of those that count go in.

    Where `masked`, that constant is added to all scores.
    """
    graph = Graph(41)
    x, mask, ports, integers = "x", "", {"x": (1, sizes.steps, sizes.width)}, ()
    if sizes.words:
        integers = ("ids", "attention_mask")
        ports = {port: (1, sizes.steps) for port in integers}
        x, mask = _embedded(graph, sizes), _mask(graph)
    elif masked is not None:
        mask = graph.constant(masked)
    own = [_weights(graph, sizes) for _ in range(1 if sizes.shared else sizes.layers)]
    for layer in range(sizes.layers):
        weights = own[layer % len(own)]
        attended = _attention(graph, x, weights, sizes, mask)
        x = _norm(graph, graph.add("Add", x, attended), weights.norms[0])
        inner = _gelu(graph, _linear(graph, x, weights.products[4]))
        total = graph.add("Add", x, _linear(graph, inner, weights.products[5]))
        x = _norm(graph, total, weights.norms[1])
    return graph.model(name, ports, {x: (1, sizes.steps, sizes.width)}, integers=integers)


def quantised_encoder(
    sizes: Sizes = Sizes(32, 64, 2, 128, 1), mask: str = "none"
) -> onnx.ModelProto:
    """A small post-norm encoder, uint8 between all operators, as onnxruntime's quantiser has it.

    Args:
        sizes: of the layers.
        mask: "none"; "causal" hides later positions, "padding" the last quarter: 8 is taken from
            their scores, which leaves scores some steps of 8 bits.
    """
    more = ("LayerNormalization", "Erf", "Div", "Mul")
    hidden = np.triu(np.full((1, 1, sizes.steps, sizes.steps), -8.0, np.float32), 1)
    if mask == "padding":
        hidden = np.where(np.arange(sizes.steps) < sizes.steps * 3 // 4, 0.0, -8.0)
        hidden = hidden.astype(np.float32).reshape(1, 1, 1, -1)
    masked = None if mask == "none" else hidden
    return unsigned(encoder("quantised_encoder", sizes, masked), more=more)


def gpt_block(sizes: Sizes = Sizes(64, 768, 12, 3072, 1)) -> onnx.ModelProto:
    """Pre-norm layers of GPT-2 with a causal mask and GELU by tanh."""
    graph, x = Graph(42), "x"
    hidden = np.triu(np.full((sizes.steps, sizes.steps), -1e9, np.float32), 1)
    mask = graph.constant(hidden[None, None])
    for _ in range(sizes.layers):
        weights = _weights(graph, sizes)
        normed = _norm(graph, x, weights.norms[0])
        x = graph.add("Add", x, _attention(graph, normed, weights, sizes, mask))
        inner = _linear(graph, _norm(graph, x, weights.norms[1]), weights.products[4])
        x = graph.add("Add", x, _linear(graph, _gelu_tanh(graph, inner), weights.products[5]))
    shape = (1, sizes.steps, sizes.width)
    return graph.model("gpt_block", {"x": shape}, {x: shape})


def vit_block(sizes: Sizes = Sizes(197, 192, 3, 768, 1)) -> onnx.ModelProto:
    """Pre-norm layers of ViT, of the sizes of ViT-tiny, with GELU by erf."""
    graph, x = Graph(44), "x"
    for _ in range(sizes.layers):
        weights = _weights(graph, sizes)
        normed = _norm(graph, x, weights.norms[0])
        x = graph.add("Add", x, _attention(graph, normed, weights, sizes, ""))
        inner = _linear(graph, _norm(graph, x, weights.norms[1]), weights.products[4])
        x = graph.add("Add", x, _linear(graph, _gelu(graph, inner), weights.products[5]))
    shape = (1, sizes.steps, sizes.width)
    return graph.model("vit_block", {"x": shape}, {x: shape})


def deberta(sizes: Sizes = Sizes(128, 768, 12, 3072, 2), reach: int = 64) -> onnx.ModelProto:
    """Encoders whose scores also look from contents to relative positions, and back."""
    graph, x = Graph(43), "x"
    table = graph.normal(2 * reach, sizes.width, deviation=1.0)
    apart = np.subtract.outer(np.arange(sizes.steps), np.arange(sizes.steps))
    place = np.clip(apart + reach, 0, 2 * reach - 1)
    places = np.broadcast_to(place, (1, sizes.heads, sizes.steps, sizes.steps))
    index = graph.constant(np.ascontiguousarray(places))
    for _ in range(sizes.layers):
        weights = _weights(graph, sizes)
        attended = _relative_attention(graph, x, weights, sizes, (table, 2 * reach, index))
        x = _norm(graph, graph.add("Add", x, attended), weights.norms[0])
        inner = _gelu(graph, _linear(graph, x, weights.products[4]))
        total = graph.add("Add", x, _linear(graph, inner, weights.products[5]))
        x = _norm(graph, total, weights.norms[1])
    shape = (1, sizes.steps, sizes.width)
    return graph.model("deberta_layers", {"x": shape}, {x: shape})


def _embedded(graph: Graph, sizes: Sizes) -> str:
    words = graph.add("Gather", graph.normal(sizes.words, sizes.width, deviation=0.5), "ids")
    places = graph.normal(1, sizes.steps, sizes.width, deviation=0.5)
    norm = graph.constant([1.0] * sizes.width), graph.constant([0.0] * sizes.width)
    return _norm(graph, graph.add("Add", words, places), norm)


def _mask(graph: Graph) -> str:
    """(1, 1, 1, steps) of 0 for words that count and a large negative number for others."""
    wide = graph.add("Unsqueeze", "attention_mask", graph.constant([1, 2]))
    kept = graph.add("Sub", graph.constant(1.0), graph.add("Cast", wide, to=1))
    return graph.add("Mul", kept, graph.constant(-1e9))


def _linear(graph: Graph, x: str, weights: tuple[str, str]) -> str:
    return graph.add("Add", graph.add("MatMul", x, weights[0]), weights[1])


def _norm(graph: Graph, x: str, weights: tuple[str, str]) -> str:
    return graph.add("LayerNormalization", x, *weights, axis=-1, epsilon=1e-5)


def _gelu(graph: Graph, x: str) -> str:
    inner = graph.add("Erf", graph.add("Div", x, graph.constant(2.0**0.5)))
    twice = graph.add("Mul", x, graph.add("Add", inner, graph.constant(1.0)))
    return graph.add("Mul", twice, graph.constant(0.5))


def _gelu_tanh(graph: Graph, x: str) -> str:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as GPT-2 is exported."""
    cube = graph.add("Mul", graph.add("Pow", x, graph.constant(3.0)), graph.constant(0.044715))
    inner = graph.add("Mul", graph.add("Add", x, cube), graph.constant((2 / np.pi) ** 0.5))
    total = graph.add("Add", graph.add("Tanh", inner), graph.constant(1.0))
    return graph.add("Mul", graph.add("Mul", x, graph.constant(0.5)), total)


def _heads(graph: Graph, x: str, sizes: Sizes, steps: int, perm: list[int]) -> str:
    depth = sizes.width // sizes.heads
    apart = graph.add("Reshape", x, graph.constant([1, steps, sizes.heads, depth]))
    return graph.add("Transpose", apart, perm=perm)


def _attention(graph: Graph, x: str, weights: _Weights, sizes: Sizes, mask: str) -> str:
    """Heads side by side; `mask` is added to scores where there is one."""
    steps, (query, key, value, out) = sizes.steps, weights.products[:4]
    queries = _heads(graph, _linear(graph, x, query), sizes, steps, [0, 2, 1, 3])
    keys = _heads(graph, _linear(graph, x, key), sizes, steps, [0, 2, 3, 1])
    values = _heads(graph, _linear(graph, x, value), sizes, steps, [0, 2, 1, 3])
    root = graph.constant((sizes.width // sizes.heads) ** 0.5)
    scores = graph.add("Div", graph.add("MatMul", queries, keys), root)
    scores = graph.add("Add", scores, mask) if mask else scores
    return _joined(graph, scores, values, sizes, out)


def _joined(graph: Graph, scores: str, values: str, sizes: Sizes, out: tuple[str, str]) -> str:
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), values)
    back = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    flat = graph.add("Reshape", back, graph.constant([1, sizes.steps, sizes.width]))
    return _linear(graph, flat, out)


def _relative_attention(
    graph: Graph, x: str, weights: _Weights, sizes: Sizes, relative: tuple[str, int, str]
) -> str:
    """DeBERTa's: contents to contents, contents to positions, positions to contents."""
    table, rows, index = relative
    steps, (query, key, value, out) = sizes.steps, weights.products[:4]
    queries = _heads(graph, _linear(graph, x, query), sizes, steps, [0, 2, 1, 3])
    keys = _heads(graph, _linear(graph, x, key), sizes, steps, [0, 2, 3, 1])
    values = _heads(graph, _linear(graph, x, value), sizes, steps, [0, 2, 1, 3])
    far_keys = _heads(graph, _linear(graph, table, key), sizes, rows, [0, 2, 3, 1])
    far_queries = _heads(graph, _linear(graph, table, query), sizes, rows, [0, 2, 1, 3])
    seen = graph.add("MatMul", queries, far_keys)
    forth = graph.add("GatherElements", seen, index, axis=-1)
    looked = graph.add("Transpose", graph.add("MatMul", far_queries, keys), perm=[0, 1, 3, 2])
    back = graph.add("GatherElements", looked, index, axis=-1)
    turned = graph.add("Transpose", back, perm=[0, 1, 3, 2])
    total = graph.add("Add", graph.add("Add", graph.add("MatMul", queries, keys), forth), turned)
    root = graph.constant((3 * (sizes.width // sizes.heads)) ** 0.5)
    return _joined(graph, graph.add("Div", total, root), values, sizes, out)
