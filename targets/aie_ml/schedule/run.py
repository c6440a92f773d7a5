"""A run of blocks as a call issues it: the repeating pattern, with a beginning and an end.

Up to three blocks are laid out one by one. Longer runs repeat the pattern; only the start of the
first block and the finish of the last one are placed anew, since they have one neighbour less.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.schedule.edges import landed, place_finish, place_start
from match_aie.targets.aie_ml.schedule.operation import OF_STEP
from match_aie.targets.aie_ml.schedule.place import BlockSchedule
from match_aie.targets.aie_ml.schedule.registers import VECTOR_UNITS, Placed, fit, moments, spans
from match_aie.targets.aie_ml.schedule.table import Table
from match_aie.targets.aie_ml.schedule.words import Limits

#: Runs of more blocks than this are the pattern between two ends.
SHORT = 3

#: (block, step of the reduction where the value belongs to one, name).
Value = tuple[int, int | None, str]


class Issue(NamedTuple):
    """An operation of a run: absolute cycle, block, and what the scheduler placed."""

    cycle: int
    block: int
    placed: Placed

    def value(self, name: str) -> Value:
        """Which value `name` is here: loads belong to a step, all else to the block."""
        return self.block, self.placed.step if name[0] in OF_STEP else None, name


def ends(schedule: BlockSchedule, blocks: int) -> tuple[int, int]:
    """Cycles before a call's first product; cycle of its last operation.

    The latter counts from the first product of the last block.
    """
    lead, last, _ = _ends(Shown(schedule), min(blocks, SHORT + 1))
    return lead, last + schedule.hidden


def words(schedule: BlockSchedule, block: int, blocks: int) -> tuple[list[int], list[int]]:
    """Cycles at which a block reads and writes words of a cascade, from its first product.

    Args:
        schedule: of a block.
        block: its number in the run.
        blocks: of the run.
    """
    if blocks > SHORT:
        block = SHORT if block == blocks - 1 else min(block, 1)
    reads, writes = _ends(Shown(schedule), min(blocks, SHORT + 1))[2][block]
    return list(reads), [cycle + schedule.hidden for cycle in writes]


class Shown:
    """A schedule as a key: equal where the same operations are shown, repeated or not."""

    def __init__(self, schedule: BlockSchedule) -> None:
        """Of `schedule`."""
        self.schedule = schedule
        self.numbers = schedule.shown, schedule.gap, schedule.sets, schedule.serial

    def __eq__(self, other: object) -> bool:
        """Whether the same operations are shown."""
        if not isinstance(other, Shown) or other.schedule.placed is not self.schedule.placed:
            return False
        return other.numbers == self.numbers

    def __hash__(self) -> int:
        """Of the operations."""
        return id(self.schedule.placed)


@lru_cache(maxsize=16384)
def _ends(key: Shown, blocks: int) -> tuple[int, int, tuple[tuple[list[int], list[int]], ...]]:
    """As `ends` and `words` of all blocks, without the cycles of the inner loop's repetitions."""
    schedule = key.schedule
    run = sorted(unroll(schedule, blocks), key=lambda issue: issue.cycle)
    begin = (blocks - 1) * schedule.shown
    moved: tuple[tuple[list[int], list[int]], ...] = tuple(([], []) for _ in range(blocks))
    for issue in run:
        kind = issue.placed.operation.kind
        if kind in ("cascade_read", "cascade_write"):
            moved[issue.block][kind == "cascade_write"].append(
                issue.cycle - issue.block * schedule.shown
            )
    return -run[0].cycle, run[-1].cycle - begin, moved


def unroll(schedule: BlockSchedule, blocks: int) -> tuple[Issue, ...]:
    """Every operation of `blocks` blocks, without the inner loop's repetitions."""
    for tight in (True, False):
        found = _lay_out(schedule, blocks, tight=tight)
        if found is not None and _apart(found, schedule.sets) and _fits(found, schedule):
            return found
    return tuple(
        Issue(block * schedule.shown + p.cycle, block, p)
        for block in range(blocks)
        for p in schedule.placed
    )


