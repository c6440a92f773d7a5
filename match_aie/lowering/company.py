"""What two layers take at the same time, modelled: one controller for both, a unit for each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from match_aie.hardware import (
    Company,
    Concurrent,
    Cost,
    ExecModule,
    SequenceCostModel,
    SharedCostModel,
    Tile,
    TileCostModel,
    facet,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.lowering.turns import turns_behind
from match_aie.mapping.evaluate import kinds
from match_aie.workload import Workload

#: Part of what two layers take that they must save to be put side by side: by so much their
#: modelled cycles may be off the simulated ones (GAP9's pairs of ResNet8, DS-CNN and a network of
#: depthwise filters, MobileNet: 0.5 % too short and 2.3 % too long at worst; tests hold pairs whose
#: lists lie in L1 to it), and what saves less may lose. A network's first pair may be further off:
#: its code comes from L2, which the model leaves out as it does for the layer by itself (DS-CNN's,
#: planned for PULP's banks alone, is modelled 11 % too short for it; MobileNet's 2.2 %).
MARGIN = 0.02


@dataclass(frozen=True)
class Lane:
    """A layer, and what it would be as one of two.

    Attributes:
        alone: cycles by itself.
        free: of these, in which its unit works and needs no controller.
        works: in which its unit works at all.
        workload: the layer.
        company: what it takes more beside another one.
        calls: of its kernel.
        waited: whether the controller waits for the kernel where it is alone.
        ahead: cycles of the controller to start a load for the next layer, and to see that one for
            this layer is over.
        told: cycles of the controller to tell the unit of a call.
    """

    alone: float
    free: float
    works: float
    workload: Workload
    company: Company = Company()
    calls: int = 1
    waited: bool = True
    ahead: tuple[float, float] = (0.0, 0.0)
    told: float = math.inf

    @property
    def more(self) -> float:
        """Cycles of the controller that it takes beside another one, and not alone."""
        return self.company.more(self.workload, self.calls)

    def slowed(self, other: Lane) -> float:
        """Part by which its kernel takes longer while that of the `other` one works."""
        return self.company.slowed_by(self.workload, other.workload)

    def beside(self) -> Lane:
        """The same on the cores that work beside another layer."""
        more = (self.company.longer(self.workload) - 1) * self.works
        return replace(
            self, alone=self.alone + more, free=self.free + more, works=self.works + more
        )


def lane_of(module: ExecModule, workload: Workload, mapping: LoopMapping, cost: Cost) -> Lane:
    """A layer as one of two.

    Of a model that prices tiles only, all of the kernel's cycles are free: its unit is started and
    left alone. One of sequences says so (`SharedCostModel`), or there are none: its calls are
    priced with their controller.

    Args:
        module: that runs it.
        workload: the layer.
        mapping: how it runs.
        cost: by itself.
    """
    model = module.cost_model(workload)
    tiles = tuple(kinds(workload, mapping, mapping.kernel))
    free = works = 0.0
    waited, ahead, told = True, (0.0, 0.0), math.inf
    if isinstance(model, SharedCostModel):
        waited, ahead = model.waited, model.ahead_cycles()
        # With the wait for the call before.
        told = sum(count * _told(model, workload, tile) for tile, count in tiles) / mapping.calls
        told += ahead[1]
        free = sum(count * model.free_cycles(workload, tile) for tile, count in tiles)
        works = sum(count * model.unit_cycles(workload, tile) for tile, count in tiles)
    elif not isinstance(model, SequenceCostModel):
        assert isinstance(model, TileCostModel)
        free = sum(count * float(model.kernel_cycles(workload, tile)) for tile, count in tiles)
        works = free
    return Lane(
        cost.cycles,
        min(cost.cycles, free),
        min(cost.cycles, works),
        workload,
        facet(module, Concurrent).beside or Company(),
        mapping.calls,
        waited,
        ahead,
        told,
    )


def _told(model: SharedCostModel, workload: Workload, tile: Tile) -> float:
    """Cycles of the controller to start a call; no bound where the model has none apart."""
    _, *told = model.call_bounds(workload, tile)
    return float(told[0]) if told else math.inf


def in_cases(*companies: Company) -> Iterator[tuple[Company, ...]]:
    """What layers are beside each other: as they are priced, then in each of their cases.

    One that has no such case is as it is priced.
    """
    yield companies
    for at in range(max(len(company.cases) for company in companies)):
        yield tuple(c.cases[at] if at < len(c.cases) else c for c in companies)


def _lanes(first: Lane, other: Lane) -> Iterator[tuple[Lane, Lane]]:
    """Both lanes, as they are priced and in each of their cases."""
    for one, two in in_cases(first.company, other.company):
        yield replace(first, company=one), replace(other, company=two)


def all_beside_cycles(first: Lane, other: Lane) -> list[float]:
    """`beside_cycles` as they are priced, then in each case."""
    return [beside_cycles(one, two) for one, two in _lanes(first, other)]


def all_trailing_cycles(first: Lane, other: Lane, needs: Sequence[int]) -> list[float]:
    """`trailing_cycles` as they are priced, then in each case."""
    return [trailing_cycles(one, two, needs) for one, two in _lanes(first, other)]


def beside_cycles(first: Lane, other: Lane) -> float:
    """Cycles of both, `first` started first.

    The controller is with the first one until its unit works by itself, then with the other.
    """
    led, begins, ends = _times(first, other)
    del begins
    return led + max(ends)


def beside_idle(first: Lane, other: Lane) -> float:
    """Cycles at their end in which the controller has started both and waits."""
    _, begins, ends = _times(first, other)
    return max(ends) - begins


def stretched(first: Lane, other: Lane) -> tuple[float, float]:
    """Cycles by which both kernels take longer: they meet at one memory, or have fewer cores."""
    _, _, ends = _times(first, other)
    return ends[0] - first.free, ends[1] - other.more - other.alone


def trailing_cycles(first: Lane, other: Lane, needs: Sequence[int]) -> float:
    """Cycles of both, where `other` works on what `first` makes.

    The controller goes from one to the other as `turns_behind` says; the first one's unit has a
    call in wait.

    Args:
        first: whose output is read.
        other: who reads it.
        needs: calls of the first one before each of the other.
    """
    return _trailing(first, other, needs)[-1]


def trailing_idle(first: Lane, other: Lane, needs: Sequence[int]) -> float:
    """Cycles at their end, after the controller has started the `other` one's first call."""
    begun, end = _trailing(first, other, needs)
    return end - begun


