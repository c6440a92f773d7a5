"""Dense layers whose neighbours' results could stay in memory tiles, planned so that they do.

Selection takes of each layer the plan that is fastest alone. One whose weights go by may be that,
but it reads and writes the chip's memory. Where layers in a row take fewer cycles with weights in
the tiles, since results then stay on the array, these plans take their places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Mapping as MappingOf

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.hardware import Cost, Seat
from match_aie.targets.aie_ml.graph.dense_plan import DensePlan
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.chained import Chain, seated
from match_aie.targets.versal.chains import ALONE, chains
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
    room = device(array.device).columns - columns
    for run in _runs(layers, plans_now, fixed):
        held = {at: _held(layers[at], plans_now[at], array) for at in run}
        now = {at: plans_now[at] for at in run}
        if any(held[at] is not plan for at, plan in now.items()):
            better = _Run(layers, array, now, held)
            made |= better.within(room)
            room -= better.more
    return made


def _runs(
    layers: Sequence[Seat], plans_now: MappingOf[int, LayerPlan], fixed: Collection[int]
) -> Iterator[list[int]]:
    """Numbers of layers that follow each other, each but the first a reader of one before.

    At least two, some of which have weights that go by. Where results are read by several layers
    those stand in the same run, and so does what adds them.
    """
    run: list[int] = []
    for at in range(len(layers) + 1):
        able = at in plans_now and at not in fixed and layers[at].workload.kind not in ALONE
        if able and (not run or not set(run).isdisjoint(layers[at].sources)):
            run.append(at)
            continue
        if len(run) > 1 and any(isinstance(plans_now[one], TimedPlan) for one in run):
            yield run
        run = [at] if able else []


class _Run:
    """Layers of a run, of which some take other plans where all then take fewer cycles."""

    def __init__(
        self,
        layers: Sequence[Seat],
        array: AieArray,
        now: dict[int, LayerPlan],
        held: MappingOf[int, LayerPlan],
    ) -> None:
        """Nothing is changed yet.

        Args:
            layers: of the network.
            array: the module.
            now: plans that the run's layers have.
            held: plans that they could have.
        """
        self._layers, self._array, self._held = layers, array, held
        self._now, self._costs = now, _costs(layers, now, array)
        self.more = 0

    def within(self, room: int) -> dict[int, Planned]:
        """Plans with their costs, of at most so many columns more; none where none is better.

        All layers of the run, as far as columns go; else halves of these, and so on.
        """
        taken: list[int] = []
        waiting = [sorted(self._now)]
        while waiting:
            part, rest = self._afforded(waiting.pop(), room - self.more)
            if some := self._take(part, room):
                taken += some
            elif len(part) > 2:
                waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
            if rest:
                # Where not even the first one has room, others may.
                waiting.insert(0, rest if part else rest[1:])
        costs = self._costs or {}
        return {at: (self._now[at].nest, costs[at]) for at in taken}

    def _afforded(self, part: list[int], room: int) -> tuple[list[int], list[int]]:
        """As many of the first layers as columns suffice for, and the others."""
        many, taken = 0, 0
        for at in part:
            taken += self._held[at].columns - self._now[at].columns
            if taken > room:
                break
            many += 1
        return part[:many], part[many:]

    def _take(self, part: Sequence[int], room: int) -> list[int]:
        """Give layers the plans that they could have, if the run takes fewer cycles so.

        All of `part`, or those of them that are faster themselves then: a layer behind a fork may
        gain nothing. Some may lack the columns that others would have given back. Returns which.
        """
        found: tuple[list[int], dict[int, LayerPlan], dict[int, Cost]] | None = None
        some, least = list(part), self._costs
        while any(self._held[at] is not self._now[at] for at in some):
            then = self._now | {at: self._held[at] for at in some}
            costs = _costs(self._layers, then, self._array)
            fits = self.more + self._wider(some) <= room
            if costs is not None and fits and (least is None or _sum(costs) < _sum(least)):
                found, least = (some, then, costs), costs
            faster = [at for at in some if costs and self._faster(at, costs)]
            if len(faster) == len(some):
                break
            some = faster
        if found is None:
            return []
        some, then, self._costs = found
        self.more += self._wider(some)
        self._now = then
        return some

    def _wider(self, some: Sequence[int]) -> int:
        """Columns that layers take more with the plans that they could have."""
        return sum(self._held[at].columns - self._now[at].columns for at in some)

    def _faster(self, at: int, costs: MappingOf[int, Cost]) -> bool:
        """Whether a layer takes fewer cycles than it does, or would keep its plan."""
        if self._costs is None or self._held[at] is self._now[at]:
            return True
        return costs[at].cycles < self._costs[at].cycles


def _held(layer: Seat, plan: LayerPlan, array: AieArray) -> LayerPlan:
    """The fastest plan of a layer that keeps its weights in the tiles; its own where none does."""
    if not isinstance(plan, TimedPlan):
        return plan
    found = plans(layer.workload, array.device, array.columns, array.memory, array.aim)
    able = [] if isinstance(found, Infeasible) else [p for p in found if isinstance(p, DensePlan)]
    return min(able, key=lambda one: one.cycles, default=plan)


def _sum(costs: MappingOf[int, Cost]) -> float:
    return sum(cost.cycles for cost in costs.values())


def _costs(
    layers: Sequence[Seat], plans_of: MappingOf[int, LayerPlan], array: AieArray
) -> dict[int, Cost] | None:
    """What each layer takes in the chains that they make; None where these do not fit the array."""
    numbers = sorted(plans_of)
    given = tuple(seated(layers[at], at, plans_of[at].nest) for at in numbers)
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


def priced_in_chains(
    layers: Sequence[Seat], found: MappingOf[int, Planned], array: AieArray
) -> dict[int, Planned]:
    """What layers on the array take in the chains that they make; `found` where these do not fit.

    Selection prices each alone; another configuration is to be compared with what they really take.

    Args:
        layers: that were selected.
        found: how some of them run together.
        array: the module.
    """
    nests = {
        at: found[at][0] if at in found else layer.mapping
        for at, layer in enumerate(layers)
        if layer.module == array.name
    }
    plans_of = {at: array.plan(layers[at].workload, nest) for at, nest in nests.items()}
    costs = _costs(layers, plans_of, array) if plans_of else None
    return dict(found) if costs is None else {at: (nests[at], costs[at]) for at in plans_of}


def _place(chain: Chain, number: int) -> Place:
    """Where a layer of a chain stands; what it reads without a copy is not known yet."""
    held = frozenset(chain.reads(number))
    return Place(number == 0, held, stays=chain.stays(number))
