"""One search for every kind of layer that memory tiles hand to tiles band by band.

A kind says how it can be cut, what a cut lacks, bounds of its latency, its cost, and whether its
graph can be laid out. Cuts are looked at once for all widths, best bound first: the tighter bound
of one is found when its bound is the least, it is priced when that one is, and laid out when its
cost is.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import ClassVar, Generic, TypeVar

from match_aie.cost_models.aie_image import BandCost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import Unwritten
from match_aie.workload import Workload

Cut = TypeVar("Cut")

#: Latency or a bound, tiles (0 of what is not priced), number, tiles, cut, cost once it is priced.
_Waiting = tuple[float, int, int, int, Cut, BandCost | None]


class Cuts(ABC, Generic[Cut]):
    """What a kind of layer declares for the search; costs and bounds are in cycles.

    Attributes:
        device: for which.
        tries: cuts that are laid out, cheapest first, before it is given up; all where None.
    """

    device: Device
    tries: ClassVar[int | None] = None

    @property
    def rows(self) -> int:
        """Tiles of a column that a cut takes at most."""
        return self.device.core_rows

    @abstractmethod
    def all(self, columns: int) -> Iterator[Cut]:
        """Cuts over at most so many columns that differ, in the order in which ties are broken."""

    @abstractmethod
    def shape(self, cut: Cut) -> tuple[int, int]:
        """Tiles that a cut takes, and columns that it needs side by side."""

    @abstractmethod
    def refuses(self, cut: Cut) -> Infeasible | None:
        """What a tile lacks for a cut."""

    def runs(self, cut: Cut) -> bool:
        """Whether cores have its kernel, and the device takes its graph."""
        del cut
        return True

    def bound(self, cut: Cut) -> float:
        """A latency that its cost does not beat; none where there are few cuts."""
        del cut
        return 0.0

    def tight(self, cut: Cut) -> float:
        """Likewise, closer to its cost, without a schedule of its kernel."""
        return self.bound(cut)

    @abstractmethod
    def price(self, cut: Cut) -> Priced[Cut] | Infeasible | None:
        """The cut with its fastest kernels, and their modelled cost.

        None, or a reason to give where no other is, where there are none that registers and program
        memory hold.
        """

    @abstractmethod
    def graph(
        self, cut: Cut, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """Its graph on at most so many columns, called `name`, with the numbers of `constants`."""

    @abstractmethod
    def lay_out(self, cut: Cut, columns: int) -> int | Infeasible:
        """Columns that its graph takes, at most `columns`; or what it lacks there."""

    @abstractmethod
    def loops(self, cut: Cut, workload: Workload) -> tuple[Loop, ...]:
        """The split over tiles, then the lanes of one."""

    def times(self, cut: Cut, workload: Workload) -> tuple[Loop, ...]:
        """What a tile does one after the other, outermost first; none where `loops` say it all."""
        del cut, workload
        return ()

    def nest(self, cut: Cut, workload: Workload) -> Mapping:
        """The cut as a whole: no other cut of a layer has the same loops."""
        return Mapping(self.loops(cut, workload), self.times(cut, workload))

    def read(self, nest: Mapping, workload: Workload) -> Priced[Cut] | Infeasible | None:
        """The cut that a nest says, as `price` gives it; or what a tile lacks for it.

        Raises:
            TargetError: it says none.
        """
        for cut in self.all(self.device.columns):
            if self.nest(cut, workload) == nest:
                return self.refuses(cut) or self.price(cut)
        raise TargetError(f"{nest} is no nest of a {workload.kind}")

    def ways(self, cut: Cut) -> tuple[int, int]:
        """Channels from the chip's memory into the array, and back: one each way."""
        del cut
        return 1, 1


#: A cut with its kernels, and its cost.
Priced = tuple[Cut, BandCost]


@dataclass(frozen=True, eq=False)
class Chosen(Generic[Cut]):
    """A cut that fits, its modelled cost, and columns that it takes."""

    plan: Cut
    cost: BandCost
    columns: int


