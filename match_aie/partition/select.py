"""Choosing who runs what: a cover of the graph by priced candidates."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from match_aie.errors import Infeasible, InternalError, OptionError
from match_aie.hardware import (
    ArrayChip,
    Cost,
    Mapping,
    MatchTarget,
    Objective,
    OnArray,
    Seat,
    facet,
    measure,
    refuse_objective,
)
from match_aie.hardware.graph import Graph
from match_aie.partition.candidates import Candidate
from match_aie.partition.configured import setups
from match_aie.partition.cover import problem
from match_aie.partition.match import REPEATABLE
from match_aie.partition.pricing import (
    CORE_SIDE,
    CYCLES,
    PICOJOULES,
    CoverCost,
    Pricing,
    Weights,
    audit,
    leftover,
)
from match_aie.partition.solve import solve

Rule = Literal["cheapest", "match"]

#: Times that the weights of cycles and energy are tilted, at most, to lower their product.
ROUNDS = 8

#: No capacity.
NOTHING: MappingOf[str, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Option:
    """A candidate with what the mapping search says of it.

    Attributes:
        candidate: who, where.
        mapping: the best mapping; None where nothing fits or the candidate is refused.
        cost: of that mapping, modelled.
        infeasible: why no mapping fits.
        others: the next best mappings and their costs, best first.
        pinned: whether the caller says that this module runs it.
    """

    candidate: Candidate
    mapping: Mapping | None = None
    cost: Cost | None = None
    infeasible: Infeasible | None = None
    others: tuple[tuple[Mapping, Cost], ...] = ()
    pinned: bool = False

    @property
    def reason(self) -> str:
        """Why this option cannot be chosen; empty where it can."""
        return self.candidate.refusal or (str(self.infeasible) if self.infeasible else "")


@dataclass(frozen=True, eq=False)
class Assignment:
    """The chosen options by graph position, and everything that was considered.

    Attributes:
        chosen: who runs what; the fallback runs the rest.
        considered: all options.
        rule: by which it was chosen.
        cost: of the cover, modelled, in cycles.
        match_cost: of the cover that MATCH's rule chooses from the same options.
        proven: whether no cover is cheaper; False where that was not asked, or not shown in time.
        pricing: of what was chosen from, in cycles.
        energy: of the cover, modelled, in picojoules; None where the target states none.
    """

    chosen: tuple[Option, ...]
    considered: tuple[Option, ...]
    rule: Rule
    cost: CoverCost
    match_cost: CoverCost
    proven: bool
    pricing: Pricing
    energy: CoverCost | None = None

    @property
    def placed(self) -> dict[str, str]:
        """Name of the module that runs each node, by the name of the node's result."""
        nodes = self.pricing.graph.nodes
        return {
            nodes[at].output: option.candidate.module.name
            for option in self.chosen
            for at in option.candidate.match.nodes
        }


def select(
    graph: Graph,
    options: Sequence[Option],
    target: MatchTarget,
    *,
    rule: Rule = "cheapest",
    unlimited: frozenset[str] = frozenset(),
    objective: Objective = "latency",
    forced: frozenset[int] = frozenset(),
) -> Assignment:
    """Choose the options that run; no operator runs in two of them, repeatable ones aside.

    Args:
        graph: what to cover.
        options: priced candidates; they may overlap.
        target: prices of the fallback and of moves.
        rule: "cheapest" for the cover of least modelled cost (see `pricing`; equal costs go to
            options that come first), "match" for MATCH's rule.
        unlimited: capacities of the target that are left out.
        objective: what is cheapest: least cycles, least energy, or, as far as a search by
            weights of both finds it, the least product of the two.
        forced: indices of nodes that the core may not run, since they are pinned to modules.

    Raises:
        OptionError: no such rule, the target states no energy, or not all pins can be kept.
        TargetError: a cost is negative or not finite, or clocks cannot be compared.
    """
    if rule not in ("cheapest", "match"):
        raise OptionError(f"no selection called {rule!r}", hint="selection='cheapest' or 'match'")
    wide, origin = alternatives(options, target)
    able = [o for o in wide if o.mapping is not None]
    pricing, asked = Pricing(graph, target), Pricing(graph, target, forced=forced)
    by_rule = longest_first(graph, able, objective)
    match_cost = audit(pricing, by_rule)
    if rule == "match":
        _refuse_broken(asked, by_rule)
        considered = _considered(options, by_rule, origin)
        energy = energy_of(pricing, by_rule)
        return Assignment(by_rule, considered, rule, match_cost, match_cost, False, pricing, energy)
    chosen, proven = best_cover(asked, able, by_rule, unlimited, objective)
    chosen = together(asked, chosen, origin)
    for more, taken in setups(options, target) if objective == "latency" else ():
        wide += [option for _, option in more]
        origin |= {id(option): at for at, option in more}
        with_them = [*able, *(option for _, option in more)]
        other, sure = cheapest(asked, with_them, by_rule, unlimited, taken)
        other = together(asked, other, origin)
        if audit(asked, other).total < audit(asked, chosen).total:
            chosen, proven = other, sure
    _refuse_broken(asked, chosen)
    cost, energy = audit(pricing, chosen), energy_of(pricing, chosen)
    considered = _considered(options, chosen, origin)
    return Assignment(chosen, considered, rule, cost, match_cost, proven, pricing, energy)


