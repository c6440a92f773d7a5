"""Matching a pattern's structure at a node of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from match_aie.hardware import Any, Chain, Const, Op, Structure, Web
from match_aie.hardware.graph import Graph, Node

#: Operators whose two tensor inputs may be exchanged.
COMMUTATIVE = frozenset({"add", "multiply"})
#: Operators that cost nothing to compute again: a match may use one that others use too.
#: (Every residual network has a dequantize with two readers.)
REPEATABLE = frozenset({"dequantize"})
#: Operators whose results are elements of their first input.
MOVES = frozenset({"reshape", "permute_dims", "flatten", "squeeze", "expand_dims"})
#: Operators that a web takes at most: every stop on the way back is a match of its own.
LARGEST_WEB = 64


@dataclass(frozen=True)
class Match:
    """Where a structure was found.

    Attributes:
        root: index of the node that gives the result.
        nodes: in the structure's own order, root first; a node may appear twice.
        bound: name in the structure -> value name.
    """

    root: int
    nodes: tuple[int, ...]
    bound: Mapping[str, str]


def matches(graph: Graph, structure: Op, root: Node) -> Iterator[Match]:
    """Every way in which `structure` fits at `root` without tearing values that others need.

    Commuted operands give distinct matches, the order as written first.
    """
    for nodes, bound in _node(graph, structure, root, {}):
        if _closed(graph, root, nodes):
            yield Match(root.index, nodes, bound)


_Found = Iterator[tuple[tuple[int, ...], dict[str, str]]]


def _node(graph: Graph, structure: Op, node: Node, bound: dict[str, str]) -> _Found:
    if node.operator != structure.operator:
        return
    if structure.dtypes and graph.values[node.output].dtype not in structure.dtypes:
        return
    tensors = [a for a in node.arguments if isinstance(a, str)]
    wanted = structure.inputs
    if len(tensors) < len(wanted):
        return
    orders: Iterator[tuple[Structure, ...]] = (
        permutations(wanted)
        if node.operator in COMMUTATIVE and len(wanted) == 2
        else iter((wanted,))
    )
    for order in orders:
        for nodes, found in _inputs(graph, order, tensors, bound):
            yield (node.index, *nodes), found


def _inputs(
    graph: Graph, wanted: tuple[Structure, ...], tensors: list[str], bound: dict[str, str]
) -> _Found:
    if not wanted:
        yield (), bound
        return
    for nodes, found in _value(graph, wanted[0], tensors[0], bound):
        for more, all_found in _inputs(graph, wanted[1:], tensors[1:], found):
            yield (*nodes, *more), all_found


def _value(graph: Graph, wanted: Structure, name: str, bound: dict[str, str]) -> _Found:
    if isinstance(wanted, Chain):
        yield from _chain(graph, wanted, name, bound)
        return
    if isinstance(wanted, Web):
        yield from _web(graph, wanted, name, bound)
        return
    if isinstance(wanted, Op):
        producer = graph.producers.get(name)
        if producer is not None:
            yield from _node(graph, wanted, producer, bound)
        return
    if isinstance(wanted, Const) and graph.values[name].constant is None:
        return
    assert isinstance(wanted, Any | Const)
    if isinstance(wanted, Any) and wanted.dtypes and graph.values[name].dtype not in wanted.dtypes:
        return
    if isinstance(wanted, Any) and wanted.within and not _lies(graph, name, wanted.within):
        return
    if bound.get(wanted.name, name) == name:
        yield (), {**bound, wanted.name: name}


def _lies(graph: Graph, name: str, within: tuple[int, int]) -> bool:
    """Whether a clip before the tensor, with moves of its elements between, keeps it within."""
    producer = graph.producers.get(name)
    while producer is not None and producer.operator in MOVES:
        producer = graph.producers.get(producer.inputs()[0])
    if producer is None or producer.operator != "clip":
        return False
    ends = [a for a in producer.arguments[1:3] if isinstance(a, int | float)]
    return len(ends) == 2 and within[0] <= ends[0] <= ends[1] <= within[1]


def _chain(graph: Graph, wanted: Chain, name: str, bound: dict[str, str]) -> _Found:
    above: tuple[int, ...] = ()
    while True:
        for nodes, found in _value(graph, wanted.inner, name, bound):
            yield (*above, *nodes), found
        producer = graph.producers.get(name)
        if producer is None or producer.operator not in wanted.operators:
            return
        below = [a for a in producer.arguments if isinstance(a, str)]
        known = [a for a in below if graph.values[a].constant is not None]
        # Widened weights are a chain on a constant alone.
        moving = [a for a in below if a not in known] or below[:1]
        if len(moving) != 1:
            return
        above, name = (*above, producer.index), moving[0]


def _web(graph: Graph, wanted: Web, name: str, bound: dict[str, str]) -> _Found:
    """Backwards from `name` to each single value that all hangs on, the farthest one first."""
    for within, value in reversed(list(_stops(graph, wanted, name))):
        for nodes, found in _value(graph, wanted.inner, value, bound):
            yield (*within, *nodes), found


def _stops(graph: Graph, wanted: Web, name: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """(operators from `name` back to a value, the value), that which is made last undone first."""
    within: tuple[int, ...] = ()
    left = {name}
    while left and len(within) <= LARGEST_WEB:
        # A constant's dequantize stands far before what reads it.
        fixed = {value for value in left if _is_fixed(graph, wanted, value)}
        within = (*within, *sorted(graph.producers[value].index for value in fixed))
        left -= fixed
        if within and len(left) == 1:
            yield within, next(iter(left))
        producers = [node for value in left if (node := graph.producers.get(value)) is not None]
        last = max(producers, key=lambda node: node.index, default=None)
        if last is None or last.operator not in wanted.operators:
            return
        within = (*within, last.index)
        known = {a for a in last.inputs() if graph.values[a].constant is not None}
        left = (left - {last.output}) | (set(last.inputs()) - known)


def _is_fixed(graph: Graph, wanted: Web, value: str) -> bool:
    """Whether an operator of the web makes `value` of constants alone."""
    maker = graph.producers.get(value)
    return (
        maker is not None
        and maker.operator in wanted.operators
        and all(graph.values[name].constant is not None for name in maker.inputs())
    )


def _closed(graph: Graph, root: Node, nodes: tuple[int, ...]) -> bool:
    """Whether no value inside the match is needed outside it, those of repeatable ones aside.

    To repeat one of what the match computes would need that outside.
    """
    members = set(nodes)

    def repeatable(index: int) -> bool:
        node = graph.nodes[index]
        makers = (graph.producers.get(name) for name in node.inputs())
        inside = any(maker is not None and maker.index in members for maker in makers)
        return node.operator in REPEATABLE and not inside

    return all(
        members.issuperset(graph.users[graph.nodes[index].output]) or repeatable(index)
        for index in members
        if index != root.index
    )
