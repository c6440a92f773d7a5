"""A graph for streams of programmable logic, fed by the chip's memory instead.

Each stream becomes a DMA channel of an interface tile. What several buffers take alike comes by one
channel, which the array's switches hand to all of them: the memory's rate bounds such graphs.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.targets.aie_ml.graph.plan import Connection, End, LayerGraph, Outside


def through_memory(graph: LayerGraph) -> LayerGraph:
    """The same graph, its ways led to the chip's memory.

    Args:
        graph: fed by streams, of tensors.
    """
    first: dict[object, int] = {}
    kept: list[Outside] = []
    number: dict[int, int] = {}
    for at, way in enumerate(graph.inputs):
        held = first.setdefault((way.dtype, way.blocks or at), len(kept))
        number[at] = held
        if held == len(kept):
            kept.append(way)
    gone = len(graph.inputs) - len(kept)
    number |= {
        at: at - gone for at in range(len(graph.inputs), len(graph.inputs) + len(graph.outputs))
    }

    def end(one: End) -> End:
        return replace(one, of=number[one.of]) if one.kind == "outside" else one

    return replace(
        graph,
        inputs=tuple(kept),
        connections=tuple(Connection(end(c.source), end(c.sink)) for c in graph.connections),
        memory="ddr",
    )
