"""AI Engine array: cycles of a layer whose operands come from the chip's memory in passes.

Pure functions, modelled. Rates are in bytes per cycle of the array's clock, times in its cycles.
Inside a pass everything moves at once, as `aie_array` has it; ways to memory are one more thing
that may be the slowest, and so is the memory that all of them share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


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
        first_weights: bytes that a way brings before anything can start; it may bring as many
            again meanwhile.
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
        request: cycles from a way's request until the memory gives or takes a first word.
        results: requests of a pass by a way for results.
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
    request: float = 0
    results: int = 1
    returning: float = 0


@dataclass(frozen=True)
class Start:
    """Until the first call of a pass begins, whose activations were not there before.

    Attributes:
        cycles: of it.
        inputs: bytes of activations that came meanwhile.
        weights: likewise, by each way for them.
    """

    cycles: float
    inputs: float
    weights: tuple[float, ...]


def timed_cycles(work: PassWork) -> float:
    """Cycles of a run: activations come in, passes follow each other, the last results go out.

    Of what the passes ask, one thing is the slowest. What came while calls waited for activations
    does not come again while they are at work; who waited for a way ends after its last words.
    """
    start = _start(work)
    if work.double or work.parts > 1:
        waited, ends = start.cycles, 1
        if work.parts > 1:
            waited = max(_waited(work, first=True), work.first_weights / work.way_rate)
            waited += (work.passes - 1) * _waited(work, first=False) + work.request
    else:
        waited, ends = work.passes * start.cycles, work.passes
    slowest = _slowest(work, start, waited, ends)
    return waited + slowest + work.last_output / work.way_rate + work.through + work.request


def interval_cycles(work: PassWork) -> float:
    """Cycles between the ends of runs that follow each other; activations must be double."""
    return work.passes * _pace(work)


def _slowest(work: PassWork, start: Start, waited: float, ends: int) -> float:
    """Cycles of all passes beside those in which they wait for activations.

    Args:
        work: of a pass.
        start: of one.
        waited: cycles of all such waits.
        ends: passes after whose last words nothing else comes until they are done.
    """
    waits = waited / start.cycles if start.cycles else 0.0
    came = max(start.weights, default=0.0) / _rate(work, len(start.weights))
    share = work.first_weights / max(work.weights) if work.weights else 1.0 / work.fills
    last = share * max(work.inside, _leaving(work), sum(work.outputs) / work.memory_rate)
    ways = work.passes * _bringing(work, ends * share / work.passes) - waits * came
    moved = work.passes * _moved(work) - waits * (start.inputs + sum(start.weights))
    moved -= ends * share * sum(work.outputs)
    found = [
        work.passes * max(work.inside, _leaving(work)),
        moved / work.memory_rate + ends * last,
        ways + ends * last if work.weights else 0.0,
    ]
    if work.double or work.parts > 1:
        after = max(work.inside, _leaving(work)) / work.fills if work.double else 0.0
        found.append(work.passes * (_entering(work) + work.request) - waited + after)
    return max(found)


def _start(work: PassWork) -> Start:
    """Activations come, and weights for two calls: all at once, so that they share the memory."""
    x = [size / work.fills for size in work.inputs]
    both = [min(2.0 * work.first_weights, size) for size in work.weights]
    once = [float(work.first_weights)] * len(both)
    until = _filled([*x, *both], work)[: len(x)] + _filled([*x, *once], work)[len(x) :]
    cycles = max(*until, work.first_weights / work.way_rate)
    rate = _rate(work, len(x) + len(both))
    return Start(cycles + work.request, sum(x), tuple(min(s, cycles * rate) for s in both))


def _filled(sizes: Sequence[float], work: PassWork) -> list[float]:
    """When each of several ways has brought so many bytes, which begin together."""
    found, now, done = [0.0] * len(sizes), 0.0, 0.0
    order = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for before, at in enumerate(order):
        now += (sizes[at] - done) / _rate(work, len(sizes) - before)
        done = sizes[at]
        found[at] = now
    return found


def _entering(work: PassWork) -> float:
    """Cycles in which the activations of a pass come in."""
    return max(max(work.inputs) / work.way_rate, sum(work.inputs) / work.memory_rate)


def _rate(work: PassWork, ways: int) -> float:
    """Bytes a cycle of each of so many ways that use the memory at the same time."""
    return min(work.way_rate, work.memory_rate / max(1, ways))


def _leaving(work: PassWork) -> float:
    """Cycles in which the results of a pass go out."""
    ways = len(work.outputs)
    return max((*work.outputs, 0)) / _rate(work, ways) + work.results * work.request


def _bringing(work: PassWork, last: float) -> float:
    """Cycles of a pass in which its weights come, slowed down by who uses the memory meanwhile.

    Args:
        work: of a pass.
        last: share of the results that leave when all weights are there.
    """
    alone = _rate(work, len(work.weights))
    cycles = max((*work.weights, 0)) / alone + work.asking
    beside = [(work.inputs, 1.0 - 1 / work.passes)] if work.double else []
    beside += [] if work.duplex else [(work.outputs, 1.0 - last)]
    for others, share in beside:
        if work.weights and others:
            rate = _rate(work, len(work.weights) + len(others))
            cycles += share * max(others) * (1 / rate - 1 / alone)
    return cycles


def _moved(work: PassWork) -> float:
    """Bytes of a pass that one after the other go from the memory, or to it."""
    read, written = sum(work.inputs) + sum(work.weights), sum(work.outputs)
    return max(read, written) if work.duplex else read + written


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
    # Weights of two calls come meanwhile, and no more: those of a third one find no room before
    # the first one is done.
    entering = _start(replace(work, fills=1)).cycles - work.request
    filled = entering / work.parts
    come = done = 0.0
    for part in range(work.parts):
        empty = 0.0 if first else -read * (work.parts - 1 - part)
        come = filled + (max(empty, come) if part else empty)
        done = max(done, come) + read
    waited = done - work.parts * read
    return waited if first else max(waited, entering - _pace(work))


def _pace(work: PassWork) -> float:
    """Cycles of a pass among others."""
    bringing = max((*work.weights, 0)) / _rate(work, len(work.weights)) + work.asking
    busiest = max(bringing, max((*work.outputs, 0)) / _rate(work, len(work.outputs)))
    pace = max(work.inside, busiest, _moved(work) / work.memory_rate, work.returning)
    return max(pace, _entering(work)) if work.double else pace