def _trailing(first: Lane, other: Lane, needs: Sequence[int]) -> tuple[float, float]:
    """When the other one's first call was started, and the end of both."""
    first, other = first.beside(), other.beside()
    made, read = _Calls(first, first.calls), _Calls(other, len(needs))
    slowed = made.slowed(other, read.works), read.slowed(first, made.works)
    now, begun = 0.0, 0.0
    for lane in turns_behind(needs, first.calls):
        calls = read if lane else made
        # The first calls of the one, and the last ones of the other, are alone.
        alone = len(made.ends) == first.calls + 1 if lane else len(made.ends) < needs[0]
        now = calls.turn(now, 0.0 if alone else slowed[lane])
        begun = begun or (now if lane else 0.0)
    return begun, now


class _Calls:
    """Calls of a layer's kernel of equal length, and when they end."""

    def __init__(self, lane: Lane, calls: int) -> None:
        self.works, self.free = lane.works / calls, lane.free / calls
        # A unit that is not waited for is told of a call while it works on the one before: of what
        # the controller takes alone each call has that, and the first one, with entering the layer
        # and loading its constants, all else.
        start = lane.alone - lane.works
        more = lane.company.around(lane.workload)
        told = min(start / (calls if lane.waited else 1), lane.told)
        rest = start - told * (calls if lane.waited else 1)
        self._start = told + more
        self._enter = lane.more - more * calls + rest
        self.left, self.ends, self._lane = calls, [0.0], lane

    def slowed(self, other: Lane, works: float) -> float:
        """Cycles of a call that it takes more beside one of `other` that `works` so long."""
        return _slower(self._lane.slowed(other), self.works, works)

    def turn(self, now: float, more: float) -> float:
        """When the controller has started a call, `more` longer, and seen the last end."""
        last = self.ends[-1]
        now, self._enter = now + self._enter, 0.0
        if self.left:
            self.left -= 1
            end = max(now + self._start, last) + self.works + more
            self.ends.append(end)
            now = max(now + self._start, end - self.free - more)
        else:
            self.ends.append(last)
        return max(now, last)


def _times(first: Lane, other: Lane) -> tuple[float, float, tuple[float, float]]:
    """When the first one's unit works by itself; from then on, the other's, and both ends.

    A unit is slowed down for as long as it and the other one work: the other begins `late`.
    """
    first, other = first.beside(), other.beside()
    led = first.alone - first.free + first.more
    begins = other.more + other.alone - other.free
    late = other.more + other.alone - other.works
    left = max(0.0, first.free - late)
    ends = (
        first.free + _slower(first.slowed(other), left, other.works),
        other.more + other.alone + _slower(other.slowed(first), other.works, left),
    )
    return led, begins, ends


def _slower(slowed: float, work: float, other: float) -> float:
    """What `work` takes more beside `other` cycles of another unit that begin with it."""
    return slowed * min(work, other / (1 + slowed))
