"""What cascades cost a chain: how far a tile is behind the one before, and cycles of waiting.

The cost model's view: a few tiles alike, a few calls of their first and last blocks, the rest by
arithmetic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from match_aie.targets.aie_ml.schedule import CallSchedule
from match_aie.targets.aie_ml.schedule.passes import PassSchedule, Unpaused
from match_aie.targets.aie_ml.schedule.run import SHORT, Shown, ends, words

#: Calls after which tiles keep their pace, and more of which the waiting is counted.
WARM, COUNTED = 3, 3

#: Tiles of a chain that are looked at: the ends, and two that are like all others.
TILES = 4


@dataclass(frozen=True)
class Hand:
    """Of sums that go from tile to tile.

    Attributes:
        behind: cycles by which the last tile of the chain ends its calls after a tile would that
            takes as long as the slowest, and as long as all of them wait, but waits for no first
            word.
        waits: cycles by which a call of all tiles takes longer than the slowest of them alone.
    """

    behind: float
    waits: float


@dataclass(frozen=True)
class _Short:
    """A call's words where it has a few blocks only: the others are like the middle ones.

    Attributes:
        moved: (cycle of the body, whether a word is written; else one is read), in order.
        body: its cycles.
        first: the first call of all, where that is another.
    """

    moved: tuple[tuple[int, bool], ...]
    body: int
    first: _Short | None = None


def hand(chain: Sequence[CallSchedule], room: int, transfer: int, around: int) -> Hand:
    """Of calls that repeat with `around` cycles between them.

    Args:
        chain: what the tiles of a chain run at a time.
        room: words between two tiles at most.
        transfer: cycles of a word between them.
        around: cycles between two calls of a tile.
    """
    if len(chain) < 2:
        return Hand(0.0, 0.0)
    few = [*chain[: TILES - 1], chain[-1]] if len(chain) > TILES else list(chain)
    blocks = min(call.blocks for call in few)
    short, longer = (
        _paced(tuple(_short(call, many) for call in few), room, transfer, around)
        for many in (min(blocks, SHORT + 1), min(blocks, SHORT + 2))
    )
    left = blocks - min(blocks, SHORT + 1)
    each = short.behind / (len(few) - 1)
    return Hand(each * (len(chain) - 1), short.waits + left * (longer.waits - short.waits))


def hand_on(
    chain: Sequence[tuple[PassSchedule, bool]], room: int, transfer: int, pause: int
) -> Hand:
    """Of calls that go on one into the next.

    Args:
        chain: what the tiles run, and whether they store.
        room: words between two tiles at most.
        transfer: cycles of a word between them.
        pause: cycles of giving a buffer and taking the next one.
    """
    few = [*chain[: TILES - 1], chain[-1]] if len(chain) > TILES else list(chain)
    shorts = tuple(_of_stretches(tile, pause, stores=stores) for tile, stores in few)
    found = _paced(shorts, room, transfer, pause)
    return Hand(found.behind / (len(few) - 1) * (len(chain) - 1), found.waits)


def _of_stretches(tile: PassSchedule, pause: int, *, stores: bool) -> _Short:
    """A call among others; a tile that stores pauses twice."""
    first = _in_turn((tile.first,), pause)
    return replace(
        _in_turn((tile.begin, tile.rest) if stores else (tile.whole,), pause), first=first
    )


def _in_turn(parts: Sequence[Unpaused], pause: int) -> _Short:
    """Stretches with pauses between them as one call."""
    moved: list[tuple[int, bool]] = []
    now = 0
    for part in parts:
        moved += [(now + cycle, False) for cycle in part.reads]
        moved += [(now + cycle, True) for cycle in part.writes]
        now += part.body + pause
    return _Short(tuple(sorted(moved)), now - pause)


def _short(call: CallSchedule, blocks: int) -> _Short:
    schedule = call.parts[0].schedule
    return _of_blocks(Shown(schedule), (schedule.length, schedule.hidden), blocks)


@lru_cache(maxsize=16384)
def _of_blocks(key: Shown, sizes: tuple[int, int], blocks: int) -> _Short:
    """Of a schedule with these sizes (length and hidden cycles), which many calls have."""
    del sizes
    schedule = key.schedule
    lead, end = ends(schedule, blocks)
    moved = [
        (lead + number * schedule.length + cycle, bool(which))
        for number in range(blocks)
        for which in (0, 1)
        for cycle in words(schedule, number, blocks)[which]
    ]
    return _Short(tuple(sorted(moved)), lead + (blocks - 1) * schedule.length + end + 1)


@lru_cache(maxsize=4096)
def _paced(chain: tuple[_Short, ...], room: int, transfer: int, around: int) -> Hand:
    """Every word as soon as it may move, tile by tile as far as each gets."""
    # Calls that go on end with words of the next one, which tiles before must have begun.
    many = WARM + COUNTED + (len(chain) if any(short.first for short in chain) else 0)
    tiles = [_Tile(short, around, many) for short in chain]
    for west, east in pairwise(tiles):
        west.free = deque([0.0] * room)
        west.ready = east.west = deque()
        east.frees = west.free
    moving = True
    while moving:
        moving = any([tile.advance(transfer) for tile in tiles])
    slowest = max(tile.short.body for tile in tiles)
    calls = WARM + COUNTED
    paces = [(tile.begins[calls] - tile.begins[WARM]) / COUNTED for tile in tiles]
    waits = max(paces) - around - slowest
    alone = max((t.short.first or t.short).body + (calls - 1) * t.short.body for t in tiles)
    return Hand(tiles[-1].begins[calls] - alone - calls * (around + waits), waits)


class _Tile:
    """A tile on its way through its calls.

    Args:
        short: a call.
        around: cycles between two.
        many: calls that it makes.
    """

    def __init__(self, short: _Short, around: int, many: int) -> None:
        """At the beginning of its first call."""
        self.short = short
        self.begins = [0.0]
        self.west: deque[float] | None = None
        self.frees: deque[float] | None = None
        self.ready: deque[float] | None = None
        self.free: deque[float] | None = None
        self._around, self._many = around, many
        self._late = 0.0
        self._at = 0

    def advance(self, transfer: int) -> bool:
        """Go on as far as words and room are there; whether it moved."""
        moved = False
        while len(self.begins) <= self._many:
            first = self.short.first if len(self.begins) == 1 else None
            short = first or self.short
            for cycle, writes in short.moved[self._at :]:
                source = self.free if writes else self.west
                if source is not None:
                    if not source:
                        return moved
                    self._late = max(self._late, source.popleft() - cycle)
                    target, later = (self.ready, transfer) if writes else (self.frees, 0)
                    assert target is not None
                    target.append(self._late + cycle + later)
                self._at += 1
                moved = True
            self._late += short.body + self._around
            self._at = 0
            self.begins.append(self._late)
            moved = True
        return moved
