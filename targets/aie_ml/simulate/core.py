"""What a core does during a call, as a simulator steps through it: waits and cascade transfers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from match_aie.targets.aie_ml.schedule import Scheduled

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


def moments(call: Scheduled, cascade: int) -> tuple[Moment, ...]:
    """Cascade transfers of a call in the order in which they happen.

    Args:
        call: its schedule.
        cascade: cycles of a transfer from core to core; who receives waits for them.
    """
    reads = [max(0, cycle - cascade) for cycle in call.reads]
    writes = call.writes
    blocks = max(len(reads), len(writes))
    group = max(1, ceil(blocks / MOST_TRANSFERS))
    found = []
    for first in range(0, blocks, group):
        last = min(first + group, blocks) - 1
        if reads:
            found.append(Moment(reads[first], "get"))
        if writes:
            found.append(Moment(max(writes[first : last + 1]), "put"))
    return tuple(sorted(found, key=lambda moment: (moment.cycle, moment.action)))
