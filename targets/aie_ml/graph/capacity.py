"""How many runs a graph takes in before anybody takes a result of it."""

from __future__ import annotations

from heapq import heappop, heappush

from match_aie.targets.aie_ml.graph.plan import End, LayerGraph

#: Runs that a host is ahead at most: each needs buffers of its own.
MOST = 16


def runs_ahead(graph: LayerGraph) -> int:
    """Runs that a host may begin before it takes the first one's result, `MOST` at most.

    Every buffer of a memory tile holds so many runs as it has copies, so what is begun can be ahead
    of what leaves by the copies on the way from an input to an output, the way with the fewest of
    them. A host that begins no more never waits for room in a channel while the array waits for it.
    What a run writes several times, or reads again, counts nothing.
    """
    after: dict[tuple[str, int], set[tuple[str, int]]] = {}
    for link in graph.connections:
        after.setdefault(_node(link.source), set()).add(_node(link.sink))
    waiting = [(0, ("outside", at)) for at in range(len(graph.inputs))]
    seen: set[tuple[str, int]] = set()
    while waiting:
        held, node = heappop(waiting)
        if node[0] == "outside" and node[1] >= len(graph.inputs):
            return min(held, MOST)
        if node in seen:
            continue
        seen.add(node)
        for other in after.get(node, ()):
            heappush(waiting, (held + _held(graph, other), other))
    return 0


def _node(end: End) -> tuple[str, int]:
    """A kernel is one, whatever it is connected by."""
    return ("kernel" if end.kind in ("buffer", "cascade") else end.kind), end.of


def _held(graph: LayerGraph, node: tuple[str, int]) -> int:
    """Runs that a node holds."""
    if node[0] != "shared":
        return 0
    buffer = graph.shared[node[1]]
    return buffer.copies if buffer.fills == 1 else 0
