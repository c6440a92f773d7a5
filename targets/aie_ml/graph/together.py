"""Graphs of layers that have nothing to do with each other as one graph, in columns side by side.

Each keeps its tiles, memory tiles and interface tiles. So a host that moves data through the
columns of one of them runs that layer alone, and others wait for their inputs meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.graph.plan import Connection, End, LayerGraph, Outside, Shared


def together(
    name: str, members: Mapping[str, LayerGraph], columns: Mapping[str, int] | None = None
) -> LayerGraph:
    """All layers as one graph.

    Ways, buffers of memory tiles and operands get the layer's name and an underscore in front of
    theirs; kernel functions keep theirs.

    Args:
        name: of the graph.
        members: layers by name, a C identifier; their functions have different names.
        columns: where each of them begins; side by side in their order where None.

    Raises:
        InternalError: layers share a function's name, have different memories, or one has
            programmable logic.
    """
    symbols = [call.symbol for graph in members.values() for call in graph.calls]
    if len(set(symbols)) != len(symbols):
        raise InternalError(f"layers of {name} share a function: {sorted(symbols)}")
    memories = {graph.memory for graph in members.values()}
    if len(memories) != 1 or any(graph.logic is not None for graph in members.values()):
        raise InternalError(f"layers of {name} are not fed alike")
    first = _Numbers(members)
    side_by_side = zip(members, _before([g.columns for g in members.values()]), strict=True)
    east = dict(side_by_side) if columns is None else columns
    return LayerGraph(
        name,
        "; beside it: ".join(graph.remark for graph in members.values()),
        tuple(_way(one, way) for one, graph in members.items() for way in graph.inputs),
        tuple(_way(one, way) for one, graph in members.items() for way in graph.outputs),
        tuple(
            _buffer(one, buffer, east[one])
            for one, graph in members.items()
            for buffer in graph.shared
        ),
        tuple(
            replace(kernel, place=(kernel.place[0] + east[one], kernel.place[1]))
            for one, graph in members.items()
            for kernel in graph.kernels
        ),
        tuple(
            Connection(first.end(one, link.source), first.end(one, link.sink))
            for one, graph in members.items()
            for link in graph.connections
        ),
        max(east[one] + graph.columns for one, graph in members.items()),
        memories.pop(),
    )


class _Numbers:
    """How each layer's parts count among all layers'."""

    def __init__(self, members: Mapping[str, LayerGraph]) -> None:
        self._members = members
        graphs = tuple(members.values())
        self._all = sum(len(graph.inputs) for graph in graphs)
        counts = {
            "inputs": [len(graph.inputs) for graph in graphs],
            "outputs": [len(graph.outputs) for graph in graphs],
            "shared": [len(graph.shared) for graph in graphs],
            "kernels": [len(graph.kernels) for graph in graphs],
        }
        self._first = {
            kind: dict(zip(members, _before(each), strict=True)) for kind, each in counts.items()
        }

    def end(self, one: str, end: End) -> End:
        """An end of layer `one` as one of all layers."""
        if end.kind == "outside":
            mine = len(self._members[one].inputs)
            if end.of < mine:
                return replace(end, of=self._first["inputs"][one] + end.of)
            return replace(end, of=self._all + self._first["outputs"][one] + end.of - mine)
        return replace(
            end, of=self._first["shared" if end.kind == "shared" else "kernels"][one] + end.of
        )


def _before(counts: list[int]) -> list[int]:
    """Of each the sum of those before it."""
    return [sum(counts[:at]) for at in range(len(counts))]


def _buffer(layer: str, buffer: Shared, east: int) -> Shared:
    column = None if buffer.column is None else buffer.column + east
    return replace(buffer, name=f"{layer}_{buffer.name}", column=column)


def _way(layer: str, way: Outside) -> Outside:
    """A way of this layer, whose tensors are the layer's own."""
    part, blocks = way.part, way.blocks
    if part is not None:
        part = replace(part, operand=f"{layer}_{part.operand}")
    if blocks is not None:
        memory = f"{layer}_{blocks.memory}" if blocks.memory else ""
        blocks = replace(blocks, operand=f"{layer}_{blocks.operand}", memory=memory)
    return replace(way, name=f"{layer}_{way.name}", part=part, blocks=blocks)
