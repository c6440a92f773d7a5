"""Networks that are too large for the array at once: alike layers run as one graph, in turn.

A layer whose weights come from the chip's memory in every run leaves little in its tiles. Layers
whose code is the same then need no tiles of their own: one graph is run for each of them, and the
processor gives it the layer's weights and numbers. So an array runs any number of such layers.
Graphs are only shared where there are too few columns, or channels to memory, without that: numbers
that stay in the tiles must be written anew for every layer.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AieArray, in_turn, layer_cost, plans
from match_aie.workload import Workload

#: Bytes a nanosecond of run-time parameters, which the Arm core writes to the tiles' memories.
#: ASSUMPTION: a word of uncached memory in 20 ns.
UPDATED_PER_NS = 0.2

#: How a layer runs, and what it takes.
Planned = tuple[Mapping, Cost]


def kind(workload: Workload, mapping: Mapping, plan: LayerPlan, array: Device) -> Hashable | None:
    """What layers have in common whose graphs differ in nothing but numbers that come at run time.

    None of a layer that needs a graph of its own.

    Args:
        workload: what it computes, in fixed point.
        mapping: how it runs; layers of other mappings have other graphs.
        plan: which that is.
        array: where.
    """
    # One multiplier, of a layer with a single column, is part of the kernels' code.
    alone = any(
        operand.name == "multiplier" and operand.size == 1 for operand in workload.constants
    )
    if alone or not in_turn(plan, array):
        return None
    plain = tuple(replace(operand, scale=None) for operand in workload.operands)
    return replace(workload, operands=plain), mapping


def hosts(
    kinds: Sequence[Hashable | None], needs: Sequence[Sequence[int]], array: Device
) -> list[int]:
    """Number of the graph as which each runs: its own, or that of the first one of its kind.

    Args:
        kinds: of graphs, see `kind`.
        needs: columns, and channels in and out, of each.
        array: where.
    """
    own = list(range(len(kinds)))
    if _fit(needs, array):
        return own
    first: dict[Hashable, int] = {}
    return [at if of is None else first.setdefault(of, at) for at, of in enumerate(kinds)]


def _fit(needs: Sequence[Sequence[int]], array: Device) -> bool:
    most = array.columns, array.gmio_in or 0, array.gmio_out or 0
    return all(sum(need[at] for need in needs) <= much for at, much in enumerate(most))


def updated(cost: Cost, graph: LayerGraph, array: Device) -> Cost:
    """The cost of a layer whose graph is given its numbers in every run."""
    more = updated_bytes(graph) / UPDATED_PER_NS * array.clock_ghz
    parts = tuple((of, much + more if of == "host" else much) for of, much in cost.parts)
    return replace(cost, cycles=cost.cycles + more, parts=parts)


def updated_bytes(graph: LayerGraph) -> int:
    """Bytes of a graph's run-time parameters."""
    sizes = {c_type: BYTES[dtype] for dtype, c_type in C_TYPES.items()}
    return sum(p.size * sizes[p.c_type] for _, _, p in graph.parameters)


@dataclass(frozen=True)
class _Kind:
    """Layers that may run as one graph.

    Attributes:
        seats: their numbers.
        plans: of each of them, narrowest first, each faster than the one before.
    """

    seats: tuple[int, ...]
    plans: tuple[LayerPlan, ...]


def by_turns(
    layers: Sequence[Seat], found: MappingOf[int, Planned], array: AieArray, asked: Collection[str]
) -> dict[int, Planned]:
    """Plans of layers whose weights go by, where those that were chosen do not fit side by side.

    Each kind gets one plan; the fastest ones that fit together, found by making that one narrower
    which loses the least for every column.

    Args:
        layers: that were selected.
        found: how some of them run together, which stays so.
        array: the module.
        asked: labels of layers of which users ask something.
    """
    whole = device(array.device)
    chosen = {
        at: array.plan(layer.workload, found[at][0] if at in found else layer.mapping)
        for at, layer in enumerate(layers)
        if layer.module == array.name
    }
    kinds: dict[Hashable, list[int]] = {}
    for at, plan in chosen.items():
        if in_turn(plan, whole) and layers[at].label not in asked:
            same = kind(layers[at].workload, Mapping((), ()), plan, whole)
            kinds.setdefault(same or at, []).append(at)
    free = {at for seats in kinds.values() for at in seats}
    # What chains of the others take of the channels is not known yet.
    rest = [(plan.columns, 0, 0) for at, plan in chosen.items() if at not in free]
    if _fit([*rest, *(_needs(chosen[at]) for at in free)], whole):
        return dict(found)
    groups = [_kind(seats, layers, array) for seats in kinds.values()]
    made = dict(found)
    for group, plan in _fitting([group for group in groups if group.plans], rest, whole):
        for at in group.seats:
            cost = layer_cost(plan, layers[at].workload, whole, aim=array.aim)
            made[at] = plan.nest, cost
    return made


def _needs(plan: LayerPlan) -> tuple[int, int, int]:
    """Columns, and channels to memory."""
    return plan.columns, *(plan.ways if plan.memory == "ddr" else (0, 0))


def _kind(seats: Sequence[int], layers: Sequence[Seat], array: AieArray) -> _Kind:
    found = plans(layers[seats[0]].workload, array.device, array.columns, array.memory, array.aim)
    able = () if isinstance(found, Infeasible) else found
    whole = device(array.device)
    return _Kind(tuple(seats), tuple(plan for plan in able if in_turn(plan, whole)))


def _fitting(
    groups: Sequence[_Kind], rest: Sequence[Sequence[int]], whole: Device
) -> list[tuple[_Kind, LayerPlan]]:
    """A plan for each kind beside what the others need; none where there is no room."""
    at = [len(group.plans) - 1 for group in groups]
    while True:
        plans = [group.plans[number] for group, number in zip(groups, at, strict=True)]
        if _fit([*rest, *(_needs(plan) for plan in plans)], whole):
            return list(zip(groups, plans, strict=True))
        losses = [
            (_loss(group, number), which)
            for which, (group, number) in enumerate(zip(groups, at, strict=True))
            if number
        ]
        if not losses:
            return []
        at[min(losses)[1]] -= 1


def _loss(group: _Kind, number: int) -> float:
    """Cycles that a kind's layers take more on the next narrower plan, for each column."""
    narrow, wide = group.plans[number - 1 : number + 1]
    return len(group.seats) * (narrow.cycles - wide.cycles) / (wide.columns - narrow.columns)
