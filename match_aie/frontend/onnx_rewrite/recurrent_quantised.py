"""ONNX Runtime's LSTM with integer weights, whose activations are quantised as they come.

Its meaning is that of the operator's kernel in ONNX Runtime: all steps of the input are quantised
with one scale, the state of every step with a scale of its own, both as by DynamicQuantizeLinear.
It becomes an LSTM of floats that are what those integers mean; sums of products are then rounded,
and are exact there. Weights lie as [D, I, 4 H] and [D, H, 4 H], scales and zero points as [D] or
[D, 4 H].
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.codes import coded
from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.recurrent import DIRECTIONS, INPUT_CODES, STATE_CODES, problem

#: Positions of W, R and of their scale and zero point.
_STORED = ((1, 8, 9), (2, 10, 11))


def dynamic_lstm(node: Node, b: Builder) -> tuple[str, ...]:
    """Y, Y_h, Y_c as far as they are asked for."""
    why = problem(node, b.graph, ends=False)
    if why is not None:
        raise Refusal(why)
    if b.graph.shape(node.input(0))[1] != 1:
        raise Refusal("several rows at a time: how they share a scale depends on threads")
    codes = {STATE_CODES: "uint8"}
    x = node.input(0)
    if node.input(4):
        # Apart from the layer, which may get one more column where sequences end early.
        x = coded(b, _own_steps(node, b), "uint8")
    else:
        codes[INPUT_CODES] = "uint8"
    directions = len(DIRECTIONS[node.attr("direction", "forward")])
    weights = [_widened(node, b, at, directions) for at in _STORED]
    inputs = [x, *weights, *(node.input(at) for at in range(3, 8))]
    results = b.many("LSTM", inputs, len(node.outputs), **node.attributes, **codes)
    kept = [name if node.has_output(at) else "" for at, name in enumerate(results)]
    b.nodes[-1].output[:] = kept
    return tuple(kept)


def _own_steps(node: Node, b: Builder) -> str:
    """The input [T, 1, I], zero behind the sequence's end: only own steps have a part in the scale.

    The length is a value [1] of integers.
    """
    x = node.input(0)
    step = b.const(np.arange(b.graph.shape(x)[0], dtype=np.int64).reshape(-1, 1, 1))
    inside = b.op("Less", step, b.op("Cast", node.input(4), to=TensorProto.INT64))
    return b.op("Where", inside, x, b.like(0, x))


def _widened(node: Node, b: Builder, places: tuple[int, int, int], directions: int) -> str:
    """What integer weights mean, turned: [D, 4 H, n]."""
    stored, scale, zero = (
        b.graph.constant(node.input(at)) if node.input(at) else None for at in places
    )
    if stored is None or scale is None or (zero is None and node.input(places[2])):
        raise Refusal("its weights are not known at compile time")
    whole = stored.astype(np.int32)
    if zero is not None:
        whole = whole - zero.reshape(directions, 1, -1).astype(np.int32)
    wide = whole.astype(np.float32) * scale.reshape(directions, 1, -1)
    return b.const(wide.transpose(0, 2, 1))
