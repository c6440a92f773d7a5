"""Layers of a network that are planned together.

Selection takes a plan of each layer as if it stood alone. Dense layers in a row are planned anew
here: as a pipeline, each stage on tiles of its own, where throughput counts, and on tiles that
several layers share, where streams of programmable logic feed them and that is faster. Where the
chip's memory feeds them, its rate, shared by the way in and the way out, is one more bound.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.pipeline import gates
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_links import refuses_whole
from match_aie.targets.aie_ml.graph.pipeline_offers import Keeps
from match_aie.targets.aie_ml.graph.pipeline_plan import (
    COPIES,
    StagePlan,
    pipeline_plans,
)
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan, WayKind
from match_aie.targets.aie_ml.graph.stack_plan import StackPlan, stack_of_plans, stack_plan
from match_aie.targets.aie_ml.graph.timed_splits import MEMORY_GBPS
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.kept import keeping, refuse_columns, refuse_stages
from match_aie.targets.versal.module import (
    COPIED_PER_NS,
    AieArray,
    Place,
    around_ns,
    layer_cost,
)
from match_aie.targets.versal.runs import parts_of, runs_of, wanted_of
from match_aie.targets.versal.wanted import wanted
from match_aie.targets.versal.wishes import NO_WISHES, Wish


def shares(plans: Sequence[StagePlan], whole: Device) -> list[Cost]:
    """What each stage takes of the cycles between two results, which are the slowest one's.

    What the chip's memory takes longer than that, and the processor's copies around the first and
    the last stage, are told apart.

    Args:
        plans: of the stages, in their order.
        whole: the device.
    """
    gigahertz, rate = whole.clock_ghz, whole.dram_gbps or MEMORY_GBPS
    cycles = [plan.interval for plan in plans]
    scale, ends = max(cycles) / sum(cycles), (0, len(plans) - 1)
    moved = [0.0] * len(plans)
    if plans[0].through == "gmio":
        for at, way in zip(ends, (0, 1), strict=True):
            moved[at] += plans[at].moved[way]
    beyond = max(0.0, sum(moved) * gigahertz / rate - max(cycles))
    found = []
    for own, size in zip(cycles, moved, strict=True):
        waits = beyond * size / sum(moved) if size else 0.0
        host = size * gigahertz / COPIED_PER_NS
        parts = ("array", own * scale), ("memory", waits), ("host", host)
        found.append(Cost(sum(part for _, part in parts), parts))
    return found


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


def stack_costs(plan: StackPlan, array: Device, aim: Aim, *, started: bool = True) -> list[Cost]:
    """What each of the layers takes that share tiles; the first one the graph's start.

    Not where it is not `started`: selection counts that by itself (`VersalAIEML.start_cost`).
    """
    around, own = [0.0] * len(plan.cycles), plan.cycles
    if aim == "throughput":
        own = tuple(cycles * plan.interval / sum(plan.cycles) for cycles in plan.cycles)
    elif started:
        around[0] += around_ns(array) * array.clock_ghz
    if plan.plans[0].through == "gmio":
        for at, way in ((0, 0), (-1, 1)):
            around[at] += plan.plans[at].moved[way] * array.clock_ghz / COPIED_PER_NS
    return [
        Cost(cycles + host, (("array", cycles), ("host", host)))
        for cycles, host in zip(own, around, strict=True)
    ]


def row_costs(plans: Sequence[StagePlan], name: str, aim: Aim) -> Sequence[Cost] | None:
    """Costs of layers of one graph that were planned together; None where each stands alone.

    Args:
        plans: of the layers, in the order in which they run.
        name: of the device.
        aim: which cycles count.
    """
    straight = not device(name).mem_rows
    spread = [plan for plan in plans if isinstance(plan, SpreadPlan)]
    able = len(spread) == len(plans) and (plans[0].through == "plio" or straight)
    plan = stack_of_plans(spread, name) if able else None
    if plan is not None:
        return stack_costs(plan, device(name), aim)
    return shares(plans, device(name)) if aim == "throughput" else None


def together(
    layers: Sequence[Seat],
    array: AieArray,
    columns: int,
    wishes: MappingOf[str, Wish] = NO_WISHES,
    *,
    most: int = 0,
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers that run together, and what they take of the cycles.

    For throughput they are stages side by side; where their weights are few, they share tiles.
    Also those of layers of which their users ask something.

    Args:
        layers: that were selected.
        array: the module.
        columns: of the device.
        wishes: of users, by label.
        most: columns of one layer; 0 where layers do not run together.

    Raises:
        TargetError: a wish cannot be kept.
    """
    mine = [at for at, layer in enumerate(layers) if layer.module == array.name]
    taken = {at: array.plan(layers[at].workload, layers[at].mapping).columns for at in mine}
    runs = runs_of(layers, array, wishes, most) if most else []
    found = _alone(layers, array, columns, wishes, taken, [at for run in runs for at in run])
    waiting = list(runs)
    while waiting:
        run = waiting.pop(0)
        free = columns - sum(taken[at] for at in mine if at not in run)
        rows = [_staged(layers, runs, run, array, wishes, free, most)]
        dense = all(layers[at].workload.kind == "dense" for at in run)
        if dense and not any(layers[at].label in wishes for at in run):
            seats = [layers[at] for at in run]
            rows = [_shared(seats, array), *rows, _as_chosen(seats, array)]
        able = [row for row in rows if row is not None and row.columns <= free]
        best = min(able, key=lambda row: row.cycles, default=None)
        if best is None:
            waiting += parts_of(layers, run)
            continue
        for at, mapping, cost in zip(run, best.mappings, best.costs, strict=True):
            found[at] = mapping, cost
            taken[at] = 0
        taken[run[0]] = best.columns
    return found


