"""Every (pattern, module) that matches anywhere in the graph; candidates may overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match_aie.hardware import ExecModule, MatchTarget, Pattern
from match_aie.partition.extract import Extracted, extract
from match_aie.partition.graph import Graph
from match_aie.partition.match import Match, matches


@dataclass(frozen=True, eq=False)
class Candidate:
    """A module that could run a piece of the graph, or the reason why it cannot.

    Attributes:
        module: the execution module.
        pattern: what matched.
        match: where.
        label: what users know the piece's result by.
        layer: what it computes; None where it is refused.
        refusal: a sentence; empty where it is not refused.
    """

    module: ExecModule
    pattern: Pattern
    match: Match
    label: str
    layer: Extracted | None
    refusal: str = ""


def candidates(graph: Graph, target: MatchTarget) -> tuple[Candidate, ...]:
    """All candidates of all modules, by graph position, then module, then pattern order."""
    return tuple(
        candidate
        for node in graph.nodes
        for module in target.modules()
        for pattern in module.patterns()
        if pattern.structure.operator == node.operator
        for candidate in _at(graph, module, pattern, node.index)
    )


def _at(graph: Graph, module: ExecModule, pattern: Pattern, root: int) -> Iterator[Candidate]:
    """The first accepted match of `pattern` at `root`, or its first refusal."""
    label = graph.nodes[root].label or graph.nodes[root].output
    refused: Candidate | None = None
    for match in matches(graph, pattern.structure, graph.nodes[root]):
        if all(graph.values[name].constant is not None for name in match.bound.values()):
            continue  # known at compile time: nothing to run
        layer = extract(graph, match, pattern.kind)
        refusal = layer if isinstance(layer, str) else pattern.refuses(layer.workload)
        if refusal is None and isinstance(layer, Extracted):
            yield Candidate(module, pattern, match, label, layer)
            return
        refused = refused or Candidate(module, pattern, match, label, None, refusal or "")
    if refused is not None:
        yield refused
