"""Operations in their bundles, and the registers that their values take while they live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from match_aie.targets.aie_ml.schedule.operation import OF_STEP, Operation


class Placed(NamedTuple):
    """An operation, when it issues and where.

    Attributes:
        cycle: relative to the block's first product.
        slot: of the bundle.
        operation: what issues.
        step: of the reduction; None for a block's start and finish.
    """

    cycle: int
    slot: str
    operation: Operation
    step: int | None = None


#: 256-bit registers of values by their first letter; those of "c" and "t" are accumulators.
VECTOR_UNITS = {"a": 1.0, "w": 1.0, "d": 2.0, "v": 1.0, "x": 1.0, "y": 2.0, "h": 0.5, "f": 1.0}


Life = tuple[int, int, float]


def most_live(lives: Iterable[Life], length: int | None) -> float:
    """Most registers taken at once by (first cycle, last cycle, registers) of values.

    In a pattern of `length` cycles that repeats; None where nothing does.
    """
    changes: dict[int, float] = defaultdict(float)
    always = 0.0
    for begin, end, units in lives:
        span = end + 1 - begin
        if length is not None:
            always += span // length * units
            begin, span = begin % length, span % length
            over = begin + span - length
            if over > 0:
                changes[0] += units
                changes[over] -= units
                span -= over
        changes[begin] += units
        changes[begin + span] -= units
    live = most = always
    for cycle in sorted(changes):
        live += changes[cycle]
        most = max(most, live)
    return most


#: (block, name, step of the reduction where it is of one) of a value.
Value = tuple[int, str, int | None]

#: (first, last) cycle of values.
Spans = dict[Value, tuple[int, int]]


class Moments(NamedTuple):
    """What some operations do to values.

    Attributes:
        landed: first and last cycle in which each is written.
        read: last cycle in which each is read.
    """

    landed: Spans
    read: dict[Value, int]


def fit(
    files: Sequence[tuple[dict[str, float], float]], lives: Sequence[Spans], length: int | None
) -> bool:
    """Whether all values that live at once have a register.

    Args:
        files: of registers: how many a value takes by the first letter of its name, and how many
            there are; values of other letters do not count.
        lives: of all values, each in one of them.
        length: of the pattern that repeats; None where nothing does.
    """
    for units, most in files:
        taken = [
            (*span, units[key[1][0]])
            for known in lives
            for key, span in known.items()
            if key[1][0] in units
        ]
        if most_live(taken, length) > most:
            return False
    return True


def spans(*parts: Moments) -> Spans:
    """How long the values live that operations write, from those of each part."""
    found: Spans = {}
    for part in parts:
        for key, span in part.landed.items():
            known = found.get(key)
            found[key] = _hull(span, known) if known else span
    for part in parts:
        for key, read in part.read.items():
            known = found.get(key)
            if known is not None and read > known[1]:
                found[key] = known[0], read
    return found


def _hull(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])


def moments(
    letters: Collection[str], issued: Iterable[tuple[int, int, Placed]], *, of_step: bool
) -> Moments:
    """What operations do to values whose names begin with one of `letters`.

    Args:
        letters: of the names.
        issued: (block, cycle, placed) of each.
        of_step: whether values of single steps are meant, or all others.
    """
    wanted = {letter for letter in letters if (letter in OF_STEP) == of_step}
    found = Moments({}, {})
    landed, read = found
    for block, cycle, (_, _, op, step) in issued:
        name = op.writes
        if name and name[0] in wanted:
            lands = cycle + op.latency
            key = (block, name, step if of_step else None)
            known = landed.get(key)
            if known is None:
                landed[key] = lands, lands
            elif not known[0] <= lands <= known[1]:
                landed[key] = min(lands, known[0]), max(lands, known[1])
        for name in op.reads:
            if name[0] in wanted:
                key = (block, name, step if of_step else None)
                last = read.get(key)
                if last is None or cycle > last:
                    read[key] = cycle
    return found


def apart(sums: Iterable[str], parts: Sequence[Moments], length: int, sets: int) -> bool:
    """Whether an accumulator's next life begins after the last read of this one.

    Args:
        sums: of a block, in one accumulator each.
        parts: what its operations do to them.
        length: from block to block.
        sets: of accumulators that blocks use in turn.
    """
    for name in sums:
        key = 0, name, None
        begin = min(part.landed[key][0] for part in parts if key in part.landed)
        end = max(part.read[key] for part in parts if key in part.read)
        if begin + sets * length <= end:
            return False
    return True
