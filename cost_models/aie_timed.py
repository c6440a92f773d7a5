"""AI Engine array: cycles of a layer whose operands come from the chip's memory in passes.

Pure functions, modelled. Rates are in bytes per cycle of the array's clock, times in its cycles.
Inside a pass everything moves at once, as `aie_array` has it; ways to memory are one more thing
that may be the slowest, and so is the memory that all of them share.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PassWork:
    """What one pass asks.

    Attributes:
        passes: of a run.
        inside: cycles of the slowest of compute and streams in the array.
        through: cycles of a pass's way through the array.
        inputs: bytes that each way brings of the activations.
        double: whether activations of a pass come while another is at work.
        weights: bytes that each way brings of the weights.
        first_weights: bytes that a way brings before anything can start.
        outputs: bytes that each way takes.
        last_output: bytes that a way takes after everything else is done.
        way_rate: of a way.
        memory_rate: of the chip's memory, or of all ways together.
        fills: in which the rows of a pass come: the first tiles wait for one of them.
        duplex: whether reading and writing have `memory_rate` each, and do not share it.
        asking: cycles of a pass in which a way for weights waits for what it asked for.
        parts: in which activations of a pass come where these are not `double`, each as soon as
            its forerunner has been read for the last time.
        laps: calls of a pass, each of which reads one part after the other.
        returning: cycles of a pass in which results come to a memory tile that has them once, and
            leave it: one after the other.
    """

    passes: int
    inside: float
    through: float
    inputs: tuple[int, ...]
    double: bool
    weights: tuple[int, ...]
    first_weights: int
    outputs: tuple[int, ...]
    last_output: int
    way_rate: float
    memory_rate: float
    fills: int = 1
    duplex: bool = False
    asking: float = 0
    parts: int = 1
    laps: int = 1
    returning: float = 0


def timed_cycles(work: PassWork) -> float:
    """Cycles of a run: activations come in, passes follow each other, the last results go out."""
    again = 0.0 if work.double else (work.passes - 1) * _waited(work, first=False)
    entering = _entering(work) if work.parts == 1 else _waited(work, first=True)
    before = max(entering / work.fills, work.first_weights / work.way_rate)
    through = work.last_output / work.way_rate + work.through
    return before + work.passes * _pace(work) + again + through


def interval_cycles(work: PassWork) -> float:
    """Cycles between the ends of runs that follow each other; activations must be double."""
    return work.passes * _pace(work)


def _entering(work: PassWork) -> float:
    """Cycles in which the activations of a pass come in."""
    return max(max(work.inputs) / work.way_rate, sum(work.inputs) / work.memory_rate)


def _waited(work: PassWork, *, first: bool) -> float:
    """Cycles of a pass in which its first call waits for activations.

    The last call of the pass before leaves one part after the other, each of which is then filled;
    of the first pass all are empty. Times count from the end of that call. A call reads parts in
    equal times: it begins one when that has come and it is done with those before.

    Args:
        work: of a pass; activations of one pass are held.
        first: whether there is no pass before.
    """
    read = _pace(work) / work.laps / work.parts
    filled = _entering(work) / work.parts
    come = done = 0.0
    for part in range(work.parts):
        empty = 0.0 if first else -read * (work.parts - 1 - part)
        come = filled + (max(empty, come) if part else empty)
        done = max(done, come) + read
    waited = done - work.parts * read
    return waited if first else max(waited, _entering(work) - _pace(work))


def _pace(work: PassWork) -> float:
    """Cycles of a pass among others."""
    read, written = sum(work.inputs) + sum(work.weights), sum(work.outputs)
    moved = max(read, written) if work.duplex else read + written
    bringing = max((*work.weights, 0)) / work.way_rate + work.asking
    busiest = max(bringing, max((*work.outputs, 0)) / work.way_rate)
    pace = max(work.inside, busiest, moved / work.memory_rate, work.returning)
    return max(pace, _entering(work)) if work.double else pace
