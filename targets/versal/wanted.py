"""Plans of single layers as their users ask for them."""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.array.shapes import counts, native_tilings
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer, plan_of_split
from match_aie.targets.aie_ml.graph.layer import LayerPlan, zeros_of
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.recurrent_single import single_splits
from match_aie.targets.aie_ml.graph.recurrent_splits import splits
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AieArray, layer_cost, plans
from match_aie.targets.versal.wishes import Wish, offered
from match_aie.workload import RECURRENT, Workload, product_type


def wanted(workload: Workload, array: AieArray, wish: Wish) -> LayerPlan:
    """The best plan of a layer among those that are what is asked for.

    Args:
        workload: what it computes.
        array: the module.
        wish: of this layer.

    Raises:
        TargetError: none is; it says what plans there are.
    """
    widths = range(1, array.columns + 1) if wish.columns is None else (wish.columns,)
    seen: list[LayerPlan] = []
    for width in widths:
        found = plans(workload, array.device, width, array.memory, array.aim)
        seen += [] if isinstance(found, Infeasible) else found
    kept = [plan for plan in seen if wish.kept(plan, workload)]
    if not kept and workload.kind == "dense" and array.memory == "ddr":
        kept = list(_of_splits(workload, array, wish))
    if not kept and workload.kind in RECURRENT:
        kept = list(_of_ways(workload, array, wish))
    if not kept:
        hint = "what plans have, or more columns for a layer (columns_per_layer)"
        if wish.logic and array.multiplies_floats and array.floats == "float32":
            hint = 'floats="float32_logic" for gates in logic, without which no layer has them'
        raise TargetError(
            f"no plan of the layer has {wish}: {offered(seen, workload)}",
            where=wish.label,
            hint=hint,
        )
    whole = device(array.device)
    return min(kept, key=lambda p: layer_cost(p, workload, whole, aim=array.aim).cycles)


def _of_ways(workload: Workload, array: AieArray, wish: Wish) -> Iterator[LayerPlan]:
    """Plans of a recurrent layer beyond the best one, on as many columns as it may take."""
    most = wish.columns or array.columns
    single = product_type(workload) == "float32"
    for split in single_splits() if single else splits(device(array.device)):
        try:
            plan = cut_plan(workload, array.device, split)
        except TargetError:
            continue  # no such split of its units or its reduction, or a tile lacks room
        if plan.columns <= most and wish.kept(plan, workload):
            yield plan


def _of_splits(workload: Workload, array: AieArray, wish: Wish) -> Iterator[LayerPlan]:
    """Plans of splits beyond the best ones of each width."""
    layer, whole = dense_layer(workload), device(array.device)
    tiling = native_tilings(layer, whole)[0]
    most = wish.columns or array.columns
    wide, high = -(-layer.columns // tiling.n), -(-layer.rows // tiling.m)
    zeros = zeros_of(workload)
    for length in range(1, most + 1) if wish.cascade is None else (wish.cascade,):
        chains = most // length * whole.core_rows
        for parts in counts(wide, chains) if chains else ():
            for rows in counts(high, chains // parts):
                if wish.tiles not in (None, length * parts * rows):
                    continue
                if wish.replicas not in (None, rows):
                    continue
                try:
                    plan = plan_of_split(layer, array.device, Given(length, parts, rows))
                except TargetError:
                    continue  # a split without a kernel
                # It may be larger than a tile's memory.
                if isinstance(plan, Infeasible) or not wish.kept(plan, workload):
                    continue
                if cannot_lie(plan.graph("layer", workload, zeros), whole) is None:
                    yield plan
