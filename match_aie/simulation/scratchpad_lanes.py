"""Layers side by side on the units of a chip with scratchpads, with one controller for all.

The same order of things as `ma_lane_next` (ma_beside.h).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from match_aie.hardware import SimulatedStep, Visit
from match_aie.simulation.scratchpad_timing import KernelTime, SharedTiming
from match_aie.simulation.scratchpad_units import Chip, Layer, Pending, Steps


def together(
    chip: Chip, steps: Sequence[SimulatedStep], after: Sequence[SimulatedStep]
) -> Generator[Any, Any, list[float]]:
    """Layers at the same time; the value is when the controller left each.

    The first one has their order. All but that one load for the next one, the last one for those
    `after` it, as in `Chip.step`.
    """
    yield from chip.offload(steps[0].label)
    lanes: dict[int, Lane] = {}
    ends = [0.0] * len(steps)
    for turn in steps[0].order:
        if turn not in lanes:
            last = turn + 1 == len(steps)
            follows = after if last else steps[turn + 1 : turn + 2] if turn else ()
            lanes[turn] = Lane(chip, steps[turn], follows)
        yield from lanes[turn].turn()
        ends[turn] = chip.now
    return ends


class Lane(Layer):
    """One of several layers side by side: its kernel is queued, the controller comes and goes."""

    def __init__(self, chip: Chip, step: SimulatedStep, after: Sequence[SimulatedStep]) -> None:
        """Nothing has happened."""
        super().__init__(chip, step, after)
        self._next = 0

    def turn(self) -> Steps:
        """Go on with it: enter it the first time, start the kernel on a tile, or leave it."""
        if not self._next:
            yield from self._enter()
        if self._next == len(self._visits):
            yield from self._settle()
            for task in self._storing:
                yield from self._wait(task)
            self._chip.happened("close", self._label)
            return
        yield from self._start(self._visits[self._next])
        self._next += 1
        if self._next < len(self._visits):
            after = self._visits[self._next].loads
            yield from self._fetch(tuple(r for r in after if r.operand.copies == 2))
        yield from self._fetch_early()

    def _walks(self) -> tuple[float, float]:
        timing = self._chip.timing
        if isinstance(timing, SharedTiming):
            return timing.lane(self._step.module, self._workload, self._tiles)
        return timing.walk(self._tiles)

    def _time(self, visit: Visit) -> KernelTime:
        timing = self._chip.timing
        if isinstance(timing, SharedTiming):
            return timing.kernel_beside(self._step.module, self._workload, visit)
        return timing.kernel(self._step.module, self._workload, visit)

    def _enter(self) -> Steps:
        self._chip.happened("open", self._label)
        enter, _ = self._walks()
        enter += self._chip.entering(self._step.module, beside=True)
        yield self._chip.busy(enter, "controller", self._label, "layer")
        yield from self._fetch(self._visits[0].loads)
        if not self._early:
            # The layer before did not run: it would have loaded them.
            self._early = yield from self._chip.load_ahead(self._tiles.ahead)

    def _start(self, visit: Visit) -> Steps:
        _, walk = self._walks()
        yield self._chip.busy(walk, "controller", self._label, "walk")
        late = tuple(r for r in visit.loads if r.operand.copies == 1)
        if self._next and late:
            yield from self._settle()
            yield from self._fetch(late)
        if visit.opens:
            yield from self._open_output(visit)
        time = self._called(self._time(visit))
        queued = replace(time, queue=time.queue or 1)
        done = yield from self._chip.start(self._step, self._label, queued, self._take(visit))
        self._chip.happened("start", self._label)
        yield from self._settle()
        self._pending = Pending(done, visit.output if visit.stores else None, self._copy)

    def _fetch_early(self) -> Steps:
        if any(self._ahead):
            self._chip.happened("ahead", self._label)
        yield from super()._fetch_early()

    def _settle(self) -> Steps:
        pending = self._pending
        yield from super()._settle()
        if pending is not None:
            self._chip.happened("end", self._label)
