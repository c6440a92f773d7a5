"""What graphs hold that no public example of the vendor's graph API shows.

UG1603 describes the parts. That they work together like this is an inference: the vendor's
tools have not seen it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.block import Access


def undocumented(graph: LayerGraph) -> tuple[str, ...]:
    """Each such construct of `graph`, as a sentence with its place; nothing where there is none."""
    links = [(c.source, c.sink) for c in graph.connections]
    handed = [
        f"a stream leads from memory tile buffer {graph.shared[source.of].name} to "
        f"{graph.shared[sink.of].name}"
        for source, sink in links
        if (source.kind, sink.kind) == ("shared", "shared")
    ]
    stored = Counter(
        source for source, sink in links if (source.kind, sink.kind) == ("buffer", "shared")
    )
    twice = [
        f"kernel {source.of} stores to {count} memory tile buffers"
        for source, count in stored.items()
        if count > 1
    ]
    narrowed = [
        f"port {port} of memory tile buffer {shared.name} has a boundary inside of it"
        for shared in graph.shared
        for port, access in enumerate((*shared.writes, *shared.reads))
        if _narrowed(access)
    ]
    return (*handed, *twice, *narrowed, *_circles(graph))


def _circles(graph: LayerGraph) -> tuple[str, ...]:
    """Kernels that wait for what they sent themselves, by way of others or of a memory tile."""
    after: dict[tuple[str, int], set[tuple[str, int]]] = {}
    for connection in graph.connections:
        after.setdefault(connection.source.node, set()).add(connection.sink.node)
    return tuple(
        f"kernel {at} reads what it sent before, in a circle of connections"
        for at in range(len(graph.kernels))
        if ("kernel", at) in _reached(after, ("kernel", at))
    )


def _reached(
    after: Mapping[tuple[str, int], Collection[tuple[str, int]]], start: tuple[str, int]
) -> set[tuple[str, int]]:
    """All parts that `start` leads to."""
    found: set[tuple[str, int]] = set()
    left = list(after.get(start, ()))
    while left:
        part = left.pop()
        if part not in found:
            found.add(part)
            left += after.get(part, ())
    return found


def _narrowed(access: Access) -> bool:
    """Whether the data end before the buffer does."""
    return bool(access.boundary) and any(
        inner < outer for inner, outer in zip(access.boundary, access.buffer, strict=True)
    )
