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


#: (first, last) cycle of values by block, name and step of the reduction, where they are of one.
Spans = dict[tuple[int, str, int | None], tuple[int, int]]


def fit(
    files: Sequence[tuple[dict[str, float], float]],
    issued: Sequence[tuple[int, int, Placed]],
    length: int | None,
    stepped: Spans | None = None,
) -> bool:
    """Whether all values that live at once have a register.

    Args:
        files: of registers: how many a value takes by the first letter of its name, and how many
            there are; values of other letters do not count.
        issued: (block, cycle, placed) of all operations.
        length: of the pattern that repeats; None where nothing does.
        stepped: values of single steps among them, where they are known.
    """
    letters = {letter for units, _ in files for letter in units}
    if stepped is None:
        stepped = spans(letters, issued, of_step=True)
    known = (*stepped.items(), *spans(letters, issued, of_step=False).items())
    for units, most in files:
        lives = [(*span, units[key[1][0]]) for key, span in known if key[1][0] in units]
        if most_live(lives, length) > most:
            return False
    return True


def spans(
    letters: Collection[str], issued: Sequence[tuple[int, int, Placed]], *, of_step: bool
) -> Spans:
    """How long values live whose names begin with one of `letters`.

    Args:
        letters: of the names.
        issued: (block, cycle, placed) of all operations.
        of_step: whether values of single steps are meant, or all others.
    """
    wanted = {letter for letter in letters if (letter in OF_STEP) == of_step}
    found: Spans = {}
    for block, cycle, (_, _, op, step) in issued:
        name = op.writes
        if name and name[0] in wanted:
            landed = cycle + op.latency
            key = (block, name, step if of_step else None)
            known = found.get(key)
            if known is None:
                found[key] = landed, landed
            elif not known[0] <= landed <= known[1]:
                found[key] = min(landed, known[0]), max(landed, known[1])
    for block, cycle, (_, _, op, step) in issued:
        for name in op.reads:
            if name[0] in wanted:
                key = (block, name, step if of_step else None)
                read = found.get(key)
                if read is not None and cycle > read[1]:
                    found[key] = read[0], cycle
    return found
