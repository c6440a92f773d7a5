"""Layers of a network that run at the same time, each on tiles of its own: a pipeline.

Selection takes a plan of each layer as if it stood alone. Dense layers in a row that are chosen for
throughput are planned anew here, all together. Streams of programmable logic feed them, or the
chip's memory: then its rate, shared by the way in and the way out, is one more bound.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from itertools import pairwise

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.pipeline_plan import (
    Candidate,
    Keeps,
    candidates,
    pipeline_plans,
)
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan, WayKind
from match_aie.targets.aie_ml.graph.timed_plan import MEMORY_GBPS
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import COPIED_PER_NS, AieArray, layer_cost
from match_aie.targets.versal.wanted import wanted
from match_aie.targets.versal.wishes import NO_WISHES, Wish


def shares(plans: Sequence[SpreadPlan], whole: Device) -> list[Cost]:
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


def together(
    layers: Sequence[Seat],
    array: AieArray,
    columns: int,
    wishes: MappingOf[str, Wish] = NO_WISHES,
    *,
    most: int = 0,
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers that are stages of pipelines, and their shares of the cycles.

    Also those of layers of which their users ask something.

    Args:
        layers: that were selected.
        array: the module.
        columns: of the device.
        wishes: of users, by label.
        most: columns that a stage may take; 0 where there are no pipelines.

    Raises:
        TargetError: what a user asks for cannot be kept.
    """
    mine = [at for at, layer in enumerate(layers) if layer.module == array.name]
    taken = {at: array.plan(layers[at].workload, layers[at].mapping).columns for at in mine}
    found: dict[int, tuple[Mapping, Cost]] = {}
    runs = _runs(layers, array, most) if most else []
    staged = {at for run in runs for at in run}
    for at in mine:
        wish = wishes.get(layers[at].label)
        if wish is not None and wish.of_plan and at not in staged:
            plan = wanted(layers[at].workload, array, wish)
            gigahertz = device(array.device).clock_ghz
            cost = layer_cost(plan, layers[at].workload, gigahertz, aim=array.aim)
            found[at], taken[at] = (_named(plan), cost), plan.columns
            _refuse(wish, taken, columns)
    for run in runs:
        asked = [wishes.get(layers[at].label) for at in run]
        free = columns - sum(taken[at] for at in mine if at not in run)
        stages = [(dense_layer(layers[at].workload), layers[at].workload) for at in run]
        keeps = [_keeps(wish) for wish in asked]
        through, least = _beyond(layers, run, array, keeps)
        plans = pipeline_plans(stages, array.device, free, most, keeps, through, least)
        if isinstance(plans, Infeasible):
            _refuse_stages([wish for wish in asked if wish is not None and wish.of_plan], plans)
            continue
        for at, plan, cost in zip(run, plans, shares(plans, device(array.device)), strict=True):
            found[at] = plan.nest, cost
            taken[at] = plan.columns
    return found


def _beyond(
    layers: Sequence[Seat], run: Sequence[int], array: AieArray, keeps: list[Keeps]
) -> tuple[WayKind, float]:
    """What feeds a pipeline, and the cycles of a run below which its stages need not go.

    Candidates for the first and the last stage are kept to the channels that other layers leave.

    Args:
        layers: that were selected.
        run: numbers of the stages.
        array: the module.
        keeps: of each stage.
    """
    if array.memory == "plio":
        return "plio", 0.0
    whole = device(array.device)
    others = [at for at, one in enumerate(layers) if one.module == array.name and at not in run]
    ways = [array.plan(layers[at].workload, layers[at].mapping).ways for at in others]
    into, out = (sum(each[side] for each in ways) for side in (0, 1))
    into = whole.need(whole.gmio_in, "DMA channels from memory") - into
    out = whole.need(whole.gmio_out, "DMA channels to memory") - out
    first, last = keeps[0], keeps[-1]
    keeps[0] = lambda one: first(one) and one.mapping.cas_length * one.mapping.row_parts <= into
    keeps[-1] = lambda one: last(one) and one.mapping.chains <= out
    moved = layers[run[0]].workload.inputs[0].nbytes + layers[run[-1]].workload.output.nbytes
    # Stages of half the memory's time never hold it up.
    return "gmio", moved * whole.clock_ghz / (whole.dram_gbps or MEMORY_GBPS) / 2


def _named(plan: LayerPlan) -> Mapping:
    """The mapping that names a plan."""
    return plan.nest if isinstance(plan, SpreadPlan) else Mapping(plan.spatial, ())


def _refuse(wish: Wish, taken: MappingOf[int, int], columns: int) -> None:
    """Refuse a wish that leaves too little to the other layers.

    Raises:
        TargetError: it does.
    """
    if sum(taken.values()) > columns:
        raise TargetError(
            f"{wish}: with the other layers {sum(taken.values())} columns of {columns}",
            where=wish.label,
            hint="fewer columns, or fewer for the others (columns_per_layer)",
        )


def _refuse_stages(asked: Sequence[Wish], reason: Infeasible) -> None:
    """Refuse wishes with which layers in a row are no pipeline.

    Raises:
        TargetError: there are wishes.
    """
    if asked:
        words = "; ".join(f"{wish.label}: {wish}" for wish in asked)
        raise TargetError(f"no pipeline has stages with {words}", hint=str(reason))


def _keeps(wish: Wish | None) -> Keeps:
    """Whether a candidate of a stage is what its user asks for."""

    def keeps(one: Candidate) -> bool:
        if wish is None:
            return True
        pairs = (
            (wish.columns, one.columns),
            (wish.cascade, one.mapping.cas_length),
            (wish.tiles, one.mapping.tiles),
        )
        return all(asked in (None, much) for asked, much in pairs)

    return keeps


def _runs(layers: Sequence[Seat], array: AieArray, most: int) -> list[list[int]]:
    """Numbers of layers in a row, at least two, of which each reads the one before it alone."""

    def stage(layer: Seat) -> bool:
        if layer.module != array.name or layer.workload.kind != "dense":
            return False
        if array.memory == "ddr":
            return bool(candidates(dense_layer(layer.workload), array.device, most))
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
