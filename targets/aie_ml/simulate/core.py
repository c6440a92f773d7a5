"""What a core does during a call, as a simulator steps through it: waits and cascade transfers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from match_aie.targets.aie_ml.schedule import CallSchedule

#: Cascade transfers of a call that are simulated one by one; longer calls join blocks. What is
#: joined delays the next tile by that many blocks, once a chain: throughput does not change.
MOST_TRANSFERS = 24


@dataclass(frozen=True)
class Moment:
    """Something at a cycle of a call, counted from its first load.

    Attributes:
        cycle: when, if nothing stalls.
        action: "get" sums from the tile before, or "put" them to the next.
    """

    cycle: int
    action: str


def moments(call: CallSchedule, cascade: int) -> tuple[Moment, ...]:
    """Cascade transfers of a call in the order in which they happen.

    Args:
        call: its schedule.
        cascade: cycles of a transfer from core to core; who receives waits for them.
    """
    kernel = call.kernel
    if not (kernel.cascade_in or kernel.cascade_out):
        return ()
    reads, writes = [], []
    now = call.lead
    for part in call.parts:
        block = part.schedule
        for _ in range(part.times):
            reads.append(max(0, now + block.read_last - cascade))
            writes.append(min(now + block.write_done, call.body))
            now += block.length
    group = ceil(len(reads) / MOST_TRANSFERS)
    found = []
    for first in range(0, len(reads), group):
        last = min(first + group, len(reads)) - 1
        if kernel.cascade_in:
            found.append(Moment(reads[first], "get"))
        if kernel.cascade_out:
            found.append(Moment(max(writes[first : last + 1]), "put"))
    return tuple(sorted(found, key=lambda moment: (moment.cycle, moment.action)))


@dataclass(frozen=True)
class Step:
    """A turn of a core's call: what it takes before and gives after.

    Attributes:
        begins: whether it is the call's first turn, which takes a buffer for results.
        ends: whether it is the last, which gives the results.
        takes_a: whether new activations are needed.
        takes_w: whether new weights are.
        gives_a: whether its activations are used for the last time.
        gives_w: likewise.
    """

    takes_a: bool
    takes_w: bool
    gives_a: bool
    gives_w: bool
    begins: bool = True
    ends: bool = True


def steps(
    row_steps: int, column_steps: int, *, rows_outer: bool, streamed: bool, turns: int = 1
) -> tuple[Step, ...]:
    """Turns of the calls of one run of a layer, in order.

    A call of several turns keeps nothing from one to the next but its sums.
    """
    if turns > 1:
        call = [
            Step(True, streamed, True, streamed, turn == 0, turn == turns - 1)
            for turn in range(turns)
        ]
        return tuple(call * (row_steps * column_steps))
    found = []
    outer, inner = (row_steps, column_steps) if rows_outer else (column_steps, row_steps)
    for i in range(outer):
        for j in range(inner):
            first_in, last_in = j == 0, j == inner - 1
            first, last = first_in and i == 0, last_in and i == outer - 1
            # What belongs to the outer loop stays for the inner one; what belongs to the inner
            # loop is new in every call, unless there is only one of it.
            kept_new, kept_old = first_in, last_in
            moving_new, moving_old = (True, True) if inner > 1 else (first, last)
            a = (kept_new, kept_old) if rows_outer else (moving_new, moving_old)
            w = (moving_new, moving_old) if rows_outer else (kept_new, kept_old)
            found.append(Step(a[0], streamed and w[0], a[1], streamed and w[1]))
    return tuple(found)
