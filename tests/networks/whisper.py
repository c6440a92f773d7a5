"""Whisper's encoder with published sizes and seeded weights, as quantisers write it or in float32.

Two convolutions over the spectrogram's frames, the second one with stride 2, each with GELU;
positions; pre-norm layers; a norm. All activations are int8 without zero points, scales by output
column. Queries are a root of a head's elements smaller, as the model's own code has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, sqrt

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.networks.blocks import INNER, NORMAL, TOTAL, Block, Writer

#: Steps of queries, keys and values, of scores, and of what attention gives.
HEADS, SCORES, GIVEN = 2.0**-5, 2.0**-4, 2.0**-8


@dataclass(frozen=True)
class Sizes:
    """An encoder.

    Attributes:
        bands: of the spectrogram.
        frames: after the second convolution, half of the spectrogram's.
        width: of an activation.
        heads: of attention.
        inner: width between two dense layers.
        layers: how many.
        convolutions: whether they are there; else rows of the first layer go in.
    """

    bands: int = 80
    frames: int = 1500
    width: int = 512
    heads: int = 8
    inner: int = 2048
    layers: int = 6
    convolutions: bool = True


WHISPER_BASE = Sizes()


class _Encoder(Writer):
    """Its nodes."""

    def __init__(self, sizes: Sizes, *, real: bool) -> None:
        block = Block(sizes.frames, sizes.width, sizes.inner, odd=False, real=real)
        super().__init__(block)
        self.sizes = sizes

    def convolved(self, x: str, deep: int, stride: int, given: float) -> str:
        """Three taps, as images of one row, with GELU."""
        wide, fan = self.sizes.width, 3 * deep
        step = 2.0 ** round(log2(1 / (30 * sqrt(fan))))
        drawn = self.rng.normal(0, 1 / sqrt(fan), (wide, deep, 1, 3)) / step
        stored = self.const(np.clip(np.rint(drawn), -127, 127).astype(np.int8))
        zero = self.const(np.int8(0))
        real = self.node("DequantizeLinear", [stored, self.const(np.float32(step)), zero])
        scale = np.float32(given) * np.float32(step)
        sums = np.rint(self.rng.normal(0, 0.3, wide) / scale).astype(np.int32)
        none = self.const(np.int32(0))
        bias = self.node("DequantizeLinear", [self.const(sums), self.const(scale), none])
        y = self.node("Conv", [x, real, bias], pads=[0, 1, 0, 1], strides=[1, stride])
        return self.gelu(self.through(y, INNER))

    def headed(self, x: str, order: list[int]) -> str:
        """Columns split into heads, dimensions [heads, frames, elements] in this order."""
        s = self.sizes
        shape = self.const(np.array([1, s.frames, s.heads, s.width // s.heads], np.int64))
        return self.node("Transpose", [self.node("Reshape", [x, shape])], perm=order)

    def projected(self, x: str, step: float) -> str:
        """A dense layer over all columns, in steps of its own."""
        wide = self.sizes.width
        return self.dense(x, wide, wide, NORMAL, step)

    def attended(self, x: str) -> str:
        """Attention of all heads, joined."""
        s = self.sizes
        q = self.headed(self.projected(x, HEADS), [0, 2, 1, 3])
        k = self.headed(self.projected(x, HEADS), [0, 2, 3, 1])
        v = self.headed(self.projected(x, HEADS), [0, 2, 1, 3])
        root = np.float32(sqrt(s.width // s.heads))
        scores = self.through(self.node("MatMul", [q, k]), float(SCORES * root))
        scores = self.through(self.node("Div", [scores, self.const(root)]), SCORES)
        weights = self.node("Softmax", [scores], axis=-1)
        # A weight of some 40 times the mean is not clipped; finer steps have no integers here.
        step = max(2.0**-13, min(1 / 256, 2.0 ** -round(log2(s.frames) + 3)))
        weights = self.within(weights, step)
        y = self.through(self.node("MatMul", [weights, v]), GIVEN)
        joined = self.node("Transpose", [y], perm=[0, 2, 1, 3])
        return self.node("Reshape", [joined, self.const(np.array([s.frames, s.width], np.int64))])

    def within(self, real: str, step: float) -> str:
        """Weights of attention, from 0 on, in all 256 integers."""
        if self.block.real:
            return real
        pair = [self.const(np.float32(step)), self.const(np.int8(-128))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [real, *pair]), *pair])

    def layer(self, x: str) -> str:
        """A pre-norm layer."""
        s = self.sizes
        joined = self.attended(self.normal(x))
        x = self.through(self.node("Add", [x, self.dense(joined, s.width, s.width, GIVEN)]), TOTAL)
        inner = self.gelu(self.dense(self.normal(x), s.width, s.inner, NORMAL))
        back = self.dense(inner, s.inner, s.width, INNER)
        return self.through(self.node("Add", [x, back]), TOTAL)


def whisper_encoder(sizes: Sizes = WHISPER_BASE, *, real: bool = False) -> onnx.ModelProto:
    """The encoder: int8 in and out; float32 out where nothing between is rounded (`real`)."""
    w = _Encoder(sizes, real=real)
    shape = [sizes.frames, sizes.width]
    if sizes.convolutions:
        shape = [1, sizes.bands, 1, 2 * sizes.frames]
    x = w.node("DequantizeLinear", ["x", *w.pair(NORMAL)])
    if sizes.convolutions:
        x = w.convolved(w.convolved(x, sizes.bands, 1, NORMAL), sizes.width, 2, INNER)
        rows = w.const(np.array([sizes.width, sizes.frames], np.int64))
        x = w.node("Transpose", [w.node("Reshape", [x, rows])], perm=[1, 0])
        places = w.const(w.rng.normal(0, 0.5, (sizes.frames, sizes.width)).astype(np.float32))
        x = w.through(w.node("Add", [x, w.through(places, INNER)]), TOTAL)
    for _ in range(sizes.layers):
        x = w.layer(x)
    y = w.normal(x)
    stored = y if real else w.nodes.pop().input[0]
    kind = TensorProto.FLOAT if real else TensorProto.INT8
    graph = helper.make_graph(
        w.nodes,
        "whisper",
        [helper.make_tensor_value_info("x", TensorProto.INT8, shape)],
        [helper.make_tensor_value_info(stored, kind, [sizes.frames, sizes.width])],
        w.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
