"""Copies of a layer's graph side by side: each takes its share of the rows."""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.graph.plan import Connection, End, LayerGraph, Outside


def beside(graph: LayerGraph, copies: int) -> LayerGraph:
    """So many copies of a graph, in columns side by side.

    Args:
        graph: of a layer with the rows of one copy, whose ways carry blocks of matrices.
        copies: each takes the rows behind those of the one before it.

    Raises:
        InternalError: a way carries something else.
    """
    if copies == 1:
        return graph
    numbers = range(copies)
    size = {
        "shared": len(graph.shared),
        "buffer": len(graph.kernels),
        "cascade": len(graph.kernels),
        "packets": len(graph.kernels),
        "lent": len(graph.kernels),
    }
    ins, outs = len(graph.inputs), len(graph.outputs)

    def end(one: End, at: int) -> End:
        if one.kind != "outside":
            return replace(one, of=at * size[one.kind] + one.of)
        return replace(
            one, of=at * ins + one.of if one.of < ins else (copies - 1) * ins + at * outs + one.of
        )

    return replace(
        graph,
        remark=f"{copies} copies side by side: {graph.remark}",
        inputs=tuple(_way(way, at) for at in numbers for way in graph.inputs),
        outputs=tuple(_way(way, at) for at in numbers for way in graph.outputs),
        shared=tuple(
            replace(one, name=f"c{at}_{one.name}", column=(one.column or 0) + at * graph.columns)
            for at in numbers
            for one in graph.shared
        ),
        kernels=tuple(
            replace(kernel, place=(kernel.place[0] + at * graph.columns, kernel.place[1]))
            for at in numbers
            for kernel in graph.kernels
        ),
        connections=tuple(
            Connection(end(link.source, at), end(link.sink, at))
            for at in numbers
            for link in graph.connections
        ),
        columns=copies * graph.columns,
    )


def _way(way: Outside, at: int) -> Outside:
    """What copy `at` has in the place of a way."""
    if way.blocks is None:
        raise InternalError(f"{way.name} does not carry rows of a matrix")
    blocks = replace(way.blocks, first=at * way.blocks.matrix[0])
    return replace(way, name=f"c{at}_{way.name}", blocks=blocks)
