"""Layers of a network that are planned together.

Selection takes a plan of each layer as if it stood alone. Dense layers in a row, fed by streams of
programmable logic, are planned anew here: as a pipeline, each stage on tiles of its own, where
throughput counts, and on tiles that several layers share, where that is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.pipeline import gates
from match_aie.targets.aie_ml.graph.pipeline_plan import pipeline_plans
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan
from match_aie.targets.aie_ml.graph.stack_plan import StackPlan, stack_of_plans, stack_plan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AROUND_NS, AieArray, Place, layer_cost


def shares(plans: Iterable[SpreadPlan]) -> list[Cost]:
    """What each stage takes of the cycles between two results, which are the slowest one's."""
    cycles = [plan.interval for plan in plans]
    scale = max(cycles) / sum(cycles)
    return [Cost(own * scale, (("array", own * scale), ("host", 0.0))) for own in cycles]


@dataclass(frozen=True)
class Row:
    """Layers in a row, planned together.

    Attributes:
        mappings: of each.
        costs: what each takes there.
        columns: of the array, of all of them.
        cycles: what is compared.
    """

    mappings: tuple[Mapping, ...]
    costs: tuple[Cost, ...]
    columns: int
    cycles: float


def stack_costs(plan: StackPlan, gigahertz: float, aim: Aim) -> list[Cost]:
    """What each of the layers takes that share tiles."""
    if aim == "throughput":
        scale = plan.interval / sum(plan.cycles)
        return [Cost(own * scale, (("array", own * scale), ("host", 0.0))) for own in plan.cycles]
    around = [AROUND_NS * gigahertz, *(0.0 for _ in plan.cycles[1:])]
    return [
        Cost(own + host, (("array", own), ("host", host)))
        for own, host in zip(plan.cycles, around, strict=True)
    ]


def row_costs(plans: Sequence[SpreadPlan], name: str, aim: Aim) -> Sequence[Cost] | None:
    """Costs of layers of one graph that were planned together; None where each stands alone.

    Args:
        plans: of the layers, in the order in which they run.
        name: of the device.
        aim: which cycles count.
    """
    plan = stack_of_plans(plans, name)
    if plan is not None:
        return stack_costs(plan, device(name).clock_ghz, aim)
    return shares(plans) if aim == "throughput" else None


def together(
    layers: Sequence[Seat], array: AieArray, columns: int
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers that run together, and what they take of the cycles.

    For throughput they are stages side by side; where their weights are few, they share tiles.

    Args:
        layers: that were selected.
        array: the module.
        columns: of the device.
    """
    mine = [at for at, layer in enumerate(layers) if layer.module == array.name]
    taken = {at: array.plan(layers[at].workload, layers[at].mapping).columns for at in mine}
    found: dict[int, tuple[Mapping, Cost]] = {}
    for run in _runs(layers, array):
        free = columns - sum(taken[at] for at in mine if at not in run)
        seats = [layers[at] for at in run]
        rows = [_shared(seats, array), _staged(seats, array, free), _as_chosen(seats, array)]
        able = [row for row in rows if row is not None and row.columns <= free]
        best = min(able, key=lambda row: row.cycles, default=None)
        if best is None:
            continue
        for at, mapping, cost in zip(run, best.mappings, best.costs, strict=True):
            found[at] = mapping, cost
            taken[at] = 0
        taken[run[0]] = best.columns
    return found


def _staged(seats: Sequence[Seat], array: AieArray, free: int) -> Row | None:
    """As stages of a pipeline, side by side."""
    if array.aim != "throughput":
        return None
    stages = [(dense_layer(seat.workload), seat.workload) for seat in seats]
    plans = pipeline_plans(stages, array.device, free, array.columns)
    if isinstance(plans, Infeasible):
        return None
    return Row(
        tuple(plan.nest for plan in plans),
        tuple(shares(plans)),
        sum(plan.columns for plan in plans),
        max(plan.interval for plan in plans),
    )


def _shared(seats: Sequence[Seat], array: AieArray) -> Row | None:
    """On tiles that several layers share."""
    plan = stack_plan([dense_layer(seat.workload) for seat in seats], array.device, array.aim)
    if isinstance(plan, Infeasible):
        return None
    whole = device(array.device)
    return Row(
        tuple(each.nest for each in plan.plans),
        tuple(stack_costs(plan, whole.clock_ghz, array.aim)),
        -(-len(plan.tiles) // whole.core_rows),
        plan.aimed(array.aim),
    )


def _as_chosen(seats: Sequence[Seat], array: AieArray) -> Row | None:
    """As selection took them, one after the other; no answer for throughput.

    Where a result does not stay on the array for the next layer, the processor starts it anew.
    """
    if array.aim == "throughput":
        return None
    gigahertz = device(array.device).clock_ghz
    found = [array.plan(seat.workload, seat.mapping) for seat in seats]
    plans = [plan for plan in found if isinstance(plan, SpreadPlan)]
    apart = [isinstance(gates(a.timed, b.timed), Infeasible) for a, b in pairwise(plans)]
    costs = [
        layer_cost(plan, seat.workload, gigahertz, Place(first=first), array.aim)
        for plan, seat, first in zip(plans, seats, (True, *apart), strict=True)
    ]
    started = sum(apart) * AROUND_NS * gigahertz
    return Row(
        tuple(seat.mapping for seat in seats),
        tuple(costs),
        sum(plan.columns for plan in plans),
        sum(plan.cycles for plan in plans) + started,
    )


def _runs(layers: Sequence[Seat], array: AieArray) -> list[list[int]]:
    """Numbers of layers in a row, at least two, of which each reads the one before it alone."""

    def stage(layer: Seat) -> bool:
        if layer.module != array.name:
            return False
        return isinstance(array.plan(layer.workload, layer.mapping), SpreadPlan)

    found: list[list[int]] = []
    for before, after in pairwise(range(len(layers))):
        a, b = layers[before], layers[after]
        follows = b.sources == (before,) and a.readers == (after,) and not a.leaves
        if not (follows and stage(a) and stage(b)):
            continue
        if found and found[-1][-1] == before:
            found[-1].append(after)
        else:
            found.append([before, after])
    return found
