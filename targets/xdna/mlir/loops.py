"""Calls of a core as nested loops: what repeats stands in the text once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from match_aie.targets.xdna.mlir.body import Called

#: Calls that stand behind each other without a loop: so few need none.
PLAIN = 16


@dataclass(frozen=True)
class Loop:
    """Calls so often.

    Attributes:
        at: number of the first call, from where the loop around it begins.
        count: turns.
        step: calls of a turn.
        body: calls and loops of a turn, whose numbers count from where a turn begins.
    """

    at: int
    count: int
    step: int
    body: tuple[Node, ...]


Node = Called | Loop


def looped(calls: Sequence[Called]) -> tuple[Node, ...]:
    """The same calls, with what repeats in loops where they are more than a few."""
    return _looped(tuple(calls))


#: Cores of a layer have the same calls, and a text of several sequences is printed for each.
@lru_cache(maxsize=64)
def _looped(calls: tuple[Called, ...]) -> tuple[Node, ...]:
    nodes: list[Node] = list(calls)
    if len(nodes) <= PLAIN:
        return calls
    period, kinds = 1, _kinds(nodes)
    while 2 * period <= len(nodes):
        folded = _folded(nodes, kinds, period)
        if folded is None:
            period += 1
        else:
            period, nodes, kinds = 1, folded, _kinds(folded)
    return tuple(nodes)


def leaves(nodes: Sequence[Node]) -> Iterator[Called]:
    """All calls that are written down."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from leaves(node.body)
        else:
            yield node


def loops(nodes: Sequence[Node]) -> Iterator[Loop]:
    """All loops, outer ones first."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node
            yield from loops(node.body)


def _length(node: Node) -> int:
    return node.count * node.step if isinstance(node, Loop) else 1


def _kinds(nodes: Sequence[Node]) -> list[int]:
    """A number for each, equal where nodes are but for where they stand."""
    shapes: dict[Node, int] = {}
    return [shapes.setdefault(replace(node, at=0), len(shapes)) for node in nodes]


def _folded(nodes: Sequence[Node], kinds: Sequence[int], period: int) -> list[Node] | None:
    """With repetitions of so many nodes as loops; None where there are none."""
    found: list[Node] = []
    at = 0
    while at < len(nodes):
        turns = _turns(nodes, kinds, at, period)
        if turns > 1:
            found.append(_loop(nodes[at : at + period], turns))
            at += period * turns
        else:
            found.append(nodes[at])
            at += 1
    return found if len(found) < len(nodes) else None


def _turns(nodes: Sequence[Node], kinds: Sequence[int], at: int, period: int) -> int:
    """How often the nodes at `at` follow each other, their numbers too."""
    last, turns = at + period, 1
    if last + period > len(nodes) or kinds[at] != kinds[last]:
        return turns
    step = sum(map(_length, nodes[at:last]))
    while last + turns * period <= len(nodes):
        ahead = turns * period
        for n in range(at, last):
            far = nodes[n].at + turns * step
            if kinds[n] != kinds[n + ahead] or nodes[n + ahead].at != far:
                return turns
        turns += 1
    return turns


def _loop(turn: Sequence[Node], turns: int) -> Loop:
    first = turn[0].at
    body = tuple(replace(node, at=node.at - first) for node in turn)
    return Loop(first, turns, sum(map(_length, turn)), body)
