"""Operators that only move elements between two of our layers: they join the layers' function."""

from __future__ import annotations

from collections.abc import Collection

from match_aie.hardware.graph import Graph

#: Operators that give the elements of their one input in another order or shape.
MOVES = frozenset("reshape permute_dims squeeze expand_dims flatten".split())


def between(graph: Graph, members: Collection[int], results: Collection[str]) -> list[int]:
    """Nodes that move elements from layers to layers, and to nobody else.

    Args:
        graph: what was partitioned.
        members: nodes of the chosen layers.
        results: values that the chosen layers give.
    """
    moves = [n for n in graph.nodes if n.operator in MOVES and n.index not in members]
    after: set[int] = set()  # moves whose elements come from a layer
    for node in moves:
        source = node.inputs()[0] if node.inputs() else ""
        producer = graph.producers.get(source)
        if source in results or (producer is not None and producer.index in after):
            after.add(node.index)
    found: set[int] = set()
    for node in reversed(moves):
        users = graph.users[node.output]
        inner = bool(users) and all(user in members or user in found for user in users)
        if node.index in after and inner:
            found.add(node.index)
    return sorted(found)
