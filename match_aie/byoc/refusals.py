"""Why a target does not run what its patterns match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from match_aie.byoc.composite import composite_name
from match_aie.byoc.glue import MOVES
from match_aie.byoc.points import as_main, entry_points
from match_aie.byoc.relaxed import relaxed
from match_aie.hardware import MatchTarget
from match_aie.options import CompileOptions
from match_aie.partition import to_graph
from match_aie.pipeline import decide, resolve
from match_aie.priced import Resources


@dataclass(frozen=True)
class Refusal:
    """A layer that a module did not take, or an operator that no pattern matches.

    Attributes:
        layer: name of a variable of the module.
        composite: name that it would have had; empty where no pattern matches.
        reason: a sentence.
    """

    layer: str
    composite: str
    reason: str


def refusals(
    module: Any,
    target: str | MatchTarget = "CPU",
    *,
    params: Any = None,
    cache: bool | str = True,
) -> tuple[Refusal, ...]:
    """What of `module` runs on no module of `target`, or not on every one that could, and why.

    First what a pattern matches and its module or mapping does not take (another one may), then
    operators that no pattern matches. Arguments as `partition` takes them.

    Args:
        module: a Relax module.
        target: a target, or the name of an installed one.
        params: values of parameters, by name.
        cache: of search results, as `match_aie.compile` takes it.

    Raises:
        ModelError: `main` is no straight-line Relax function with static shapes.
        TargetError: no such target.
    """
    chip = resolve(target)
    module = relaxed(module, params)
    found: tuple[Refusal, ...] = ()
    for name in entry_points(module):
        found += _of_main(as_main(module, name), chip, cache)
    return found


def _of_main(module: Any, chip: MatchTarget, cache: bool | str) -> tuple[Refusal, ...]:
    options = CompileOptions(None, {})
    decision = decide(module, chip, options, Resources(cache=cache))
    considered = decision.assignment.considered
    refused = tuple(
        Refusal(
            option.candidate.label,
            composite_name(option.candidate.module.name, option.candidate.pattern.name),
            option.reason,
        )
        for option in considered
        if option.reason
    )
    taken = {
        index
        for option in decision.assignment.chosen
        if option.candidate.layer
        for index in option.candidate.match.nodes
    }
    dear = tuple(
        Refusal(
            option.candidate.label,
            composite_name(option.candidate.module.name, option.candidate.pattern.name),
            "its estimate is above that of plain C, so it is left out",
        )
        for option in considered
        if option.candidate.layer
        and not option.reason
        and taken.isdisjoint(option.candidate.match.nodes)
    )
    matched = {index for option in considered for index in option.candidate.match.nodes}
    unknown = tuple(
        Refusal(node.label, "", f"no pattern of target {chip.name} matches {node.operator} here")
        for node in to_graph(decision.model).nodes
        if node.index not in matched and node.operator not in MOVES
    )
    return refused + dear + unknown
