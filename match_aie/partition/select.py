"""Choosing who runs what: a cover of the graph by priced candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, Mapping
from match_aie.partition.candidates import Candidate
from match_aie.partition.graph import Graph
from match_aie.partition.match import REPEATABLE


@dataclass(frozen=True, eq=False)
class Option:
    """A candidate with what the mapping search says of it.

    Attributes:
        candidate: who, where.
        mapping: the best mapping; None where nothing fits or the candidate is refused.
        cost: of that mapping, modelled.
        infeasible: why no mapping fits.
    """

    candidate: Candidate
    mapping: Mapping | None = None
    cost: Cost | None = None
    infeasible: Infeasible | None = None

    @property
    def reason(self) -> str:
        """Why this option cannot be chosen; empty where it can."""
        return self.candidate.refusal or (str(self.infeasible) if self.infeasible else "")


@dataclass(frozen=True, eq=False)
class Assignment:
    """The chosen options by graph position, and everything that was considered."""

    chosen: tuple[Option, ...]
    considered: tuple[Option, ...]


def select(graph: Graph, options: Sequence[Option]) -> Assignment:
    """MATCH's rule: the longest pattern first, then the cheapest module; no node runs twice.

    Nodes that cost nothing to repeat (a dequantize) may belong to several layers, and are layers
    of their own only where something outside the chosen layers reads them.
    """
    able = [o for o in options if o.mapping is not None]
    able.sort(key=lambda o: (-_weight(graph, o), _cycles(o), o.candidate.match.root))
    taken: set[int] = set()
    chosen: list[Option] = []
    for option in able:
        match = option.candidate.match
        root = graph.nodes[match.root]
        solid = {i for i in match.nodes if graph.nodes[i].operator not in REPEATABLE}
        alone = root.operator in REPEATABLE
        if taken & (solid | {match.root}):
            continue
        if alone and taken.issuperset(graph.users[root.output]):
            continue
        chosen.append(option)
        taken |= solid | {match.root}
    chosen.sort(key=lambda o: o.candidate.match.root)
    return Assignment(tuple(chosen), tuple(options))


def _weight(graph: Graph, option: Option) -> int:
    """Operators that the option spares the fallback."""
    return len(
        {i for i in option.candidate.match.nodes if graph.nodes[i].operator not in REPEATABLE}
    )


def _cycles(option: Option) -> float:
    return option.cost.cycles if option.cost else 0.0
