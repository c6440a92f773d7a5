"""GRUs and LSTMs in any form, in terms of layers that modules know.

Those run forwards, from steps to steps, begin with zeros (a GRU also with a given state), and give
the whole sequence of states. Two directions are two layers, the second on turned steps; the last
state is the last of the sequence; one step with states of its own is written out, so that its
products are dense layers. Sizes: T steps, B rows, I inputs, H hidden units, D directions.
"""

from __future__ import annotations

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder, Node
from match_aie.frontend.onnx_rewrite.recurrent import DEFAULTS, DIRECTIONS, lstm, problem

#: Positions of W, R and B, and of the first states.
_WEIGHTS, _STATES = (1, 2, 3), {"GRU": (5,), "LSTM": (5, 6)}
_LENGTHS, _PEEPHOLES = 4, 7


def plain(node: Node, b: Builder) -> tuple[str, ...] | None:
    """The layer in terms of plain ones; None where it is one, or modules have no words for it."""
    if _foreign(node) or problem(node, b.graph) is not None:
        return None
    steps, rows, _ = b.graph.shape(node.input(0))
    rows_first = bool(node.attr("layout", 0))
    steps, rows = (rows, steps) if rows_first else (steps, rows)
    kept = {at: _needed(node, b, at) for at in (*_STATES[node.op], _LENGTHS)}
    kept[_LENGTHS] = ""  # whole sequences: `problem` has seen it
    cells = node.has_output(2) or bool(kept.get(6))
    if cells and steps == 1 and not rows_first:
        return lstm(node, b)
    forward = node.attr("direction", "forward") == "forward"
    same = all(kept[at] == node.input(at) for at in kept)
    if cells or (forward and same and not rows_first and not node.has_output(1)):
        return None
    x = b.op("Transpose", node.input(0), perm=[1, 0, 2]) if rows_first else node.input(0)
    runs = []
    for d, backward in enumerate(DIRECTIONS[node.attr("direction", "forward")]):
        state = _of_direction(node, b, kept[5], d, rows_first=rows_first)
        runs.append(_run(node, b, (_turned(b, x, steps) if backward else x, state), d))
    return _results(node, b, runs, (steps, rows))


def _foreign(node: Node) -> bool:
    """Whether it computes something that plain layers do not."""
    names = tuple(str(name).capitalize() for name in node.attr("activations", ()))
    directions = len(DIRECTIONS.get(node.attr("direction", "forward"), ()))
    own = bool(names) and names != DEFAULTS[node.op] * directions
    reset_first = node.op == "GRU" and not node.attr("linear_before_reset", 0)
    return own or reset_first or bool(node.input(_PEEPHOLES))


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


def _run(node: Node, b: Builder, given: tuple[str, str], d: int) -> str:
    """[T, 1, B, H] of direction `d`, steps as they run; `given`: its input and first state."""
    both = node.attr("direction", "forward") == "bidirectional"
    weights = [
        _slice(b, node.input(at), d) if both and node.input(at) else node.input(at)
        for at in _WEIGHTS
    ]
    attributes = {"hidden_size": b.graph.shape(node.input(2))[-1]}
    if node.op == "GRU":
        attributes["linear_before_reset"] = 1
    inputs = [given[0], *weights, "", given[1]]
    while not inputs[-1]:
        inputs.pop()
    return b.op(node.op, *inputs, **attributes)


def _results(node: Node, b: Builder, runs: list[str], sizes: tuple[int, int]) -> tuple[str, ...]:
    """Y and Y_h as they are asked for, of each direction's sequence; `sizes`: T, B."""
    (steps, rows), rows_first = sizes, bool(node.attr("layout", 0))
    hidden = b.graph.shape(node.input(2))[-1]
    backward = DIRECTIONS[node.attr("direction", "forward")]
    results = []
    if node.has_output(0):
        parts = [
            _turned(b, y, steps) if turn else y for y, turn in zip(runs, backward, strict=True)
        ]
        y = b.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        results.append(b.op("Transpose", y, perm=[2, 0, 1, 3]) if rows_first else y)
    else:
        results.append("")
    if node.has_output(1):
        shape = b.const([1, rows, hidden], np.int64)
        ends = [b.op("Reshape", _slice(b, y, steps - 1), shape) for y in runs]
        last = b.op("Concat", *ends, axis=0) if len(ends) > 1 else ends[0]
        results.append(b.op("Transpose", last, perm=[1, 0, 2]) if rows_first else last)
    return tuple(results)
