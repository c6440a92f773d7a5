"""Layers of a network that run at the same time, each on tiles of its own: a pipeline.

Selection takes a plan of each layer as if it stood alone. Dense layers in a row, fed by streams of
programmable logic and chosen for throughput, are planned anew here, all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, Mapping, Seat
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.pipeline_plan import pipeline_plans
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.versal.module import AieArray


def shares(plans: Iterable[SpreadPlan]) -> list[Cost]:
    """What each stage takes of the cycles between two results, which are the slowest one's."""
    cycles = [plan.interval for plan in plans]
    scale = max(cycles) / sum(cycles)
    return [Cost(own * scale, (("array", own * scale), ("host", 0.0))) for own in cycles]


def together(
    layers: Sequence[Seat], array: AieArray, columns: int
) -> dict[int, tuple[Mapping, Cost]]:
    """Mappings of layers that are stages of pipelines, and their shares of the cycles.

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
        stages = [(dense_layer(layers[at].workload), layers[at].workload) for at in run]
        plans = pipeline_plans(stages, array.device, free, array.columns)
        if isinstance(plans, Infeasible):
            continue
        for at, plan, cost in zip(run, plans, shares(plans), strict=True):
            found[at] = plan.nest, cost
            taken[at] = plan.columns
    return found


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
