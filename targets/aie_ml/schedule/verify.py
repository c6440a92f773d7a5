"""Proves a schedule without any code of the scheduler: a run of blocks, cycle by cycle.

The core has no interlocks: whatever is too early reads an old value. Every rule is checked on a
run of blocks laid end to end as a call runs them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.place import BlockSchedule
from match_aie.targets.aie_ml.schedule.run import Issue, Value, unroll

#: Slots in which each kind may issue (llvm-aie, as the hardware note's section A.7 lists them).
LEGAL = {
    "product": {"vector"},
    "compare": {"move"},
    "multiply": {"vector"},
    "load": {"load_a", "load_b"},
    "scalar_load": {"load_a", "load_b"},
    "load_accumulator": {"load_a"},
    "cascade_read": {"load_a"},
    "cascade_write": {"store"},
    "srs": {"store"},
    "store": {"store"},
    "store_accumulator": {"store"},
    "maximum": {"move"},
    "shuffle": {"move"},
    "copy": {"move"},
}

#: 256-bit registers of values by their first letter; accumulators are "c", "t" and "g".
VECTORS = {"a": 1.0, "w": 1.0, "d": 2.0, "v": 1.0, "x": 1.0, "y": 2.0, "h": 0.5, "f": 1.0}


@dataclass(frozen=True)
class Pause:
    """A block before which a kernel waits for a lock.

    Attributes:
        block: number in the run.
        step: its first one whose operands are loaded after the lock.
        cycles: from the lock to the block's first product.
    """

    block: int
    step: int
    cycles: int


def verify(
    schedule: BlockSchedule,
    kernel: Kernel,
    core: Machine,
    blocks: int = 4,
    pause: Pause | None = None,
) -> None:
    """Check a run of `blocks` blocks.

    Args:
        schedule: of a block.
        kernel: whose.
        core: where.
        blocks: how many.
        pause: between two of them; None where they follow each other.

    Raises:
        InternalError: a rule does not hold; says which, when and for what.
    """
    issues = unroll(schedule, blocks)
    if pause is not None:
        issues = _paused(issues, schedule, pause)
    run = sorted(issues, key=lambda issue: issue.cycle)
    _slots(run)
    _banks(run)
    _write_port(run)
    _dependences(run)
    _distances(run, core.float_distance if kernel.floating else core.product_distance)
    _accumulators(run, schedule, core)
    _words(run, schedule)
    _vectors(run, core)
    _complete(run, schedule, blocks)


def _paused(run: tuple[Issue, ...], schedule: BlockSchedule, pause: Pause) -> tuple[Issue, ...]:
    """The run with everything behind the lock later; the lock itself takes no time."""
    begin = pause.block * schedule.shown
    found = []
    for issue in run:
        step = issue.placed.step
        loads = issue.block >= pause.block and step is not None and step >= pause.step
        late = pause.cycles if loads or issue.cycle >= begin else 0
        found.append(issue._replace(cycle=issue.cycle + late))
        if loads and found[-1].cycle < begin:
            _fail("is loaded before the lock", found[-1])
    return tuple(found)


def _fail(what: str, issue: Issue) -> None:
    op = issue.placed.operation
    raise InternalError(
        f"kernel schedule: {what}",
        where=f"cycle {issue.cycle}, block {issue.block}, {op.kind} {op.name} {op.writes}",
    )


def _slots(run: list[Issue]) -> None:
    taken: set[tuple[int, str]] = set()
    for issue in run:
        key = (issue.cycle, issue.placed.slot)
        if key in taken:
            _fail(f"slot {issue.placed.slot} is taken twice", issue)
        if issue.placed.slot not in LEGAL[issue.placed.operation.kind]:
            _fail(f"does not issue in slot {issue.placed.slot}", issue)
        taken.add(key)


def _banks(run: list[Issue]) -> None:
    """No two accesses of one bank in a bundle; at most one of accumulators."""
    taken: set[tuple[int, str]] = set()
    for issue in run:
        op = issue.placed.operation
        keys = [(issue.cycle, op.bank)] if op.bank else []
        if op.kind in ("load_accumulator", "store_accumulator"):
            keys.append((issue.cycle, "accumulator access"))
        for key in keys:
            if key in taken:
                _fail(f"bank {key[1]} is accessed twice", issue)
            taken.add(key)


def _write_port(run: list[Issue]) -> None:
    """Rounding shares the vector write port with load A."""
    landing: set[int] = set()
    for issue in run:
        op = issue.placed.operation
        if op.kind == "srs" or (op.kind == "load" and issue.placed.slot == "load_a"):
            when = issue.cycle + op.latency
            if when in landing:
                _fail("the vector write port is taken", issue)
            landing.add(when)


def _dependences(run: list[Issue]) -> None:
    """Everything read is complete, in its own block and step."""
    landed: dict[Value, int] = {}
    parts: dict[Value, int] = defaultdict(int)
    for issue in run:
        op = issue.placed.operation
        if op.writes:
            value = issue.value(op.writes)
            when = issue.cycle + op.latency
            landed[value] = max(landed.get(value, when), when)
            parts[value] += 1
    for issue in run:
        op = issue.placed.operation
        for name in op.reads:
            written = landed.get(issue.value(name))
            if written is None:
                _fail(f"{name} is never written", issue)
            elif written > issue.cycle:
                _fail(f"{name} is read {written - issue.cycle} cycles early", issue)


def _distances(run: list[Issue], distance: int) -> None:
    """Products on one accumulator keep their distance, and follow what started it."""
    last: dict[Value, int] = {}
    begun: dict[Value, int] = {}
    for issue in run:
        op = issue.placed.operation
        if op.writes[:1] != "c":
            continue
        value = issue.value(op.writes)
        if op.kind not in ("product", "compare"):
            if value in last:
                _fail("starts an accumulator that products already use", issue)
            begun[value] = max(begun.get(value, issue.cycle), issue.cycle + op.latency)
            continue
        if begun.get(value, issue.cycle) > issue.cycle:
            _fail("adds to an accumulator that has not begun", issue)
        if issue.cycle - last.get(value, issue.cycle - distance) < distance:
            _fail(f"products on one accumulator are closer than {distance}", issue)
        last[value] = issue.cycle


def _lives(run: list[Issue], letters: str) -> dict[Value, tuple[int, int]]:
    """(first write lands, last read) of every value whose name begins with one of `letters`."""
    begin: dict[Value, int] = {}
    end: dict[Value, int] = {}
    for issue in run:
        op = issue.placed.operation
        if op.writes and op.writes[0] in letters:
            value = issue.value(op.writes)
            when = issue.cycle + op.latency
            begin[value] = min(begin.get(value, when), when)
            end[value] = max(end.get(value, when), when)
        for name in op.reads:
            if name[0] in letters:
                value = issue.value(name)
                end[value] = max(end.get(value, issue.cycle), issue.cycle)
    return {value: (begin[value], end[value]) for value in begin}


def _pressure(lives: dict[Value, tuple[int, int]], units: dict[str, float], most: float) -> None:
    changes: dict[int, float] = defaultdict(float)
    for (_, _, name), (begin, end) in lives.items():
        changes[begin] += units[name[0]]
        changes[end + 1] -= units[name[0]]
    live = 0.0
    for cycle in sorted(changes):
        live += changes[cycle]
        if live > most:
            raise InternalError(
                f"kernel schedule: {live:g} registers of {'/'.join(units)} in cycle {cycle}, "
                f"there are {most:g}"
            )


def _accumulators(run: list[Issue], schedule: BlockSchedule, core: Machine) -> None:
    """Enough registers, and one register serves block n and block n + sets in turn."""
    lives = _lives(run, "ctg")
    _pressure(lives, schedule.block.width, core.accumulators)
    owners: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for (block, _, name), life in lives.items():
        if name[0] == "c":
            owners[name, block % schedule.sets].append(life)
    for (name, _), each in owners.items():
        ordered = sorted(each)
        for (_, end), (begin, _) in itertools.pairwise(ordered):
            if begin <= end:
                raise InternalError(
                    f"kernel schedule: accumulator {name} begins anew in cycle {begin}, "
                    f"and is read until {end}"
                )


def _words(run: list[Issue], schedule: BlockSchedule) -> None:
    """Words of a cascade move in the order of blocks, and of accumulators inside a block."""
    place = {name: at for at, name in enumerate(schedule.block.sums)}
    before: dict[str, tuple[int, int]] = {}
    for issue in run:
        op = issue.placed.operation
        if op.kind in ("cascade_read", "cascade_write"):
            now = issue.block, place[op.writes or op.reads[0]]
            if now < before.get(op.kind, now):
                _fail("a word of the cascade is out of order", issue)
            before[op.kind] = now


def _vectors(run: list[Issue], core: Machine) -> None:
    _pressure(_lives(run, "".join(VECTORS)), VECTORS, core.vectors)


def _complete(run: list[Issue], schedule: BlockSchedule, blocks: int) -> None:
    """Nothing of the block is left out or done twice."""
    done: dict[tuple[str, str, str], int] = defaultdict(int)
    for issue in run:
        op = issue.placed.operation
        done[op.kind, op.name, op.writes or "".join(op.reads)] += 1
    block = schedule.block
    wanted: dict[tuple[str, str, str], int] = defaultdict(int)
    for op in block.step:
        wanted[op.kind, op.name, op.writes] += blocks * schedule.explicit
    for op in (*block.start, *(op for chain in block.finish for op in chain)):
        wanted[op.kind, op.name, op.writes or "".join(op.reads)] += blocks
    if done != wanted:
        wrong = next(key for key in (*wanted, *done) if done.get(key) != wanted.get(key))
        raise InternalError(
            f"kernel schedule: {wrong} is issued {done.get(wrong, 0)} times, "
            f"not {wanted.get(wrong, 0)}"
        )
