"""GRUs and LSTMs in any form, in terms of layers that modules know.

Those run forwards, from steps to steps, from zeros or given states, and give the whole sequence of
states; an LSTM may give its last cell beside it. Two directions are two layers, the second on
turned steps; the last state is the last of the sequence. Sizes: T steps, B rows, I inputs, H hidden
units, D directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node
from match_aie.frontend.onnx_rewrite.recurrent import (
    CELL_CLIP,
    DIRECTIONS,
    INPUT_CODES,
    STATE_CODES,
    problem,
)
from match_aie.frontend.onnx_rewrite.recurrent_activations import DEFAULTS

#: Positions of W, R and B, and of the first states.
_WEIGHTS, _STATES = (1, 2, 3), {"GRU": (5,), "LSTM": (5, 6)}
_LENGTHS, _PEEPHOLES = 4, 7


@dataclass(frozen=True)
class _Ran:
    """What one direction gives, steps as they ran.

    Attributes:
        states: [T, 1, B, H]; "" where nobody asks for them.
        cell: the last one, [1, B, H]; "" where nobody asks for it.
    """

    states: str
    cell: str


def widened(node: Node, b: Builder) -> tuple[str, ...] | None:
    """A layer of 16-bit floats as one of 32 bits, as onnxruntime computes it; None for others."""
    kind = b.graph.dtype(node.input(0))
    if kind not in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        return None
    inputs = [name if at == _LENGTHS else _wide(b, name) for at, name in enumerate(node.inputs)]
    results = b.many(node.op, inputs, len(node.outputs), **node.attributes)
    asked = [name if node.has_output(at) else "" for at, name in enumerate(results)]
    b.nodes[-1].output[:] = asked
    return tuple(b.op("Cast", name, to=kind) if name else "" for name in asked)


def _wide(b: Builder, name: str) -> str:
    """In 32 bits; "" stays."""
    value = b.graph.constant(name) if name else None
    if value is not None:
        return b.const(value.astype(np.float32))
    return b.op("Cast", name, to=TensorProto.FLOAT) if name else ""


def plain(node: Node, b: Builder) -> tuple[str, ...] | None:
    """The layer in terms of plain ones; None where it is one, or modules have no words for it."""
    if _foreign(node) or problem(node, b.graph) is not None:
        return None
    steps, rows, _ = b.graph.shape(node.input(0))
    rows_first = bool(node.attr("layout", 0))
    steps, rows = (rows, steps) if rows_first else (steps, rows)
    kept = {at: _needed(node, b, at) for at in (*_STATES[node.op], _LENGTHS)}
    kept[_LENGTHS] = ""  # whole sequences: `problem` has seen it
    forward = node.attr("direction", "forward") == "forward"
    same = all(kept[at] == node.input(at) for at in kept) and not node.attr("activations", ())
    if forward and same and not rows_first and not node.has_output(1):
        return None
    x = b.op("Transpose", node.input(0), perm=[1, 0, 2]) if rows_first else node.input(0)
    runs = []
    for d, backward in enumerate(DIRECTIONS[node.attr("direction", "forward")]):
        states = [
            _of_direction(node, b, kept[at], d, rows_first=rows_first) for at in _STATES[node.op]
        ]
        given = _turned(b, x, steps) if backward else x
        runs.append(_run(node, b, (given, *states), d))
    return _results(node, b, runs, (steps, rows))


def _foreign(node: Node) -> bool:
    """Whether it computes something that plain layers do not."""
    names = tuple(str(name).capitalize() for name in node.attr("activations", ()))
    directions = len(DIRECTIONS.get(node.attr("direction", "forward"), ()))
    own = bool(names) and names != DEFAULTS[node.op] * directions
    gates = node.attr("clip") is not None or bool(node.attr("input_forget", 0))
    return own or gates or bool(node.input(_PEEPHOLES))


def _needed(node: Node, b: Builder, at: int) -> str:
    """An input's name; "" where it is absent or zero, which is what absent ones are."""
    value = b.graph.constant(node.input(at)) if node.input(at) else None
    return "" if value is not None and not value.any() else node.input(at)


def _of_direction(node: Node, b: Builder, state: str, d: int, *, rows_first: bool) -> str:
    """[1, B, H] of a state [D, B, H] or [B, D, H]; "" where there is none."""
    if not state:
        return ""
    turned = b.op("Transpose", state, perm=[1, 0, 2]) if rows_first else state
    return _slice(b, turned, d) if node.attr("direction", "forward") == "bidirectional" else turned


def _slice(b: Builder, value: str, at: int) -> str:
    """One of the first axis."""
    return b.op("Slice", value, *(b.const([v], np.int64) for v in (at, at + 1, 0)))


def _turned(b: Builder, value: str, steps: int) -> str:
    """The last step first."""
    return b.op("Gather", value, b.const(np.arange(steps)[::-1], np.int64), axis=0)


def _run(node: Node, b: Builder, given: tuple[str, ...], d: int) -> _Ran:
    """Direction `d`; `given`: its input and first states, as they run."""
    both = node.attr("direction", "forward") == "bidirectional"
    weights = [
        _slice(b, node.input(at), d) if both and node.input(at) else node.input(at)
        for at in _WEIGHTS
    ]
    own = (CELL_CLIP, STATE_CODES, INPUT_CODES)
    attributes = {name: node.attr(name) for name in own if node.attr(name) is not None}
    attributes["hidden_size"] = b.graph.shape(node.input(2))[-1]
    if node.op == "GRU":
        attributes["linear_before_reset"] = node.attr("linear_before_reset", 0)
    inputs = [given[0], *weights, "", *given[1:]]
    while not inputs[-1]:
        inputs.pop()
    if not node.has_output(2):
        return _Ran(b.op(node.op, *inputs, **attributes), "")
    states, _, cell = b.many(node.op, inputs, 3, **attributes)
    states = states if node.has_output(0) or node.has_output(1) else ""
    b.nodes[-1].output[:] = [states, "", cell]
    return _Ran(states, cell)


def _results(node: Node, b: Builder, runs: list[_Ran], sizes: tuple[int, int]) -> tuple[str, ...]:
    """Y, Y_h and Y_c as they are asked for, of what each direction gives; `sizes`: T, B."""
    (steps, rows), rows_first = sizes, bool(node.attr("layout", 0))
    hidden = b.graph.shape(node.input(2))[-1]
    backward = DIRECTIONS[node.attr("direction", "forward")]
    results = [""] * len(node.outputs)
    if node.has_output(0):
        parts = [
            _turned(b, ran.states, steps) if turn else ran.states
            for ran, turn in zip(runs, backward, strict=True)
        ]
        y = b.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        results[0] = b.op("Transpose", y, perm=[2, 0, 1, 3]) if rows_first else y
    shape = b.const([1, rows, hidden], np.int64)
    ends = {1: lambda ran: b.op("Reshape", _slice(b, ran.states, steps - 1), shape)}
    ends[2] = lambda ran: ran.cell
    for at in (at for at in ends if node.has_output(at)):
        parts = [ends[at](ran) for ran in runs]
        last = b.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
        results[at] = b.op("Transpose", last, perm=[1, 0, 2]) if rows_first else last
    return tuple(results)
