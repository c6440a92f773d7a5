"""Every (pattern, module) that matches anywhere in the graph; candidates may overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from match_aie.errors import OptionError
from match_aie.hardware import (
    REQUANTISE,
    ExecModule,
    MatchTarget,
    Original,
    Pattern,
    comes_near,
    convert,
)
from match_aie.hardware.graph import Graph
from match_aie.hardware.guard import refusal
from match_aie.partition.extract import extract
from match_aie.partition.layer import Extracted
from match_aie.partition.match import Match, matches
from match_aie.partition.spelling import refuse_unknown_operators
from match_aie.workload import Kind

#: Operators that stand around a layer rather than being it.
EDGES = frozenset({"quantize", "dequantize", "clip", "astype"})


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


def candidates(
    graph: Graph, target: MatchTarget, arithmetic: str = "module"
) -> tuple[Candidate, ...]:
    """All candidates of all modules, by graph position, then module, then pattern order.

    With arithmetic "nearest" modules take the nearest layer where they refuse one.

    Raises:
        OptionError: it was asked for, and no module of the target has any.
        TargetError: a pattern names an operator that there is not.
    """
    refuse_unknown_operators(target)
    nearest = arithmetic == "nearest"
    if nearest and not any(comes_near(module) for module in target.modules()):
        raise OptionError(
            f"no module of target {target.name} has an arithmetic that comes near a layer's",
            hint="arithmetic='module' or 'model'; Diana has 'nearest'",
        )
    # Asked for once: a module may make its patterns anew each time.
    tables: dict[str, list[tuple[ExecModule, Pattern]]] = {}
    for module in target.modules():
        for pattern in module.patterns():
            tables.setdefault(pattern.structure.operator, []).append((module, pattern))
    return tuple(
        candidate
        for node in graph.nodes
        for module, pattern in tables.get(node.operator, ())
        for candidate in _at(graph, module, pattern, node.index, nearest)
    )


def candidates_of(graph: Graph, module: ExecModule, pattern: Pattern) -> tuple[Candidate, ...]:
    """The candidates of one pattern of one module, by graph position."""
    return tuple(
        candidate
        for node in graph.nodes
        if pattern.structure.operator == node.operator
        for candidate in _at(graph, module, pattern, node.index)
    )


def _at(
    graph: Graph, module: ExecModule, pattern: Pattern, root: int, nearest: bool = False
) -> Iterator[Candidate]:
    """The first accepted match of `pattern` at `root`, or its first refusal.

    Args:
        graph: the network.
        module: who would run it.
        pattern: one of its.
        root: index of the node that it ends at.
        nearest: see `candidates`.
    """
    refused: Candidate | None = None
    for match in matches(graph, pattern.structure, graph.nodes[root]):
        label = _label(graph, match, pattern.kind)
        if all(graph.values[name].constant is not None for name in match.bound.values()):
            continue  # known at compile time: nothing to run
        layer = extract(graph, match, pattern.kind)
        if isinstance(layer, Extracted):
            who = f"pattern {pattern.name!r} of module {module.name!r}"
            layer = refusal(pattern.refuses, layer.workload, who) or _converted(
                layer, module, nearest
            )
        if isinstance(layer, Extracted):
            yield Candidate(module, pattern, match, label, layer)
            return
        refused = refused or Candidate(module, pattern, match, label, None, layer)
    if refused is not None:
        yield refused


def _converted(layer: Extracted, module: ExecModule, nearest: bool) -> Extracted | str:
    """`layer` in the module's own arithmetic, which remembers what it was."""
    answer = convert(module, layer.workload, layer.constants, nearest=nearest)
    if isinstance(answer, str):
        return answer
    if answer.workload is layer.workload and answer.constants is layer.constants:
        return layer
    original = Original(layer.workload, layer.constants, answer.error_lsb)
    return replace(layer, workload=answer.workload, constants=answer.constants, original=original)


def _label(graph: Graph, match: Match, kind: Kind) -> str:
    """The name of the operator that does the work, which users look for, not of its quantize."""
    nodes = [graph.nodes[i] for i in match.nodes]
    named = [n for n in nodes if n.operator not in EDGES and n.label] or [nodes[0]]
    integer = all(n.operator != "quantize" for n in nodes)
    if integer and kind in ("conv2d", "dense"):
        # In integer graphs what requantises has names of its own.
        named = [n for n in named if n.operator not in REQUANTISE] or named
    return named[0].label or named[0].output
