"""What several layers in two lanes take, modelled: one controller, which goes from lane to lane.

A layer is entered when the one before it in its lane is over, while the other unit works on. As for
two layers (`match_aie.lowering.company`) the controller is with each until its unit works by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match_aie.lowering.company import MARGIN, Lane, in_cases
from match_aie.lowering.turns import Span


@dataclass(frozen=True)
class Entered:
    """A layer of several, in the order in which they are entered.

    Attributes:
        lane: which of the two.
        layer: it, by itself.
        early: cycles that loading its constants takes, begun when the layer entered before it is
            started; 0 where it loads them itself, or they were there before all of these layers.
        led: cycles of the controller in it before these constants are needed.
    """

    lane: int
    layer: Lane
    early: float = 0.0
    led: float = 0.0


@dataclass(frozen=True)
class Time:
    """When a layer is entered, started, and over; and what of it is waiting for constants."""

    begin: float
    started: float
    end: float
    waited: float


class _Units:
    """Two units, each with a kernel at most; they slow each other down while both work."""

    def __init__(self) -> None:
        self._now = 0.0
        self._left = [0.0, 0.0]
        self._layers: list[Lane | None] = [None, None]
        self.ends = [0.0, 0.0]

    def start(self, lane: int, layer: Lane, now: float) -> None:
        """A unit begins at `now`, when it has nothing to do."""
        self.until(now)
        self._left[lane], self._layers[lane] = layer.works, layer
        self.ends[lane] = self._now

    def over(self, lane: int) -> float:
        """When a unit is done."""
        while self._left[lane] > 0:
            self._step(float("inf"))
        return self.ends[lane]

    def until(self, now: float) -> None:
        """Let time pass."""
        while self._now < now and max(self._left) > 0:
            self._step(now)
        self._now = max(self._now, now)

    def _step(self, now: float) -> None:
        """To `now`, or until one unit is done."""
        one, other = self._layers
        slower = [1.0, 1.0]
        if min(self._left) > 0 and one is not None and other is not None:
            slower = [1 + one.slowed(other), 1 + other.slowed(one)]
        ends = [left * each for left, each in zip(self._left, slower, strict=True) if left > 0]
        passed = min(*ends, now - self._now) if ends else now - self._now
        self._now += passed
        for lane in (0, 1):
            if self._left[lane] > 0:
                left = self._left[lane] - passed / slower[lane]
                self._left[lane] = left if left > 1e-9 * passed else 0.0
                self.ends[lane] = self._now


def times(layers: Sequence[Entered]) -> tuple[Time, ...]:
    """When each of `layers` runs, from entering the first one at 0 on."""
    units, now, engine = _Units(), 0.0, 0.0
    found: list[Time] = []
    last: dict[int, int] = {}
    for at, one in enumerate(layers):
        if one.lane in last:
            end = units.over(one.lane)
            found[last[one.lane]] = replace(found[last[one.lane]], end=end)
            now = max(now, end)
        layer, waited = one.layer.beside(), 0.0
        if one.early and found:
            engine = max(engine, found[-1].started) + one.early
            waited = max(0.0, engine - now - one.led)
        works = now + layer.more + layer.alone - layer.works + waited
        units.start(one.lane, layer, works)
        found.append(Time(now, works + layer.works - layer.free, 0.0, waited))
        last[one.lane], now = at, found[-1].started
    for lane, at in last.items():
        found[at] = replace(found[at], end=max(found[at].started, units.over(lane)))
    return tuple(found)


def spans(layers: Sequence[Entered]) -> tuple[Span, ...]:
    """When each of `layers` runs, and when the controller turns to it.

    Where another one follows in its lane a layer is left later than it is over, by as much as it
    may be off: while the controller waits for a kernel the other unit may have nothing to do, and
    where it comes late only this one's has. The last of each lane are left when they are over.
    """
    found: list[Span] = []
    left: dict[int, float] = {}
    for at, (one, time) in enumerate(zip(layers, times(layers), strict=True)):
        # Layers are entered in their order, whoever is late.
        entered = max(left.get(one.lane, time.begin), found[-1].entered if found else 0.0)
        follows = any(other.lane == one.lane for other in layers[at + 1 :])
        late = MARGIN * (time.end - time.begin) if follows else 0.0
        left[one.lane] = max(entered, time.end + late)
        found.append(Span(entered, time.begin, time.end, left[one.lane]))
    return tuple(found)


def cycles(layers: Sequence[Entered]) -> float:
    """Of all layers."""
    return max(one.end for one in times(layers))


def all_cycles(layers: Sequence[Entered]) -> list[float]:
    """The same as they are priced, then in each case (`Company.cases`)."""
    companies = [one.layer.company for one in layers]
    return [
        cycles(
            [
                replace(one, layer=replace(one.layer, company=company))
                for one, company in zip(layers, found, strict=True)
            ]
        )
        for found in in_cases(*companies)
    ]
