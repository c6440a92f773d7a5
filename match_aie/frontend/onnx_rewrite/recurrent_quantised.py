"""ONNX Runtime's LSTM with integer weights, whose activations are quantised as they come.

Its meaning is that of the operator's kernel in ONNX Runtime: all steps of the input are quantised
with one scale, the state of every step with a scale of its own, both as by DynamicQuantizeLinear.
Integer products are exact; gates are float32. Weights lie as [D, I, 4 H] and [D, H, 4 H].
"""

from __future__ import annotations

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.recurrent import DIRECTIONS, integer_lstm, problem

#: Positions of the scale and the zero point of W and R.
_SCALES = {1: (8, 9), 2: (10, 11)}


def dynamic_lstm(node: Node, b: Builder) -> tuple[str, ...]:
    """Y, Y_h, Y_c, unrolled over time."""
    why = problem(node, b.graph)
    if why is not None:
        raise Refusal(why)
    if node.input(7):
        raise Refusal("peepholes are not compiled")
    if b.graph.shape(node.input(0))[1] != 1:
        raise Refusal("several rows at a time: how they share a scale depends on threads")
    directions = len(DIRECTIONS[node.attr("direction", "forward")])
    pairs = [(_Product(node, b, 1, d), _Product(node, b, 2, d)) for d in range(directions)]
    return integer_lstm(node, b, pairs)


class _Product:
    """x times an integer weight, x quantised as a whole."""

    def __init__(self, node: Node, b: Builder, at: int, d: int) -> None:
        """Take the slice of direction `d` of the weight that is input `at`."""
        scale, zero = _SCALES[at]
        self._weight, self._scale = _own(node, b, at, d), _own(node, b, scale, d)
        self._zero = _own(node, b, zero, d) if node.input(zero) else ""

    def __call__(self, b: Builder, x: str) -> str:
        """The nodes that compute it."""
        quantised, scale, point = b.many("DynamicQuantizeLinear", [x], 3)
        total = b.op("MatMulInteger", quantised, self._weight, point, self._zero)
        return b.op("Mul", b.op("Cast", total, to=1), b.op("Mul", scale, self._scale))


def _own(node: Node, b: Builder, at: int, d: int) -> str:
    """What belongs to direction `d` of a constant input."""
    value = b.graph.constant(node.input(at))
    if value is None:
        raise Refusal("its weights are not known at compile time")
    return b.const(value[d])
