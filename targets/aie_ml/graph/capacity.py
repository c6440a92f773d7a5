"""How many runs a graph takes in before anybody takes a result of it."""

from __future__ import annotations

from heapq import heappop, heappush

from match_aie.targets.aie_ml.graph.plan import LayerGraph

#: Runs that a host is ahead at most: each needs buffers of its own.
MOST = 16


def runs_ahead(graph: LayerGraph) -> int:
    """Runs that a host may begin before it takes the first one's result, `MOST` at most.

    A node can be ahead of another one by so many runs as lie on the way from the latter back to it.
    What reads a buffer of a memory tile is behind what fills it by its copies at most; what a run
    writes several times, or reads again, counts nothing. And nothing is ahead of what it reads, so
    a step forward on that way adds nothing: with sums that wait for an operand which forked off
    earlier, that way may be shorter than any from input to output. The least of them bounds the
    host, which then never waits for room in a channel while the array waits for it (a marked
    graph's bound: the tokens on the cycle that the host would close).
    """
    ways: dict[tuple[str, int], list[tuple[tuple[str, int], int]]] = {}
    for link in graph.connections:
        source, sink = link.source.node, link.sink.node
        ways.setdefault(source, []).append((sink, 0))
        ways.setdefault(sink, []).append((source, _held(graph, source)))
    inputs = len(graph.inputs)
    waiting = [(0, ("outside", inputs + at)) for at in range(len(graph.outputs))]
    seen: set[tuple[str, int]] = set()
    while waiting:
        held, node = heappop(waiting)
        if node[0] == "outside" and node[1] < inputs:
            return min(held, MOST)
        if node in seen:
            continue
        seen.add(node)
        for other, more in ways.get(node, ()):
            heappush(waiting, (held + more, other))
    return 0


def _held(graph: LayerGraph, node: tuple[str, int]) -> int:
    """Runs that a node holds."""
    if node[0] != "shared":
        return 0
    buffer = graph.shared[node[1]]
    return buffer.copies if buffer.fills == 1 else 0
