"""Starts and finishes of a block, placed in bundles that its steps and its neighbours leave free.

Starts come as late, finishes as early as they can be. What feeds the multiplications of a finish
(sums as vectors, their halves, factors and theirs) is fetched as late as possible before them: kept
early, the halves of a few sums would take all vector registers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from match_aie.targets.aie_ml.schedule.operation import ACCUMULATING, Operation
from match_aie.targets.aie_ml.schedule.operations import Block
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table
from match_aie.targets.aie_ml.schedule.words import Limits, place_reads, place_writes

#: Ways of saving registers in a finish, the most thrifty one: `place_finish` says which.
MOST_SERIAL = 3


def place_start(
    block: Block,
    placed: list[Placed],
    table: Table,
    length: int,
    words: Limits,
    *,
    since: int | None = None,
) -> list[Placed] | None:
    """As late as possible before the first product of each accumulator.

    Args:
        block: the operations.
        placed: those of the steps.
        table: what is taken.
        length: of the pattern: how far to look.
        words: where words of a cascade may be.
        since: first cycle of all; None where only the pattern limits them.
    """
    found = []
    begins = {
        name: min(p.cycle for p in placed if p.operation.writes == name) for name in block.sums
    }
    if block.start and block.start[0].kind == "cascade_read":
        spread = dict(zip(block.sums, words.reads_by, strict=False))
        latest = [
            min(begins[op.writes] - op.latency, spread.get(op.writes, begins[op.writes]))
            for op in block.start
        ]
        return place_reads(block.start, tuple(latest), table, length)
    for name, first in begins.items():
        for op in (op for op in block.start if op.writes == name):
            at = first - op.latency
            one = table.search(op, range(at, at - length if since is None else since - 1, -1))
            if one is None:
                return None
            found.append(one)
    for op in reversed([op for op in block.start if op.writes not in begins]):
        at = min(p.cycle for p in found if op.writes in p.operation.reads) - op.latency
        one = table.search(op, range(at, at - length, -1))
        if one is None:
            return None
        found.append(one)
    return found


def landed(placed: Iterable[Placed]) -> dict[str, int]:
    """When the last product of each accumulator has landed."""
    found: dict[str, int] = {}
    for p in placed:
        op = p.operation
        if op.kind in ACCUMULATING:
            lands = p.cycle + op.latency
            if found.get(op.writes, lands) <= lands:
                found[op.writes] = lands
    return found


def place_finish(
    block: Block,
    landed: dict[str, int],
    table: Table,
    length: int,
    words: Limits,
    *,
    serial: int = 0,
) -> list[Placed] | None:
    """As early as possible after the last product of each accumulator.

    Args:
        block: the operations.
        landed: when that has landed.
        table: what is taken.
        length: of the pattern: how far to look.
        words: where words of a cascade may be.
        serial: how registers are saved: not (0); a chain begins when the one before has multiplied
            (1); so does each part of a chain (2), and nothing is fetched for a chain before (3).
    """
    ready = dict(landed)
    ops = tuple(op for chain in block.finish for op in chain)
    if ops and ops[0].kind == "cascade_write":
        spread = dict(zip(block.sums, words.writes_after, strict=False))
        first = ready[block.sums[0]]
        since = [max(ready[op.reads[0]], first + spread.get(op.reads[0], 0)) for op in ops]
        return place_writes(ops, tuple(since), table, length)
    found: list[Placed] = []
    free = min(ready.values())
    for chain in sorted(block.finish, key=lambda c: ready[c[0].reads[0]]):
        chained = _Chain(feeders(chain), ready, table, length)
        begin = max(ready[chain[0].reads[0]], free)
        for op in chain:
            if op.writes in chained.feeders:
                continue
            placed_now = chained.place(op, max(begin, free) if serial > 1 else begin)
            if placed_now is None:
                return None
            found += placed_now
            if serial and op.kind == "multiply":
                free = placed_now[0].cycle
        if serial == MOST_SERIAL:
            free += chained.lead
    return found


def feeders(chain: tuple[Operation, ...]) -> dict[str, Operation]:
    """What is done for the sake of multiplications alone, by the value that it gives."""
    makers = {op.writes: op for op in chain if op.kind != "multiply"}
    wanted = [name for op in chain if op.kind == "multiply" for name in op.reads]
    found = {}
    while wanted:
        name = wanted.pop()
        if name in makers and name not in found:
            found[name] = makers[name]
            wanted += makers[name].reads
    return found


@dataclass(frozen=True)
class _Chain:
    """One finish that is being placed.

    Attributes:
        feeders: operations that wait until what they feed is placed, by what they write.
        ready: cycles at which values may be read; grows.
        table: what is taken; grows.
        length: of the pattern: how far to look.
    """

    feeders: dict[str, Operation]
    ready: dict[str, int]
    table: Table
    length: int

    @property
    def lead(self) -> int:
        """Cycles from the first feeder to what it feeds, at least."""
        return max((self._lead(name) for name in self.feeders), default=0)

    def _lead(self, name: str) -> int:
        op = self.feeders.get(name)
        return op.latency + max((self._lead(read) for read in op.reads), default=0) if op else 0

    def place(self, op: Operation, begin: int) -> list[Placed] | None:
        """`op` as early as possible from `begin` on, and what only it needs as late as possible."""
        soonest = self._after(op, begin)
        return self._within(op, range(soonest, soonest + self.length))

    def _within(self, op: Operation, cycles: range) -> list[Placed] | None:
        """`op` at the first of `cycles` that has room for it and for all that it needs."""
        while (free := self.table.first(op, cycles)) is not None:
            found = self._at(op, *free)
            if found is not None:
                return found
            cycles = range(free[0] + cycles.step, cycles.stop, cycles.step)
        return None

    def _after(self, op: Operation, begin: int) -> int:
        """When `op` can issue at the earliest, from `begin` on."""
        for name in op.reads:
            ready = self.ready.get(name)
            soonest = self._soonest(self.feeders[name]) if ready is None else ready
            if soonest > begin:
                begin = soonest
        return begin

    def _soonest(self, op: Operation) -> int:
        """When what it gives can be read; any time where nothing holds it up."""
        before = min(self.ready.values()) - self.length
        return op.latency + self._after(op, before) if op.reads else before

    def _at(self, op: Operation, cycle: int, slot: str) -> list[Placed] | None:
        """`op` in a free slot with all that it needs; None, and nothing taken, without room."""
        self.table.take(op, cycle, slot)
        found = [Placed(cycle, slot, op)]
        ready = self.ready
        for name in op.reads:
            fed = None if name in ready else self._before(self.feeders[name], cycle)
            if fed is not None:
                found += fed
            if ready.get(name, cycle + 1) > cycle:
                self._undo(found)
                return None
        if op.writes:
            lands, known = cycle + op.latency, ready.get(op.writes)
            ready[op.writes] = lands if known is None else max(lands, known)
        return found

    def _before(self, op: Operation, cycle: int) -> list[Placed] | None:
        """`op` as late as possible so that its value can be read in `cycle`."""
        latest = cycle - op.latency
        soonest = self._after(op, latest - self.length + 1)
        return self._within(op, range(latest, soonest - 1, -1))

    def _undo(self, placed: list[Placed]) -> None:
        for one in placed:
            self.table.release(one.operation, one.cycle, one.slot)
            if one.operation.writes in self.feeders:
                self.ready.pop(one.operation.writes, None)
