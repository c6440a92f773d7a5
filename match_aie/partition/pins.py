"""Pins: which module runs a layer because the caller says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from match_aie.errors import OptionError
from match_aie.hardware import MatchTarget
from match_aie.hardware.graph import Graph
from match_aie.partition.pricing import Pricing
from match_aie.partition.select import Option

#: What a layer is pinned to that no module shall run.
CORE = "core"


def pinned(
    graph: Graph, options: Sequence[Option], pins: Mapping[str, str], target: MatchTarget
) -> tuple[list[Option], frozenset[int]]:
    """The options, those that a pin excludes refused, and the nodes that the core may not run.

    A name may stand for several layers (a change of the order of an operator's input has the
    operator's): the one is meant whose operator takes the core longest. The pin holds for what
    every pattern of the module has in common there.

    Args:
        graph: what is covered.
        options: priced candidates.
        pins: name of a layer (as `match-aie explain` shows it) -> name of a module, or "core".
        target: whose modules they are.

    Raises:
        OptionError: no such layer or module, the module cannot run the layer, or two pins
            contradict each other.
    """
    pricing = Pricing(graph, target)
    modules = {module.name for module in target.modules()}
    found, forced = list(options), set[int]()
    held: dict[int, tuple[str, str]] = {}
    for layer, module in pins.items():
        if module != CORE and module not in modules:
            raise OptionError(
                f"{layer!r} is pinned to {module!r}, and {target.name} has no such module",
                hint=f"one of {', '.join(sorted(modules))}, or {CORE!r}",
            )
        nodes = _nodes(pricing, options, layer, module)
        for node in nodes:
            other, where = held.setdefault(node, (layer, module))
            if where != module:
                raise OptionError(
                    f"{layer!r} is pinned to {module!r}, and {other!r}, which holds the same "
                    f"operators, to {where!r}",
                    hint="pin one of them",
                )
        if module != CORE:
            forced |= nodes
    if held:
        found = [_judged(option, held) for option in found]
    return found, frozenset(forced)


def _nodes(pricing: Pricing, options: Sequence[Option], layer: str, module: str) -> frozenset[int]:
    """Indices of the nodes that a pin of `layer` to `module` is about.

    Raises:
        OptionError: there is no such layer, or the module cannot run it.
    """
    named = [option for option in options if option.candidate.label == layer]
    if not named:
        labels = list(dict.fromkeys(option.candidate.label for option in options))
        close = get_close_matches(layer, labels, 3) or labels[:5]
        raise OptionError(
            f"no layer that a module could run is called {layer!r}",
            hint=f"`match-aie explain` lists their names, such as {', '.join(close)}",
        )
    held = {index for option in named for index in option.candidate.match.nodes}
    work = max(sorted(held), key=pricing.fallback)
    named = [option for option in named if work in option.candidate.match.nodes]
    wanted = [o for o in named if module in (CORE, o.candidate.module.name)]
    able = [o for o in wanted if module == CORE or o.mapping is not None]
    if not able:
        reasons = dict.fromkeys(o.reason for o in wanted if o.reason)
        why = "; ".join(reasons) or "none of its patterns matches there"
        others = dict.fromkeys(o.candidate.module.name for o in named if o.mapping is not None)
        raise OptionError(
            f"{layer!r} is pinned to {module!r}, which cannot run it: {why}",
            hint=f"who can: {', '.join((*others, CORE))}",
        )
    return frozenset.intersection(*(_solid(pricing, option) for option in able))


def _solid(pricing: Pricing, option: Option) -> frozenset[int]:
    """Nodes of an option that no other one may compute too."""
    nodes = option.candidate.match.nodes
    solid = frozenset(index for index in nodes if not pricing.repeatable(index))
    return solid or frozenset(nodes)


def _judged(option: Option, held: Mapping[int, tuple[str, str]]) -> Option:
    """`option`, refused where a node of it is pinned to somebody else; pinned where it is to it."""
    pins = {held[node] for node in option.candidate.match.nodes if node in held}
    name = option.candidate.module.name
    for layer, module in sorted(pins):
        if module != name:
            refusal = f"{layer!r} is pinned to {module!r}"
            candidate = replace(option.candidate, layer=None, refusal=refusal)
            return Option(candidate, cost=option.cost)
    return replace(option, pinned=True) if pins else option
