"""Operations in their bundles, and the registers that their values take while they live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from match_aie.targets.aie_ml.schedule.operation import OF_STEP, Operation


@dataclass(frozen=True)
class Placed:
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


def fit(units: dict[str, float], placed: tuple[Placed, ...], length: int, most: float) -> bool:
    """Whether all values of the pattern that live at once have a register.

    Args:
        units: registers of a value by the first letter of its name; others do not count.
        placed: all operations of a block.
        length: of the pattern.
        most: registers there are.
    """
    lives = lifetimes(units, ((0, p.cycle, p) for p in placed))
    return most_live(lives, length) <= most


def lifetimes(units: dict[str, float], issued: Iterable[tuple[int, int, Placed]]) -> list[Life]:
    """Lives of values whose names begin with a letter of `units`, from (block, cycle, placed)."""
    spans: dict[tuple[int, str, int | None], list[int]] = {}
    everything = list(issued)
    for block, cycle, p in everything:
        name = p.operation.writes
        if name and name[0] in units:
            landed = cycle + p.operation.latency
            key = (block, name, p.step if name[0] in OF_STEP else None)
            span = spans.get(key)
            if span is None:
                spans[key] = [landed, landed]
            elif landed < span[0]:
                span[0] = landed
            elif landed > span[1]:
                span[1] = landed
    for block, cycle, p in everything:
        step = p.step
        for name in p.operation.reads:
            if name[0] in units:
                read = spans.get((block, name, step if name[0] in OF_STEP else None))
                if read is not None and cycle > read[1]:
                    read[1] = cycle
    return [(begin, end, units[name[0]]) for (_, name, _), (begin, end) in spans.items()]