def _fits(run: tuple[Issue, ...], schedule: BlockSchedule) -> bool:
    """Whether registers suffice."""
    vectors, accumulators = schedule.registers
    files = (VECTOR_UNITS, vectors), (schedule.block.width, accumulators)
    letters = {letter for units, _ in files for letter in units}
    issued = [(issue.block, issue.cycle, issue.placed) for issue in run]
    lives = [spans(moments(letters, issued, of_step=each)) for each in (True, False)]
    return fit(files, lives, None)


def _apart(run: tuple[Issue, ...], sets: int) -> bool:
    """Whether every accumulator is read for the last time before its register begins anew."""
    begin: dict[tuple[str, int], int] = {}
    end: dict[tuple[str, int], int] = {}
    for issue in run:
        op = issue.placed.operation
        if op.writes[:1] == "c":
            landed = issue.cycle + op.latency
            begin[op.writes, issue.block] = min(landed, begin.get((op.writes, issue.block), landed))
        for name in op.reads:
            if name[0] == "c":
                end[name, issue.block] = max(issue.cycle, end.get((name, issue.block), issue.cycle))
    return all(
        begin.get((name, block + sets), last + 1) > last for (name, block), last in end.items()
    )


def _lay_out(schedule: BlockSchedule, blocks: int, *, tight: bool) -> tuple[Issue, ...] | None:
    """The run, or None where its beginning collides.

    Args:
        schedule: of a block.
        blocks: of the run.
        tight: whether loads before the first product lose the bundles that a block before had.
    """
    table, span = Table(None), schedule.shown
    issues: list[Issue] = []
    steps = _steps(schedule, tight)
    for block in range(blocks):
        for p in steps[0] if block == 0 else steps[1]:
            if not table.claim(p.operation, block * span + p.cycle, p.slot):
                return None
            issues.append(Issue(block * span + p.cycle, block, p))
    anew = range(blocks) if blocks <= SHORT else (0, blocks - 1)
    others = [p for p in schedule.placed if p.step is None]
    begins = frozenset(schedule.block.start)
    for block in range(blocks):
        for p in others:
            starting = p.operation in begins
            if blocks > SHORT and block != (0 if starting else blocks - 1):
                if not table.claim(p.operation, block * span + p.cycle, p.slot):
                    return None
                issues.append(Issue(block * span + p.cycle, block, p))
    for block in anew:
        if blocks <= SHORT or block:
            issues += _anew(schedule, table, block, last=block == blocks - 1, starting=False)
    for block in reversed(anew):
        if blocks <= SHORT or not block:
            issues += _anew(schedule, table, block, last=False, starting=True)
    return tuple(issues)


def _steps(schedule: BlockSchedule, tight: bool) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
    """Operations of the steps: of the first block, and of any other."""
    usual = tuple(p for p in schedule.placed if p.step is not None)
    closer = tuple(
        Placed(p.cycle + schedule.gap, p.slot, p.operation, p.step) if p.cycle < 0 else p
        for p in usual
    )
    return (closer if tight and not schedule.alone else usual), usual


def _anew(
    schedule: BlockSchedule, table: Table, block: int, *, last: bool, starting: bool
) -> list[Issue]:
    """Start or finish of `block`, placed in what is free.

    Words of a cascade are spread over the steps of the block beside it, where there is one.
    """
    offset = block * schedule.shown
    alone = block == 0 if starting else last
    words = Limits() if alone else schedule.words.later(offset)
    steps = [
        Placed(p.cycle + offset, p.slot, p.operation, p.step)
        for p in schedule.placed
        if p.step is not None
    ]
    length = 16 * schedule.shown + 1024
    if starting:
        found = place_start(schedule.block, steps, table, length, words)
    else:
        after, serial = landed(steps), schedule.serial
        found = place_finish(schedule.block, after, table, length, words, serial=serial)
    if found is None:
        raise InternalError("kernel schedule: no room at an end")
    return [Issue(p.cycle, block, p) for p in found]
