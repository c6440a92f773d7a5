"""Loops whose turns overlap, and calls that are made of them.

A loop's body is placed operation by operation in a pattern that repeats: at the least interval at
which slots, banks and ports have room for all of them. Loops do not overlap each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table

#: Cycles within which an operation that does not repeat finds room behind another one: a slot, and
#: a port when its result lands.
_BEHIND = 16


@dataclass(frozen=True)
class LoopSchedule:
    """The body of a loop whose turns follow each other.

    Attributes:
        interval: cycles from turn to turn.
        span: cycles of one turn, first issue to last result.
        placed: its operations.
        overlaps: whether turns begin before others end.
    """

    interval: int
    span: int
    placed: tuple[Placed, ...]
    overlaps: bool = True

    def body(self, turns: int) -> int:
        """Cycles of so many turns."""
        return self.span + (turns - 1) * self.interval

    @property
    def bundles(self) -> int:
        """Of the loop, and of the turns that begin before it and end after it."""
        return 2 * self.span + self.interval if self.overlaps else self.span


@dataclass(frozen=True)
class RowSchedule:
    """A call of a function that walks rows; cycles are modelled.

    Attributes:
        body: cycles from the first load to the last store.
        program_bytes: estimate of the program memory taken.
        call: cycles of calling an empty function.
        loops: (turns of a call, loop).
    """

    body: int
    program_bytes: int
    call: int
    loops: tuple[tuple[int, LoopSchedule], ...]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @property
    def cycles(self) -> int:
        """Cycles of a call."""
        return self.call + self.body

    @property
    def counts(self) -> Counter[str]:
        """Operations of a call by their kind."""
        found: Counter[str] = Counter()
        for turns, loop in self.loops:
            found.update({p.operation.kind: 0 for p in loop.placed})
            for p in loop.placed:
                found[p.operation.kind] += turns
        return found


@lru_cache(maxsize=256)
def loop_schedule(
    operations: tuple[Operation, ...], least: int, *, overlaps: bool = True
) -> LoopSchedule:
    """`operations`, each after those whose values it reads, at the least interval that is found.

    A turn adds to what the one before it had: `least` cycles lie between them. Turns that do not
    overlap follow each other as a whole.
    """
    interval = max(least, *Counter(op.slots for op in operations if len(op.slots) == 1).values())
    while True:
        placed = _placed(operations, interval)
        if placed is not None:
            last = max(p.cycle + p.operation.latency for p in placed)
            found = LoopSchedule(interval, last + 1, placed)
            return found if overlaps else replace(found, interval=last + 1, overlaps=False)
        interval += 1


@lru_cache(maxsize=256)
def straight_schedule(operations: tuple[Operation, ...]) -> LoopSchedule:
    """`operations` once, each after those whose values it reads: no other turn takes their slots.

    A "loop" of a single turn.
    """
    placed = _placed(operations, None)
    assert placed is not None  # any later cycle has room
    span = max(p.cycle + p.operation.latency for p in placed) + 1
    return LoopSchedule(span, span, placed, overlaps=False)


def _placed(operations: Sequence[Operation], interval: int | None) -> tuple[Placed, ...] | None:
    """In a pattern that repeats, or once where `interval` is None."""
    table, ready = Table(interval), dict[str, int]()
    found = []
    for op in operations:
        first = max((ready[name] for name in op.reads), default=0)
        # Of operations that do not repeat each has room behind all others.
        placed = table.search(op, range(first, first + (interval or _BEHIND * len(operations))))
        if placed is None:
            return None
        found.append(placed)
        if op.writes:
            ready[op.writes] = max(ready.get(op.writes, 0), placed.cycle + op.latency)
    return tuple(found)