#: What helps where no kernel of a layer has a schedule.
_OTHERS = ("another module for this layer", "another device")


class Candidates(Generic[Cut]):
    """Cuts of a layer over at most so many columns, each looked at once.

    Args:
        kind: of the layer, with it.
        columns: at most.
    """

    def __init__(self, kind: Cuts[Cut], columns: int) -> None:
        """Bound them all."""
        self._kind = kind
        self._tight: dict[int, float] = {}
        self._costs: dict[int, Priced[Cut] | Infeasible | None] = {}
        self._cuts = [
            (kind.bound(cut), kind.shape(cut)[0], number, cut)
            for number, cut in enumerate(kind.all(columns))
        ]
        self._cuts.sort(key=lambda each: each[:3])

    def best(self, columns: int) -> Chosen[Cut] | Infeasible:
        """The cut of least latency on at most `columns` columns that can be laid out.

        One without a text, where there must be one, only where no other can.
        """
        reason: Infeasible | None = None
        unwritten: Chosen[Cut] | None = None
        for cut, cost in islice(self._priced(columns), self._kind.tries):
            taken = self._kind.lay_out(cut, columns)
            if not isinstance(taken, Infeasible):
                return Chosen(cut, cost, taken)
            if isinstance(taken, Unwritten):
                unwritten = unwritten or Chosen(cut, cost, taken.columns)
            reason = taken
        if unwritten is not None:
            return unwritten
        what = "kernels that fit registers and program memory"
        return reason or self._refusal(columns) or Infeasible(what, 1, 0, "kernels", _OTHERS)

    def _refusal(self, columns: int) -> Infeasible | None:
        """What lacks least of what a cut lacks; where none lacks anything, kernels."""
        reason: Infeasible | None = None
        unpriced: Infeasible | None = None
        for *_, number, cut in sorted(self._cuts, key=lambda each: each[2]):
            if not self._within(cut, columns):
                continue
            refused = self._kind.refuses(cut)
            if refused is not None and (reason is None or _less(refused, reason)):
                reason = refused
            # Of these cuts only: which others are priced hangs on the widths asked for before.
            priced = self._costs.get(number)
            if unpriced is None and isinstance(priced, Infeasible):
                unpriced = priced
        return reason or unpriced

    def _within(self, cut: Cut, columns: int) -> bool:
        tiles, wide = self._kind.shape(cut)
        return wide <= columns and tiles <= columns * self._kind.rows

    def _priced(self, columns: int) -> Iterator[tuple[Cut, BandCost]]:
        """Cuts by their cost; of equal ones those on fewer tiles first."""
        heap: list[_Waiting[Cut]] = []
        for bound, tiles, number, cut in self._cuts:
            if not self._within(cut, columns):
                continue
            yield from self._below(bound, heap)
            if number not in self._tight:
                able = self._kind.refuses(cut) is None and self._kind.runs(cut)
                self._tight[number] = self._kind.tight(cut) if able else inf
            if self._tight[number] == inf:
                continue
            heapq.heappush(heap, (self._tight[number], 0, number, tiles, cut, None))
        yield from self._below(inf, heap)

    def _below(self, bound: float, heap: list[_Waiting[Cut]]) -> Iterator[tuple[Cut, BandCost]]:
        """Those of `heap` that cost no more than `bound`; what is not priced yet comes first."""
        while heap and heap[0][0] <= bound:
            *_, number, tiles, cut, cost = heapq.heappop(heap)
            if cost is not None:
                yield cut, cost
                continue
            if number not in self._costs:
                self._costs[number] = self._kind.price(cut)
            priced = self._costs[number]
            if isinstance(priced, tuple):
                latency = priced[1].latency
                heapq.heappush(heap, (latency, tiles, number, tiles, *priced))


def _less(one: Infeasible, other: Infeasible) -> bool:
    """Whether a demand is closer to what there is."""
    return one.demand * other.bound < other.demand * one.bound
