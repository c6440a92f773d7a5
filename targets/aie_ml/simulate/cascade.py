"""A cascade word by word: a few between two cores, each on its way for a while.

A core that finds no word, or no room for one, stands still as a whole: everything later in its call
is later by as much. Between its first and its last word a call meets nothing but its cascades, so
its words are timed ahead of the event engine's clock, and a core waits for the engine only where
its neighbour has not come as far. Times are exact: those of a model that steps cycle by cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable

from match_aie.simulation import Command, Fire, Signal, Wait
from match_aie.targets.aie_ml.schedule import Scheduled

#: What an end waits for, as reports of a deadlock name it.
WORD, ROOM = "a word from the cascade", "room in the cascade"

#: (cycle of a call's body, whether a word is read there; else one is written).
Moment = tuple[int, bool]


class Link:
    """Words between two cores, in order.

    Args:
        room: words that are between the cores at most, those on their way included.
        transfer: cycles from a word's write until it may be read.

    Attributes:
        ready: when each word that is written may be read.
        free: when there was room for each word that may be written.
        waiting: what the end that waits for the other waits for.
    """

    __slots__ = ("free", "ready", "transfer", "waiting")

    def __init__(self, room: int, transfer: int) -> None:
        """Empty."""
        self.transfer = transfer
        self.ready: deque[float] = deque()
        self.free: deque[float] = deque([0.0] * room)
        self.waiting: Signal | None = None


def moments(call: Scheduled, *, reads: bool, writes: bool) -> tuple[Moment, ...]:
    """Words of a call in the order in which they are moved; one is read before one is written.

    Args:
        call: its schedule.
        reads: whether there is a cascade to read from.
        writes: whether there is one to write to.
    """
    into = [(cycle, True) for cycle in call.reads] if reads else []
    out = [(cycle, False) for cycle in call.writes] if writes else []
    return tuple(sorted(into + out, key=lambda moment: (moment[0], not moment[1])))


def play(
    words: tuple[Moment, ...], begun: float, west: Link | None, east: Link | None
) -> Generator[Command, object, float]:
    """Move the words of a call that began at `begun`.

    Returns:
        By how many cycles it ends later than it would if it never had to wait.
    """
    late = begun
    links = [link for link in (west, east) if link is not None]
    for cycle, reads in words:
        link = west if reads else east
        assert link is not None
        found = link.ready if reads else link.free
        while not found:
            yield from _tell(links)
            link.waiting = Signal(WORD if reads else ROOM)
            yield Wait(link.waiting)
        possible = found.popleft()
        at = late + cycle
        if possible > at:
            late += possible - at
            at = possible
        if reads:
            link.free.append(at)
        else:
            link.ready.append(at + link.transfer)
    yield from _tell(links)
    return late - begun


def _tell(links: Iterable[Link]) -> Generator[Command, object, None]:
    """Wake whoever waits at the other ends."""
    for link in links:
        if link.waiting is not None:
            waiting, link.waiting = link.waiting, None
            yield Fire(waiting)