def _alone(
    layers: Sequence[Seat],
    array: AieArray,
    columns: int,
    wishes: MappingOf[str, Wish],
    taken: dict[int, int],
    staged: Sequence[int],
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers with wishes that no others run together with.

    Args:
        layers: that were selected.
        array: the module.
        columns: of the device.
        wishes: of users, by label.
        taken: columns of each layer; those of the found ones are written here.
        staged: numbers of the layers that run together with others.

    Raises:
        TargetError: a wish cannot be kept.
    """
    found: dict[int, tuple[Mapping, Cost]] = {}
    for at in taken:
        wish = wishes.get(layers[at].label)
        if wish is not None and wish.of_plan and at not in staged:
            plan = wanted(layers[at].workload, array, wish)
            whole = device(array.device)
            place = Place(first=not array.joins)
            cost = layer_cost(plan, layers[at].workload, whole, place, array.aim)
            found[at], taken[at] = (plan.nest, cost), plan.columns
            refuse_columns(wish, taken, columns)
    return found


def _staged(
    layers: Sequence[Seat],
    runs: Sequence[Sequence[int]],
    run: Sequence[int],
    array: AieArray,
    wishes: MappingOf[str, Wish],
    free: int,
    most: int,
) -> Row | None:
    """As stages of a pipeline, side by side.

    Args:
        layers: that were selected.
        runs: numbers of all that may be stages, by pipeline.
        run: numbers of the stages.
        array: the module.
        wishes: of users, by label.
        free: columns that other layers leave.
        most: columns of one stage.

    Raises:
        TargetError: a wish of a stage cannot be kept.
    """
    if array.aim != "throughput" or not device(array.device).mem_rows:
        return None
    stages = [(wanted_of(layers, run, at), layers[at].workload) for at in run]
    asked = [wishes.get(layers[at].label) for at in run]
    keeps = [keeping(wish, most) for wish in asked]
    through, least = _beyond(layers, runs, run, array, keeps)
    wide = max([most, *(wish.columns or 0 for wish in asked if wish is not None)])
    # Users say what one of a layer takes; ways to the chip's memory are too few for copies.
    copies = (1,) if through == "gmio" or any(asked) else COPIES
    plans = pipeline_plans(stages, array.device, free, wide, keeps, through, least, copies)
    if isinstance(plans, Infeasible):
        offers = [
            candidates(layer, array.device, wide) if isinstance(layer, DenseLayer) else ()
            for layer, _ in stages
        ]
        refuse_stages(asked, keeps, offers, plans)
        return None
    return Row(
        tuple(plan.nest for plan in plans),
        tuple(shares(plans, device(array.device))),
        sum(plan.columns for plan in plans),
        max(plan.interval for plan in plans),
    )


def _shared(seats: Sequence[Seat], array: AieArray) -> Row | None:
    """On tiles that several layers share."""
    whole = device(array.device)
    if array.memory != "plio" and whole.mem_rows:
        return None
    through: WayKind = "plio" if array.memory == "plio" else "gmio"
    layers = [dense_layer(seat.workload) for seat in seats]
    plan = stack_plan(layers, array.device, array.aim, through)
    if isinstance(plan, Infeasible):
        return None
    return Row(
        tuple(each.nest for each in plan.plans),
        tuple(stack_costs(plan, whole, array.aim, started=not array.joins)),
        -(-len(plan.tiles) // whole.core_rows),
        plan.aimed(array.aim),
    )


def _as_chosen(seats: Sequence[Seat], array: AieArray) -> Row | None:
    """As selection took them, one after the other; no answer for throughput.

    Where a result does not stay on the array for the next layer, the processor starts it anew;
    the first start is none of theirs (`VersalAIEML.start_cost`).
    """
    whole = device(array.device)
    if array.aim == "throughput" or array.memory != "plio" or not whole.mem_rows:
        return None
    found = [array.plan(seat.workload, seat.mapping) for seat in seats]
    plans = [plan for plan in found if isinstance(plan, SpreadPlan)]
    apart = _apart(seats, plans, whole)
    costs = [
        layer_cost(plan, seat.workload, whole, Place(first=first), array.aim)
        for plan, seat, first in zip(plans, seats, (False, *apart), strict=True)
    ]
    started = sum(apart) * around_ns(whole) * whole.clock_ghz
    return Row(
        tuple(seat.mapping for seat in seats),
        tuple(costs),
        sum(plan.columns for plan in plans),
        sum(plan.cycles for plan in plans) + started,
    )


def _apart(seats: Sequence[Seat], plans: Sequence[SpreadPlan], whole: Device) -> list[bool]:
    """Whether each layer but the first begins a graph: what cannot lie is halved, as chains are."""
    between = enumerate(pairwise(plans), 1)
    cuts = {at for at, (a, b) in between if isinstance(gates(a.timed, b.timed), Infeasible)}
    stages = [(dense_layer(seat.workload), seat.workload) for seat in seats]
    while True:
        parts = [slice(*ends) for ends in pairwise((0, *sorted(cuts), len(plans)))]
        more = {
            (part.start + part.stop) // 2
            for part in parts
            if part.stop - part.start > 1 and refuses_whole(stages[part], plans[part], whole)
        }
        if not more:
            return [at in cuts for at in range(1, len(plans))]
        cuts |= more


def _beyond(
    layers: Sequence[Seat],
    runs: Sequence[Sequence[int]],
    run: Sequence[int],
    array: AieArray,
    keeps: list[Keeps],
) -> tuple[WayKind, float]:
    """What feeds a pipeline, and the cycles of a run below which its stages need not go.

    Candidates for the first and the last stage are kept to the channels that other layers leave,
    of which each pipeline has the same share.

    Args:
        layers: that were selected.
        runs: numbers of all that may be stages, by pipeline.
        run: numbers of the stages.
        array: the module.
        keeps: of each stage.
    """
    if array.memory == "plio":
        return "plio", 0.0
    whole = device(array.device)
    staged = {at for each in runs for at in each}
    others = [at for at, one in enumerate(layers) if one.module == array.name and at not in staged]
    ways = [array.plan(layers[at].workload, layers[at].mapping).ways for at in others]
    into, out = (sum(each[side] for each in ways) for side in (0, 1))
    into = (whole.need(whole.gmio_in, "DMA channels from memory") - into) // len(runs)
    out = (whole.need(whole.gmio_out, "DMA channels to memory") - out) // len(runs)
    first, last = keeps[0], keeps[-1]
    keeps[0] = lambda one: first(one) and one.mapping.cas_length * one.mapping.row_parts <= into
    keeps[-1] = lambda one: last(one) and one.mapping.chains <= out
    moved = layers[run[0]].workload.inputs[0].nbytes + layers[run[-1]].workload.output.nbytes
    # Stages of half the memory's time never hold it up.
    return "gmio", moved * whole.clock_ghz / (whole.dram_gbps or MEMORY_GBPS) / 2
