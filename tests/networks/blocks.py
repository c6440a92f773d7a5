"""Blocks of transformers and mixers as quantisers write them: norms, dense layers, GELU, sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.qdq import Nodes

#: Steps of the block's input, of sums, of what is normalised, of a dense layer's result.
STREAM, TOTAL, NORMAL, INNER = 2.0**-5, 2.0**-4, 2.0**-5, 2.0**-5

#: Steps of scores before they are scaled, of their softmax, and of what heads attend to.
SCORES, WEIGHTS, ATTENDED = 2.0**-2, 2.0**-7, 2.0**-7


@dataclass(frozen=True)
class Block:
    """Two dense layers around GELU, with a sum over them and a norm, int8 between all of them.

    Attributes:
        rows: of the input.
        width: of the input and the result.
        inner: columns between the dense layers.
        norm: "before" the first one (ViT, mixers), "after" the sum (BERT), or "" for none.
        odd: whether scales are no powers of two apart, by output column.
        point: zero point of all tensors.
        real: whether nothing between the layers is rounded, as in the model that is quantised.
        tokens: columns between two dense layers that mix rows first, as an MLP-Mixer does; 0 for
            none.
        heads: of self-attention that mixes rows first, as a transformer's encoder does; 0 for none.
    """

    rows: int
    width: int
    inner: int
    norm: str = "before"
    odd: bool = False
    point: int = 0
    real: bool = False
    tokens: int = 0
    heads: int = 0

    @property
    def step(self) -> float:
        """Of the result."""
        own = NORMAL if self.norm == "after" else TOTAL
        return own * (1.0625 if self.odd else 1.0)

    @property
    def macs(self) -> int:
        """Products of the dense layers, and of attention."""
        mixed = self.tokens + (2 * self.width + self.rows if self.heads else 0)
        return 2 * self.rows * self.width * (self.inner + mixed)


class Writer(Nodes):
    """A block's nodes."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block, self.rng = block, np.random.default_rng(0)

    def pair(self, step: float) -> list[str]:
        """Names of a scale and the zero point."""
        odd = 1.0625 if self.block.odd else 1.0
        return [self.const(np.float32(step * odd)), self.const(np.int8(self.block.point))]

    def through(self, real: str, step: float) -> str:
        """Rounded to 8 bits, and back."""
        if self.block.real:
            return real
        pair = self.pair(step)
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [real, *pair]), *pair])

    def dense(self, x: str, deep: int, wide: int, given: float, stored_in: float = INNER) -> str:
        """By weights that keep the spread of what is normalised, with a bias.

        Args:
            x: read, in steps of `given`.
            deep: columns of x.
            wide: columns of the result.
            given: step of x, as `pair` takes it.
            stored_in: step of the result.
        """
        step = 2.0 ** round(np.log2(1 / (30 * sqrt(deep))))
        steps = np.full(wide, step, np.float32)
        if self.block.odd:
            steps *= self.rng.uniform(0.8, 1.2, wide).astype(np.float32)
        weight = self.rng.normal(0, 1 / sqrt(deep), (deep, wide)) / steps
        stored = self.const(np.clip(np.rint(weight), -127, 127).astype(np.int8))
        zeros = self.const(np.zeros(wide, np.int8))
        real = self.node("DequantizeLinear", [stored, self.const(steps), zeros], axis=1)
        factors = np.float32(given * (1.0625 if self.block.odd else 1.0)) * steps
        sums = self.const(np.rint(self.rng.normal(0, 0.3, wide) / factors).astype(np.int32))
        none = self.const(np.zeros(wide, np.int32))
        bias = self.node("DequantizeLinear", [sums, self.const(factors), none], axis=0)
        product = self.node("MatMul", [x, real])
        return self.through(self.node("Add", [product, bias]), stored_in)

    def normal(self, x: str) -> str:
        """A layer norm over columns."""
        wide = self.block.width
        scale = self.const(self.rng.uniform(0.7, 1.3, wide).astype(np.float32))
        shift = self.const(self.rng.normal(0, 0.2, wide).astype(np.float32))
        real = self.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-5)
        return self.through(real, NORMAL)

    def gelu(self, x: str) -> str:
        """By the error function, as exporters write it."""
        inner = self.node("Erf", [self.node("Div", [x, self.const(np.float32(sqrt(2)))])])
        twice = self.node("Mul", [x, self.node("Add", [inner, self.const(np.float32(1))])])
        return self.through(self.node("Mul", [twice, self.const(np.float32(0.5))]), INNER)

    def turned(self, x: str, step: float) -> str:
        """Rows as columns."""
        return self.through(self.node("Transpose", [x], perm=[1, 0]), step)

    def mixed(self, x: str) -> str:
        """The sum of x and of two dense layers over the norm's columns."""
        rows, tokens = self.block.rows, self.block.tokens
        turned = self.turned(self.normal(x), NORMAL)
        inner = self.gelu(self.dense(turned, rows, tokens, NORMAL))
        back = self.turned(self.dense(inner, tokens, rows, INNER), INNER)
        return self.through(self.node("Add", [x, back]), TOTAL)

    def apart(self, x: str, order: list[int]) -> str:
        """Columns as heads, with the axes [1, rows, heads, size] in another order."""
        b = self.block
        shape = self.const(np.array([1, b.rows, b.heads, b.width // b.heads], np.int64))
        return self.node("Transpose", [self.node("Reshape", [x, shape])], perm=order)

    def attended(self, x: str, given: float) -> str:
        """The projection of what heads attend to; x is read in steps of `given`."""
        wide = self.block.width
        q, k, v = (self.dense(x, wide, wide, given) for _ in range(3))
        queries, values = (self.apart(each, [0, 2, 1, 3]) for each in (q, v))
        keys = self.through(self.apart(k, [0, 2, 3, 1]), INNER)
        root = np.float32(sqrt(wide // self.block.heads))
        scores = self.through(self.node("MatMul", [queries, keys]), SCORES)
        scaled = self.node("Div", [scores, self.const(root)])
        scaled = self.through(scaled, SCORES / root) if not self.block.real else scaled
        weights = self.through(self.node("Softmax", [scaled], axis=-1), WEIGHTS)
        y = self.through(self.node("MatMul", [weights, values]), ATTENDED)
        shape = self.const(np.array([self.block.rows, wide], np.int64))
        back = self.node("Transpose", [y], perm=[0, 2, 1, 3])
        return self.dense(self.node("Reshape", [back, shape]), wide, wide, ATTENDED)


def block_network(block: Block) -> onnx.ModelProto:
    """A block of int8 rows into int8 rows; into float32 ones where nothing is rounded."""
    w = Writer(block)
    x = w.node("DequantizeLinear", ["x", *w.pair(STREAM)])
    x = w.mixed(x) if block.tokens else x
    if block.heads:
        before = w.normal(x) if block.norm == "before" else x
        x = w.through(w.node("Add", [x, w.attended(before, NORMAL)]), TOTAL)
        x = w.normal(x) if block.norm == "after" else x
    normal = w.normal(x) if block.norm == "before" else x
    inner = w.gelu(w.dense(normal, block.width, block.inner, NORMAL))
    total = w.through(w.node("Add", [x, w.dense(inner, block.inner, block.width, INNER)]), TOTAL)
    y = w.normal(total) if block.norm == "after" else total
    # The last rounding is the network's output.
    stored = y if block.real else w.nodes.pop().input[0]
    kind = TensorProto.FLOAT if block.real else TensorProto.INT8
    shape = [block.rows, block.width]
    graph = helper.make_graph(
        w.nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.INT8, shape)],
        [helper.make_tensor_value_info(stored, kind, shape)],
        w.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
