"""Recurrent layers whose sequences end at different steps, in terms of ones that do not.

What a cell computes in a sequence's own steps does not depend on what is behind its end: the layer
runs over all steps, what lies behind is set to zero, and the last state is that of the last own
step. Backwards, the own steps of every sequence are turned around before and after.

An LSTM whose last cells are asked for gets one more input, which is 1 behind the end of a sequence
and there closes the input gate and opens the forget gate: sums so far from zero give gates of 0 and
1, and the cell stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder, Node
from match_aie.frontend.onnx_rewrite.recurrent import DIRECTIONS, problem
from match_aie.frontend.onnx_rewrite.recurrent_activations import activations, spelled_out

#: Inputs with a slice for each direction, by operator: W, R, B, states, peepholes.
_BY_DIRECTION = {"RNN": (1, 2, 3, 5), "GRU": (1, 2, 3, 5), "LSTM": (1, 2, 3, 5, 6, 7)}

#: Attributes that speak of all directions.
_OF_DIRECTIONS = ("direction", "activations", "activation_alpha", "activation_beta")

#: What the input behind the end adds to the sums of an LSTM's gates, in ONNX's order: float32's
#: logistic function of it is 0 or 1, unless the other terms are as large.
_HOLDS = (-1e4, 0.0, 1e4, 0.0)


@dataclass(frozen=True)
class _Ends:
    """Names of values about the sequences' ends.

    Attributes:
        inside: bool [T, 1, B, 1], whether a step is one of the sequence.
        last: int64 [1, B, 1], the last own step.
        some: bool [1, B, 1], whether there is one.
        turned: int64 [T, B, 1], which step stands where the own ones are turned around.
    """

    inside: str
    last: str
    some: str
    turned: str


def whole_sequences(node: Node, b: Builder) -> tuple[str, ...] | None:
    """The layer without its fifth input; None where it has none, or cannot be written so.

    Sizes: T steps, B rows, I inputs, H hidden units.
    """
    shape = b.graph.shape(node.input(0))
    lengths = b.graph.constant(node.input(4)) if node.input(4) else None
    if not node.input(4) or node.attr("layout", 0):
        return None
    if len(shape) != 3 or problem(node, b.graph, ends=False) is not None:
        return None
    if node.has_output(2) and not _may_hold(node):
        return None
    if lengths is not None and (lengths.reshape(-1) == shape[0]).all():
        return None
    ends = _ends(node, b, shape)
    directions = DIRECTIONS[node.attr("direction", "forward")]
    found = [_direction(node, b, ends, d, reverse) for d, reverse in enumerate(directions)]
    joined = [
        b.op("Concat", *values, axis=axis) if len(values) > 1 else values[0]
        for values, axis in zip(zip(*found, strict=True), (1, 0, 0), strict=False)
    ]
    return tuple(joined[: len(node.outputs)])


def _may_hold(node: Node) -> bool:
    """Whether large sums close an LSTM's gates and open them: not where they are bounded before."""
    acts = activations(node, node.op, len(DIRECTIONS[node.attr("direction", "forward")]))
    if isinstance(acts, str):
        return False
    return node.attr("clip") is None and all(own[0].reaches_ends for own in acts)


def _ends(node: Node, b: Builder, shape: tuple[int, ...]) -> _Ends:
    """What is known of the sequences' ends, from their lengths [B]."""
    steps, rows = shape[0], shape[1]
    one = b.const(np.array(1, np.int64))
    step = b.const(np.arange(steps, dtype=np.int64).reshape(steps, 1, 1))
    wide = b.op("Cast", node.input(4), to=7)
    most = b.op("Min", wide, b.const(np.array(steps, np.int64)))
    length = b.op("Reshape", most, b.const([1, rows, 1], np.int64))
    inside = b.op("Less", step, length)
    last = b.op("Sub", length, one)
    turned = b.op("Where", inside, b.op("Sub", last, step), step)
    return _Ends(
        b.op("Reshape", inside, b.const([steps, 1, rows, 1], np.int64)),
        b.op("Max", last, b.const(np.array(0, np.int64))),
        b.op("Greater", length, b.const(np.array(0, np.int64))),
        turned,
    )


def _direction(node: Node, b: Builder, ends: _Ends, d: int, reverse: bool) -> tuple[str, ...]:
    """([T, 1, B, H], [1, B, H]) of one direction; the last cell [1, B, H] where it is asked for.

    Args:
        node: the layer.
        b: takes the nodes.
        ends: of the sequences.
        d: number of the direction.
        reverse: whether it runs backwards.
    """
    steps, rows, features = b.graph.shape(node.input(0))
    hidden = int(b.graph.shape(node.input(2))[-1])
    x = _picked(b, node.input(0), ends.turned, (steps, rows, features)) if reverse else ""
    inputs = [x or node.input(0)]
    for index in range(1, len(node.inputs)):
        name = node.input(index)
        if index == 4:
            name = ""
        elif name and index in _BY_DIRECTION[node.op]:
            name = b.op("Slice", name, *(b.const([v], np.int64) for v in (d, d + 1, 0)))
        inputs.append(name)
    kept = {k: v for k, v in node.attributes.items() if k not in _OF_DIRECTIONS}
    acts = activations(node, node.op, len(DIRECTIONS[node.attr("direction", "forward")]))
    if node.attr("activations", ()) and not isinstance(acts, str):
        kept |= spelled_out(acts[d])
    zero, cell = b.like(0, node.input(0)), ""
    if node.has_output(2):
        history, _, cell = b.many(node.op, _holding(node, b, ends, inputs), 3, **kept)
        b.nodes[-1].output[:] = [history, "", cell]
    else:
        history = b.op(node.op, *inputs, **kept)
    run = b.op("Reshape", history, b.const([steps, rows, hidden], np.int64))
    final = b.op("Where", ends.some, _picked(b, run, ends.last, (1, rows, hidden)), zero)
    ordered = _picked(b, run, ends.turned, (steps, rows, hidden)) if reverse else run
    history = b.op("Reshape", ordered, b.const([steps, 1, rows, hidden], np.int64))
    given = (b.op("Where", ends.inside, history, zero), final)
    return (*given, b.op("Where", ends.some, cell, zero)) if cell else given


def _holding(node: Node, b: Builder, ends: _Ends, inputs: Sequence[str]) -> list[str]:
    """The inputs with one more column, by which cells stay what they are behind the end."""
    x = node.input(0)
    steps, rows, _ = b.graph.shape(x)
    hidden = int(b.graph.shape(node.input(2))[-1])
    column = np.repeat(np.array(_HOLDS), hidden).reshape(1, -1, 1)
    weight = b.op("Concat", inputs[1], b.like(column, x), axis=2)
    outside = b.op("Where", ends.inside, b.like(0, x), b.like(1, x))
    mark = b.op("Reshape", outside, b.const([steps, rows, 1], np.int64))
    return [b.op("Concat", inputs[0], mark, axis=2), weight, *inputs[2:]]


def _picked(b: Builder, value: str, steps: str, shape: tuple[int, ...]) -> str:
    """The rows of `value` [T, B, n] that stand at `steps` [t, B, 1], as `shape` [t, B, n]."""
    places = b.op("Expand", steps, b.const(shape, np.int64))
    return b.op("GatherElements", value, places, axis=0)
