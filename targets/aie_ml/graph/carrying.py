"""Whether the kernels of a layer in passes go on from pass to pass, and what that costs.

Modelled. A chain's kernels then pause for locks alone, and words of a block are further apart, so
that a tile is further behind the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, Assumed
from match_aie.targets.aie_ml.array.emit import call_spec
from match_aie.targets.aie_ml.array.handing import hand, hand_on
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey, CallSchedule
from match_aie.targets.aie_ml.schedule.passes import PassSchedule, pass_schedule


@dataclass(frozen=True)
class Carrying:
    """What passes cost that go on one into the next.

    Attributes:
        compute: cycles of a pass in the slowest tile, with a share of the run's beginning and end,
            and what tiles wait for words.
        behind: cycles by which a chain's last tile ends later than where each pass has an end.
    """

    compute: float
    behind: float


def carrying(timed: Timed) -> Carrying | None:
    """Of a layer fed by streams; None where its kernels cannot go on."""
    m = timed.mapping
    walks = timed.walks_passes and m.row_steps == 1 and timed.memory == "plio"
    if not walks or timed.passes < 2 or m.cas_length < 2 or not timed.device.mem_rows:
        return None
    return _costs(m, ArchitectureKey(timed.device.architecture), timed.passes)


@lru_cache(maxsize=1024)
def _costs(mapping: ArrayMapping, key: ArchitectureKey, passes: int) -> Carrying | None:
    try:
        if not all(call_spec(mapping, at).may_carry for at in range(mapping.cas_length)):
            return None
        calls = [_call(mapping, at, key, grouped=True) for at in range(mapping.cas_length)]
        chain = [pass_schedule(call) for call in calls]
    except TargetError:
        return None
    most = key.arch.core.program_memory_bytes - RUNTIME_BYTES
    if max(each.first.program_bytes for each in chain) > most:
        return None
    assumed = Assumed()
    room, pause = 2 * key.arch.core.cascade_fifo, assumed.acquire + assumed.release
    stores = [at == mapping.cas_length - 1 for at in range(mapping.cas_length)]
    pairs = list(zip(chain, stores, strict=True))
    on = hand_on(pairs, room, assumed.cascade, pause)
    plain = [_call(mapping, at, key, grouped=False) for at in range(mapping.cas_length)]
    ended = hand(plain, room, assumed.cascade, 2 * pause)
    slowest = max(_cycles(each, passes, pause, stores=last) for each, last in pairs)
    around = assumed.start + 2 * (assumed.start_port + pause)
    return Carrying((slowest + around) / passes + on.waits, on.behind - ended.behind)


def _call(mapping: ArrayMapping, at: int, key: ArchitectureKey, *, grouped: bool) -> CallSchedule:
    """The kernel of a tile."""
    ((_, kernel),) = mapping.turns(at)
    sizes = mapping.call_rows, mapping.call_reduction, mapping.call_columns
    return schedule_call(replace(kernel, grouped=grouped), key.arch, *sizes)


def _cycles(tile: PassSchedule, passes: int, pause: int, *, stores: bool) -> int:
    """Of a run of one tile that never waits."""
    again = passes - 2
    if not stores:
        return tile.first.body + again * (tile.whole.body + pause) + tile.last.body + pause
    begin = tile.begin.body + pause
    between = again * (begin + tile.rest.body + pause)
    return tile.first.body + between + begin + tile.last.body + pause
