"""A layer's calls one after the other on a chip with scratchpads: who waits for whom.

A controller walks over tiles: it starts transfers, starts the kernel, waits. One engine moves
tiles in the order in which it was told to. While a kernel works, the next call's tiles are loaded
and the last one's output is stored. This is the order of `ma_run_tiles` (ma_tiles.h), written as
the recursion that it makes of times. Repeated calls are followed until the distances between
these times repeat, and are counted from there on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from match_aie.hardware import Array, Call, Repeat

#: Distances between times are the same where they differ by less, in cycles.
_SAME = 1e-6

_NEVER = float("-inf")


@dataclass(frozen=True)
class Controller:
    """The core that walks over a layer's tiles and moves them.

    Attributes:
        layer: cycles to enter a layer of several tiles; being offloaded is a hand-over, which
            targets price. This, `visit`, `many`, `one_tile` and `wait` are instructions, accesses
            and lines of code counted in emitted C on an emulated rv32imc core (GCC 12, -O3): a
            cycle an instruction and what branches stall, 14 more for L2, 2 for a unit's register
            or a line that the first instruction cache lacks (GVSoC's public model of pulp_open).
        visit: of the walk, around each of several tiles.
        many: the last two in a layer of more than `listed` tiles.
        listed: see there; `match_aie.hardware.tables` decides it. Lists are taken to lie in L1.
        one_tile: of the whole walk in a layer of one tile.
        wait: of a wait for what is over.
        code: to fetch the code that a layer finds in L2 only, when it is entered: lines of 16
            bytes, 17 cycles each (GVSoC's public model), on average of all layers on the cluster
            of counted networks. After another unit it is more, after one there less: no layer
            knows what ran before it.
    """

    layer: float = 300.8
    visit: float = 59.7
    many: tuple[float, float] = (300.8, 2420.2)
    listed: int = 32
    one_tile: float = 410.0
    wait: float = 57.3
    code: float = 799.0

    def walk(self, calls: Array) -> tuple[Array, Array]:
        """Cycles to enter a layer of so many tiles, and around each of them."""
        enter = np.where(calls > self.listed, self.many[0], self.layer)
        visit = np.where(calls > self.listed, self.many[1], self.visit)
        entered = np.where(calls > 1, enter, self.one_tile) + self.code
        return entered, np.where(calls > 1, visit, 0.0)

    @property
    def first(self) -> float:
        """The walk to the first of several tiles, at least; it hides behind the first loads."""
        return min(self.visit, self.many[1])

    def least(self, compute: Array, moves: Array, loads: Array, ahead: float = 0.0) -> Array:
        """What a layer takes at least.

        Args:
            compute: cycles after the first tiles are there, and to enter the layer, with `first`
                and `ahead` taken off.
            moves: cycles of the engine.
            loads: of these, of the first tiles.
            ahead: cycles in which the controller sets the first job up.
        """
        hidden = np.maximum(loads, self.first + ahead)
        entered = min(self.layer, self.many[0], self.one_tile) + self.code
        return np.asarray(np.maximum(compute + hidden, moves + entered))


@dataclass(frozen=True, slots=True)
class Move:
    """A transfer: cycles of the controller to start it, and of the engine to do it."""

    start: float
    engine: float


@dataclass(frozen=True, slots=True)
class Jobs:
    """Equal jobs: cycles of the controller to set one up, of the unit to do it, how many."""

    program: float
    run: float
    count: int = 1


class Walk(ABC):
    """One layer, from entering it to the end of its last store; serves once.

    Times are absolute: `_now` is the controller's, `_engine` when all transfers that were started
    are over, `_loads` when each tile for the next call arrives, `_stored` when the last two output
    tiles, older first, have left.
    """

    def __init__(self, controller: Controller) -> None:
        """Nothing has happened."""
        self._core = controller
        self._visit = 0.0
        self._now = self._engine = 0.0
        self._loads: list[float] = []
        self._stored = (_NEVER, _NEVER)
        self._last: Call | None = None

    def cycles(self, calls: Sequence[Call | Repeat]) -> float:
        """Of all `calls`."""
        enter, visit = self._core.walk(np.asarray(_count(calls)))
        self._now, self._visit = float(enter), float(visit)
        self._follow(calls)
        self._leave()
        # Of two places the first is waited for first: the last tile is there if tiles are odd.
        odd = _count(calls, opening=True) % 2
        for stored in reversed(self._stored) if odd else self._stored:
            self._until(stored)
        return self._now

    def _follow(self, items: Sequence[Call | Repeat]) -> None:
        for item in items:
            if isinstance(item, Repeat):
                self._repeat(item)
            else:
                self._call(item)
                self._last = item

    def _repeat(self, item: Repeat) -> None:
        """Round after round until all distances are what they were a round or two before."""
        seen: list[tuple[float, tuple[float, ...]]] = []
        left = item.times
        while left:
            self._follow(item.body)
            left -= 1
            now, distances = self._now, self._distances()
            for back in (1, 2):
                if left >= back <= len(seen) and _same(seen[-back][1], distances):
                    self._shift(left // back * (now - seen[-back][0]))
                    left %= back
                    break
            seen.append((self._now, distances))

    def _distances(self) -> tuple[float, ...]:
        """All times as seen from now; those that are over are all the same."""
        return tuple(
            -1.0 if time == _NEVER else max(0.0, time - self._now) for time in self._times()
        )

    def _times(self) -> tuple[float, ...]:
        return self._engine, *self._stored

    def _shift(self, cycles: float) -> None:
        """Let everything happen later."""
        self._now += cycles
        self._engine += cycles
        self._stored = (self._stored[0] + cycles, self._stored[1] + cycles)

    @abstractmethod
    def _call(self, call: Call) -> None:
        """From the last call to the next one."""

    @abstractmethod
    def _leave(self) -> None:
        """From the last call to the start of its store."""

    def _load(self, call: Call) -> None:
        self._loads = []
        for move in call.loads:
            self._move(cast(Move, move))
            self._loads.append(self._engine)

    def _store(self, call: Call) -> None:
        if call.store is None:
            return
        self._move(cast(Move, call.store))
        self._stored = (self._stored[1], self._engine)

    def _move(self, move: Move) -> None:
        self._now += move.start
        self._engine = max(self._engine, self._now) + move.engine

    def _arrive(self) -> None:
        """Wait for what was loaded."""
        for time in self._loads:
            self._now = max(self._now + self._core.wait, time)
        self._loads = []

    def _until(self, time: float) -> None:
        """Wait for a store, if there was one."""
        if time > _NEVER:
            self._now = max(self._now + self._core.wait, time)


class BlockingWalk(Walk):
    """The controller waits for every call of the kernel."""

    def _call(self, call: Call) -> None:
        self._load(call)
        if self._last is not None:
            self._work(self._last)
            if call.opens:
                self._store(self._last)
        self._now += self._visit
        if call.opens:
            self._until(self._stored[0])
        self._arrive()

    def _work(self, call: Call) -> None:
        for jobs in cast(tuple[Jobs, ...], call.work):
            self._now += jobs.count * (jobs.program + jobs.run)

    def _leave(self) -> None:
        assert self._last is not None
        self._work(self._last)
        self._store(self._last)


class QueuedWalk(Walk):
    """The unit holds two jobs: while one runs, the controller prepares the next one.

    `_ends` is when the last two jobs end, older first; `_pending` the call before the last one,
    when it is done, and whether its output is then complete.
    """

    def __init__(self, controller: Controller) -> None:
        """Nothing has happened."""
        super().__init__(controller)
        self._ends = (0.0, 0.0)
        self._pending: tuple[float, Call, bool] | None = None

    def _distances(self) -> tuple[float, ...]:
        """Also what waits to be stored."""
        if self._pending is None:
            return super()._distances()
        _, call, complete = self._pending
        store = Move(0.0, 0.0) if call.store is None else cast(Move, call.store)
        return (*super()._distances(), store.start, store.engine, float(complete))

    def _times(self) -> tuple[float, ...]:
        return (*super()._times(), *self._ends, self._pending[0] if self._pending else _NEVER)

    def _shift(self, cycles: float) -> None:
        super()._shift(cycles)
        self._ends = (self._ends[0] + cycles, self._ends[1] + cycles)
        if self._pending is not None:
            self._pending = (self._pending[0] + cycles, *self._pending[1:])

    def left(self, jobs: Sequence[Jobs]) -> float:
        """Cycles from when the last of `jobs` is set up until it ends, nothing else being there."""
        for some in jobs:
            self._queue(some)
        return self._ends[1] - self._now

    def _call(self, call: Call) -> None:
        self._settle()
        if self._last is not None:
            self._pending = (self._ends[1], self._last, call.opens)
        self._load(call)
        self._now += self._visit
        if call.opens:
            self._until(self._stored[1])
        for jobs in cast(tuple[Jobs, ...], call.work):
            self._queue(jobs)

    def _settle(self) -> None:
        """Wait for the call before the last one, and store its tile."""
        if self._pending is None:
            return
        done, call, complete = self._pending
        self._now = max(self._now + self._core.wait, done)
        if complete:
            self._store(call)

    def _queue(self, jobs: Jobs) -> None:
        """Set up jobs as slots get free; the first one's tiles arrive meanwhile."""
        grown: tuple[float, ...] = ()
        left = jobs.count
        while left:
            was, before = (self._now, *self._ends), grown
            self._now = max(self._now, self._ends[0]) + jobs.program
            self._arrive()
            self._ends = (self._ends[1], max(self._now, self._ends[1]) + jobs.run)
            left -= 1
            if not left:
                return
            grown = tuple(b - a for a, b in zip(was, (self._now, *self._ends), strict=True))
            if before and _same((*grown, grown[0]), (*before, max(grown))):
                more = left * grown[0]
                self._now += more
                self._ends = (self._ends[0] + more, self._ends[1] + more)
                return

    def _leave(self) -> None:
        assert self._last is not None
        self._settle()
        self._pending = (self._ends[1], self._last, True)
        self._settle()


def _count(items: Sequence[Call | Repeat], *, opening: bool = False) -> int:
    """Calls in all, or those with a new output tile."""
    found = 0
    for item in items:
        if isinstance(item, Repeat):
            found += item.times * _count(item.body, opening=opening)
        else:
            found += item.opens or not opening
    return found


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    return len(one) == len(other) and all(
        abs(a - b) < _SAME for a, b in zip(one, other, strict=False)
    )
