"""Which rows of images operators read for some rows of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from match_aie.hardware.graph import Graph, Node
from match_aie.hardware.passes import JOINED, WINDOWED
from match_aie.hardware.written import Written

#: The first row, and the one behind the last.
Rows = tuple[int, int]

#: Axes of images: batch, rows, columns, channels.
AXIS, CHANNELS = 1, 3

#: Operators that make each element of those at its place, or of one that all share.
POINTWISE = frozenset({"dequantize", "quantize", "clip", "add", "subtract", "multiply", "nn.relu"})


@dataclass(frozen=True)
class _Window:
    """Of rows: taps, the step from one to the next position, between taps; rows of padding."""

    size: int
    stride: int
    dilation: int
    top: int
    bottom: int

    @property
    def span(self) -> int:
        """Rows from the first to the last tap."""
        return self.dilation * (self.size - 1) + 1

    @staticmethod
    def of(graph: Graph, node: Node) -> _Window | None:
        """The window of a node; None where its images lie otherwise, or it goes beyond padding."""
        how = cast(Mapping[str, Any], node.attributes)
        if how.get("data_layout", how.get("layout")) != "NHWC":
            return None
        if node.operator == "nn.conv2d":
            if how["kernel_layout"] != "HWIO":
                return None
            size = graph.values[str(node.arguments[1])].shape[0]
        else:
            size = how["pool_size"][0]
        top, _, bottom, _ = how["padding"]
        made = _Window(size, how["strides"][0], how["dilation"][0], top, bottom)
        rows = graph.values[str(node.arguments[0])].shape[AXIS]
        positions = (rows + top + bottom - made.span) // made.stride + 1
        return made if graph.values[node.output].shape[AXIS] == positions else None


def rows_read(graph: Graph, node: Node, rows: Rows) -> Mapping[str, Rows] | None:
    """Rows that a node reads of its arguments, by name, for `rows` of its result.

    Arguments that have no rows, such as weights and scales, are not there.

    Returns:
        None where it is not known, or where an argument is no image of the same height.
    """
    if len(graph.values[node.output].shape) != 4 or graph.values[node.output].shape[0] != 1:
        return None
    if node.operator in WINDOWED:
        window = _Window.of(graph, node)
        if window is None:
            return None
        first, last = _reach(window, rows)
        name = str(node.arguments[0])
        seen = max(first, 0), min(last, graph.values[name].shape[AXIS])
        return {name: seen} if seen[0] < seen[1] else None
    by_channel = node.operator == JOINED and node.attributes["axis"] in (-1, CHANNELS)
    return _same_rows(graph, node, rows) if by_channel or node.operator in POINTWISE else None


def _same_rows(graph: Graph, node: Node, rows: Rows) -> Mapping[str, Rows] | None:
    high = graph.values[node.output].shape[AXIS]
    steps = node.operator in ("dequantize", "quantize")
    found = {}
    for at, name in enumerate(node.inputs()):
        shape = graph.values[name].shape
        if steps and at:
            by_row = max(shape, default=1) > 1 and cast(int, node.attributes["axis"]) % 4 != 3
            if by_row or graph.values[name].constant is None:
                return None
        elif len(shape) == 4 and shape[:2] == (1, high) and graph.values[name].constant is None:
            found[name] = rows
        elif len(shape) > 2 and shape[-3] != 1:
            return None
    return found


def _reach(window: _Window, rows: Rows) -> Rows:
    """Rows under the window at some positions, padding and all."""
    first = rows[0] * window.stride - window.top
    return first, (rows[1] - 1) * window.stride - window.top + window.span


def padded(graph: Graph, node: Node, rows: Rows) -> Mapping[str, object]:
    """Attributes of a windowed node for some rows of its result: padding where the image ends."""
    window = _Window.of(graph, node)
    assert window is not None
    first, last = _reach(window, rows)
    _, left, _, right = cast(tuple[int, ...], node.attributes["padding"])
    high = graph.values[str(node.arguments[0])].shape[AXIS]
    return {**node.attributes, "padding": (max(0, -first), left, max(0, last - high), right)}


def rows_needed(graph: Graph, made: Written, rows: Rows) -> Mapping[str, Rows] | None:
    """Rows of everything with rows on the way to some rows of a tensor.

    Of what lies in memory they are all that something reads; other tensors have to be read alike.

    Returns:
        Rows by name; None where they are not known.
    """
    needed = {made.tensor: rows}
    for node in reversed(made.nodes):
        if node.output not in needed:
            continue
        read = rows_read(graph, node, needed[node.output])
        if read is None:
            return None
        for name, seen in read.items():
            known = needed.get(name, seen)
            if known != seen and name not in made.reads:
                return None
            needed[name] = min(known[0], seen[0]), max(known[1], seen[1])
    return needed


def work_of_a_row(graph: Graph, made: Written) -> int:
    """Multiply-accumulates of a row of a tensor that lies in memory; its elements where less."""
    total = 0
    for node in made.nodes:
        shape = graph.values[node.output].shape
        if node.operator == "nn.conv2d":
            total += shape[2] * prod(graph.values[str(node.arguments[1])].shape)
        elif node.operator in WINDOWED:
            total += shape[2] * shape[3]
    _, _, columns, channels = graph.values[made.tensor].shape
    return total or columns * channels