def _refuse_broken(pricing: Pricing, chosen: Sequence[Option]) -> None:
    """Refuse a cover that leaves a pinned node to the core."""
    for index in leftover(pricing, chosen).nodes:
        if index in pricing.forced:
            raise OptionError(
                f"{pricing.graph.nodes[index].label!r} cannot run where it is pinned to, together "
                "with the network's other layers",
                hint="pin fewer layers, or give them less of what the target has one of",
            )


def energy_of(pricing: Pricing, chosen: Sequence[Option]) -> CoverCost | None:
    """Picojoules of a cover; None where the target, or one of the modules, states none."""
    if pricing.chip.energy is None:
        return None
    if any(option.cost is None or option.cost.picojoules is None for option in chosen):
        return None
    return audit(replace(pricing, weights=PICOJOULES), chosen)


def best_cover(
    pricing: Pricing,
    able: Sequence[Option],
    start: Sequence[Option],
    unlimited: frozenset[str],
    objective: Objective,
) -> tuple[tuple[Option, ...], bool]:
    """The cover of least cycles or energy, or of a small product of both, and whether proven.

    A product is no sum. Around a cover of T cycles and E picojoules it grows with E cycles and T
    picojoules, so a cover of less E * cycles + T * picojoules is tried next, from the fastest and
    from the thriftiest one, until the product stops to fall.

    Args:
        pricing: what each charge costs.
        able: options that may be chosen.
        start: a cover to begin with.
        unlimited: capacities that are left out.
        objective: what is minimised.
    """
    refuse_objective(objective, pricing.target.name, pricing.chip.energy)
    if objective != "edp":
        weights = CYCLES if objective == "latency" else PICOJOULES
        return cheapest(replace(pricing, weights=weights), able, start, unlimited)
    found: list[tuple[float, tuple[Option, ...]]] = []
    for weights in (CYCLES, PICOJOULES):
        least = float("inf")
        for _ in range(ROUNDS):
            chosen, _proven = cheapest(replace(pricing, weights=weights), able, start, unlimited)
            cycles, energy = audit(pricing, chosen).total, energy_of(pricing, chosen)
            assert energy is not None
            if not cycles * energy.total < least * (1 - 1e-9):
                break
            least = cycles * energy.total
            found.append((least, chosen))
            weights = Weights(1.0, cycles / energy.total if energy.total else 0.0)
    return min(found, key=lambda each: each[0])[1], False


def alternatives(
    options: Sequence[Option], target: MatchTarget
) -> tuple[list[Option], dict[int, int]]:
    """All options, those that take of something shared in every mapping that was found.

    Returns:
        The options, and the position in `options` of each one's origin, by `id`.
    """
    found: list[Option] = []
    origin: dict[int, int] = {}
    for position, option in enumerate(options):
        made = [option]
        if facet(target, ArrayChip).capacities() and demands(option):
            made += [replace(option, mapping=m, cost=c) for m, c in option.others]
        origin |= {id(each): position for each in made}
        found += made
    return found, origin


