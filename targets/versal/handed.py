"""Dense layers whose neighbours' results could stay in memory tiles, planned so that they do.

Selection takes of each layer the plan that is fastest alone. One whose weights go by may be that,
but it reads and writes the chip's memory. Where layers in a row take fewer cycles with weights in
the tiles, since results then stay on the array, these plans take their places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Mapping as MappingOf

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.hardware import Cost, Flow, Mapping, Seat
from match_aie.targets.aie_ml.graph.dense_plan import DensePlan
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.chains import ALONE, Chain, Given, chains
from match_aie.targets.versal.module import AieArray, Place, layer_cost, plans
from match_aie.targets.versal.phases import Planned


def in_chains(
    layers: Sequence[Seat], found: MappingOf[int, Planned], array: AieArray, asked: Collection[str]
) -> dict[int, Planned]:
    """`found`, and plans of layers in a row that take fewer cycles where results stay between them.

    Args:
        layers: that were selected.
        found: how some of them run together, which stays so.
        array: the module.
        asked: labels of layers of which users ask something.
    """
    plans_now = {
        at: array.plan(layer.workload, found[at][0] if at in found else layer.mapping)
        for at, layer in enumerate(layers)
        if layer.module == array.name
    }
    fixed = {at for at in plans_now if at in found or layers[at].label in asked}
    made, columns = dict(found), sum(plan.columns for plan in plans_now.values())
    for run in _runs(layers, plans_now, fixed):
        held = {at: _held(layers[at], plans_now[at], array) for at in run}
        now = {at: plans_now[at] for at in run}
        while len(held) > 1:
            more = sum(held[at].columns - now[at].columns for at in held)
            if columns + more <= device(array.device).columns:
                break
            last = max(held)
            del held[last], now[last]
        better = _cheaper(layers, held, now, array)
        if better is not None:
            made |= better
            columns += sum(held[at].columns - now[at].columns for at in held)
    return made


def _runs(
    layers: Sequence[Seat], plans_now: MappingOf[int, LayerPlan], fixed: Collection[int]
) -> Iterator[list[int]]:
    """Numbers of layers in a row, at least two, some of which have weights that go by."""
    run: list[int] = []
    for at in range(len(layers) + 1):
        able = at in plans_now and at not in fixed and layers[at].workload.kind not in ALONE
        if able and (not run or run[-1] in layers[at].sources):
            run.append(at)
            continue
        if len(run) > 1 and any(isinstance(plans_now[one], TimedPlan) for one in run):
            yield run
        run = [at] if able else []


def _held(layer: Seat, plan: LayerPlan, array: AieArray) -> LayerPlan:
    """The fastest plan of a layer that keeps its weights in the tiles; its own where none does."""
    if not isinstance(plan, TimedPlan):
        return plan
    found = plans(layer.workload, array.device, array.columns, array.memory, array.aim)
    able = [] if isinstance(found, Infeasible) else [p for p in found if isinstance(p, DensePlan)]
    return min(able, key=lambda one: one.cycles, default=plan)


def _cheaper(
    layers: Sequence[Seat],
    held: MappingOf[int, LayerPlan],
    now: MappingOf[int, LayerPlan],
    array: AieArray,
) -> dict[int, Planned] | None:
    """The plans `held` with their costs, where all of them take fewer cycles than those of `now`.

    Args:
        layers: of the network.
        held: plans that layers could have.
        now: plans that they have.
        array: the module.
    """
    if len(held) < 2 or all(held[at] is now[at] for at in held):
        return None
    then, before = (_costs(layers, each, array) for each in (held, now))
    if then is None:
        return None
    if before is not None and _sum(then) >= _sum(before):
        return None
    return {at: (plan.nest, then[at]) for at, plan in held.items()}


def _sum(costs: MappingOf[int, Cost]) -> float:
    return sum(cost.cycles for cost in costs.values())


def _costs(
    layers: Sequence[Seat], plans_of: MappingOf[int, LayerPlan], array: AieArray
) -> dict[int, Cost] | None:
    """What each layer takes in the chains that they make; None where these do not fit the array."""
    numbers = sorted(plans_of)
    given = tuple(_given(layers[at], at, plans_of[at].nest) for at in numbers)
    try:
        found = chains(given, array.device)
    except InfeasibleError:
        return None
    whole, costs = device(array.device), {}
    for chain in found:
        for number, which in enumerate(chain.layers):
            at, place = numbers[which], _place(chain, number)
            costs[at] = layer_cost(plans_of[at], layers[at].workload, whole, place, array.aim)
    return costs


def _given(layer: Seat, at: int, nest: Mapping) -> Given:
    flow = Flow(at, layer.sources, layer.readers, layer.leaves)
    return Given(layer.workload, nest, flow, layer.label)


def _place(chain: Chain, number: int) -> Place:
    """Where a layer of a chain stands; what it reads without a copy is not known yet."""
    held = frozenset(chain.reads(number))
    return Place(number == 0, held, stays=chain.stays(number))
