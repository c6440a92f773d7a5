"""Layers of a network that run at the same time, each on tiles of its own: a pipeline.

Selection takes a plan of each layer as if it stood alone. Dense layers in a row, fed by streams of
programmable logic and chosen for throughput, are planned anew here, all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as MappingOf
from itertools import pairwise

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.pipeline_plan import Candidate, Keeps, pipeline_plans
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.versal.module import AieArray, layer_cost
from match_aie.targets.versal.wanted import wanted
from match_aie.targets.versal.wishes import NO_WISHES, Wish


def shares(plans: Iterable[SpreadPlan]) -> list[Cost]:
    """What each stage takes of the cycles between two results, which are the slowest one's."""
    cycles = [plan.interval for plan in plans]
    scale = max(cycles) / sum(cycles)
    return [Cost(own * scale, (("array", own * scale), ("host", 0.0))) for own in cycles]


def together(
    layers: Sequence[Seat],
    array: AieArray,
    columns: int,
    wishes: MappingOf[str, Wish] = NO_WISHES,
    *,
    pipelines: bool = True,
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers that are stages of pipelines, and their shares of the cycles.

    Also those of layers of which their users ask something.

    Args:
        layers: that were selected.
        array: the module.
        columns: of the device.
        wishes: of users, by label.
        pipelines: whether layers in a row may be stages.

    Raises:
        TargetError: what a user asks for cannot be kept.
    """
    mine = [at for at, layer in enumerate(layers) if layer.module == array.name]
    taken = {at: array.plan(layers[at].workload, layers[at].mapping).columns for at in mine}
    found: dict[int, tuple[Mapping, Cost]] = {}
    runs = _runs(layers, array) if pipelines else []
    staged = {at for run in runs for at in run}
    for at in mine:
        wish = wishes.get(layers[at].label)
        if wish is not None and wish.of_plan and at not in staged:
            plan = wanted(layers[at].workload, array, wish)
            cost = layer_cost(plan, layers[at].workload, array.frequency / 1e9, aim=array.aim)
            found[at], taken[at] = (_named(plan), cost), plan.columns
            _refuse(wish, taken, columns)
    for run in runs:
        asked = [wishes.get(layers[at].label) for at in run]
        free = columns - sum(taken[at] for at in mine if at not in run)
        stages = [(dense_layer(layers[at].workload), layers[at].workload) for at in run]
        keeps = [_keeps(wish) for wish in asked]
        plans = pipeline_plans(stages, array.device, free, array.columns, keeps)
        if isinstance(plans, Infeasible):
            _refuse_stages([wish for wish in asked if wish is not None and wish.of_plan], plans)
            continue
        for at, plan, cost in zip(run, plans, shares(plans), strict=True):
            found[at] = plan.nest, cost
            taken[at] = plan.columns
    return found


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