def demands(option: Option) -> dict[str, int]:
    """What an option takes of the target's capacities."""
    if option.mapping is None or option.candidate.layer is None:
        return {}
    return dict(
        facet(option.candidate.module, OnArray).demands(
            option.candidate.layer.workload, option.mapping
        )
    )


def _considered(
    options: Sequence[Option], chosen: Sequence[Option], origin: dict[int, int]
) -> tuple[Option, ...]:
    """The options, with what was chosen in the place of what it is an alternative to."""
    found = list(options)
    for option in chosen:
        found[origin[id(option)]] = option
    return tuple(found)


def cheapest(
    pricing: Pricing,
    able: Sequence[Option],
    start: Sequence[Option],
    unlimited: frozenset[str] = frozenset(),
    taken: MappingOf[str, int] = NOTHING,
) -> tuple[tuple[Option, ...], bool]:
    """The cheapest cover, by graph position, and whether that is proven.

    Args:
        pricing: what each charge costs.
        able: options that may be chosen.
        start: a cover to begin with.
        unlimited: capacities that are left out.
        taken: of the others, what options do not have.

    Raises:
        InternalError: the solver's sum is not what walking the graph gives: a defect.
    """
    limits = tuple(
        (
            tuple(demands(option).get(name, 0) for option in able),
            capacity - taken.get(name, 0),
        )
        for name, capacity in facet(pricing.target, ArrayChip).capacities().items()
        if name not in unlimited
    )
    task = problem(pricing, able, limits)
    numbers = {id(option): number for number, option in enumerate(able, 1)}
    solution = solve(task, (numbers[id(option)] for option in start))
    chosen = sorted((able[c - 1] for c in solution.chosen), key=lambda o: o.candidate.match.root)
    walked = audit(pricing, chosen, task.unit).total
    if walked != solution.units:
        raise InternalError(f"a cover costs {walked} units, and the solver counts {solution.units}")
    return tuple(chosen), solution.proven


def together(
    pricing: Pricing, chosen: Sequence[Option], origin: dict[int, int]
) -> tuple[Option, ...]:
    """`chosen` with the mappings that the target gives layers which run at the same time.

    `origin` learns what takes the place of what.
    """
    places = [pricing.place(option) for option in chosen]
    written = {pricing.graph.nodes[place.root].output: at for at, place in enumerate(places)}
    rest = leftover(pricing, chosen).readers
    readers: dict[str, list[int]] = {}
    for at, place in enumerate(places):
        for name in dict.fromkeys(place.reads):
            readers.setdefault(name, []).append(at)
    seats = []
    for option, place in zip(chosen, places, strict=True):
        layer, output = option.candidate.layer, pricing.graph.nodes[place.root].output
        if layer is None or option.mapping is None:
            return tuple(chosen)
        sources = tuple(written.get(name) for name in layer.inputs)
        name, leaves = option.candidate.module.name, CORE_SIDE in rest.get(output, {})
        what = name, layer.workload, option.mapping
        read_by = tuple(readers.get(output, ()))
        seats.append(Seat(*what, sources, read_by, leaves, option.candidate.label))
    found = list(chosen)
    for at, (mapping, cost) in facet(pricing.target, ArrayChip).together(seats).items():
        found[at] = replace(chosen[at], mapping=mapping, cost=cost)
        origin[id(found[at])] = origin[id(chosen[at])]
    return tuple(found)


def longest_first(
    graph: Graph, able: Sequence[Option], objective: Objective = "latency"
) -> tuple[Option, ...]:
    """MATCH's rule: the longest pattern first, then the cheapest module; no node runs twice.

    Nodes that cost nothing to repeat (a dequantize) may belong to several layers, and are layers
    of their own only where something outside the chosen layers reads them.
    """
    ordered = sorted(
        able, key=lambda o: (-_weight(graph, o), _price(o, objective), o.candidate.match.root)
    )
    taken: set[int] = set()
    chosen: list[Option] = []
    for option in ordered:
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
    return tuple(sorted(chosen, key=lambda o: o.candidate.match.root))


def _weight(graph: Graph, option: Option) -> int:
    """Operators that the option spares the fallback."""
    return len(
        {i for i in option.candidate.match.nodes if graph.nodes[i].operator not in REPEATABLE}
    )


def _price(option: Option, objective: Objective) -> float:
    return measure(option.cost, objective) if option.cost else 0.0
