"""A cascade word by word: a few between two cores, each on its way for a while.

A core that finds no word, or no room for one, stands still as a whole: everything later in its call
is later by as much. Between its first and its last word a call meets nothing but its cascades, so
its words are timed ahead of the event engine's clock, and a core waits for the engine only where
its neighbour has not come as far. Times are exact: those of a model that steps cycle by cycle.

What the cores of a chain do when one of them begins a call follows from the words between them and
from where their own calls are, all counted from that moment. Chains of a program are alike, and so
are their calls: what followed once is remembered (`Known`) and not played again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass

from match_aie.simulation import Command, Fire, Signal, Wait
from match_aie.targets.aie_ml.schedule import Scheduled

#: What a core waits for, as reports of a deadlock name it.
WAITS = "a word from a cascade, or room in one"
#: States that are remembered at most.
MOST_KNOWN = 20_000

#: (cycle of a call's body, whether a word is read there; else one is written).
Moment = tuple[int, bool]
#: Of a stretch of a chain, counted from a moment.
State = tuple[float, ...]


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


@dataclass(frozen=True, eq=False)
class Words:
    """A call's words, in the order in which they are moved.

    Attributes:
        number: calls with the same words have the same.
        cycles: of the body.
        reads: whether each is read; else it is written.
    """

    number: int
    cycles: tuple[int, ...] = ()
    reads: tuple[bool, ...] = ()


@dataclass(frozen=True)
class _After:
    """What follows from a state, counted from the same moment.

    Attributes:
        moved: words of each core's call.
        late: when each core's call would have begun if it had never waited.
        links: (when words may be read, when there was room) of each link.
    """

    moved: tuple[int, ...]
    late: tuple[float, ...]
    links: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]


class Known:
    """What chains of one program have done before, and the words of their calls."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._words: dict[tuple[Moment, ...], Words] = {}
        self.after: dict[State, _After] = {}

    def words(self, found: tuple[Moment, ...]) -> Words:
        """The same for the same moments."""
        known = self._words.get(found)
        if known is None:
            cycles, reads = tuple(c for c, _ in found), tuple(r for _, r in found)
            known = self._words[found] = Words(len(self._words), cycles, reads)
        return known

    def learn(self, state: State, after: _After) -> None:
        """Remember one more."""
        if len(self.after) >= MOST_KNOWN:
            self.after.clear()
        self.after[state] = after


class Chain:
    """Cores that hand words on, west to east.

    Args:
        cores: how many.
        room: words between two cores at most, those on their way included.
        transfer: cycles from a word's write until it may be read.
        known: of all chains with this room and transfer.

    Attributes:
        cores: how many.
    """

    def __init__(self, cores: int, room: int, transfer: int, known: Known) -> None:
        """No core has a call, no word is underway."""
        self.cores = cores
        self._transfer = transfer
        self._known = known
        self._words = [known.words(())] * cores
        self._moved = [0] * cores
        self._late = [0.0] * cores
        self._waiting: list[Signal | None] = [None] * cores
        # Link number i leads into core i, and out of the core before it: when each word that is
        # written may be read, when there was room for each one that may be written.
        self._ready: list[deque[float]] = [deque() for _ in range(cores + 1)]
        self._free = [deque([0.0] * room) for _ in range(cores + 1)]

    def play(self, core: int, words: Words, begun: float) -> Generator[Command, object, float]:
        """Move the words of a call of `core` that begins at `begun`, which is now.

        Returns:
            By how many cycles it ends later than it would if it never had to wait.
        """
        self._words[core], self._moved[core], self._late[core] = words, 0, begun
        first, last = self._stretch(core)
        self._go_on(core, first, last, begun)
        for other in range(first, last + 1):
            signal = self._waiting[other]
            if signal is not None and not self._under_way(other):
                self._waiting[other] = None
                yield Fire(signal)
        if self._under_way(core):
            signal = self._waiting[core] = Signal(WAITS)
            yield Wait(signal)
        return self._late[core] - begun

    def _under_way(self, core: int) -> bool:
        """Whether words of its call have not been moved."""
        return self._moved[core] < len(self._words[core].cycles)

    def _stretch(self, core: int) -> tuple[int, int]:
        """(first, last) of the neighbours that are in the middle of a call, `core` among them."""
        first = last = core
        while first and self._under_way(first - 1):
            first -= 1
        while last + 1 < self.cores and self._under_way(last + 1):
            last += 1
        return first, last

    def _go_on(self, core: int, first: int, last: int, now: float) -> None:
        """Move all words that can be moved now that `core` has begun a call."""
        if now % 1:  # counted from other moments, times would be rounded otherwise
            self._move(core, first, last)
            return
        state = self._state(core, first, last, now)
        after = self._known.after.get(state)
        if after is None:
            self._move(core, first, last)
            self._known.learn(state, self._after(first, last, now))
            return
        self._moved[first : last + 1] = after.moved
        self._late[first : last + 1] = [now + late for late in after.late]
        for link, (ready, free) in enumerate(after.links, first):
            self._ready[link] = deque([now + time for time in ready])
            self._free[link] = deque([now + time for time in free])

    def _state(self, core: int, first: int, last: int, now: float) -> State:
        """Everything that decides what happens from now on, counted from now.

        No word is moved before now, so that what was earlier is as good as now.
        """
        found: list[float] = [core - first, last - first]
        for at in range(first, last + 1):
            words, moved = self._words[at], self._moved[at]
            found += (words.number, moved, max(self._late[at] - now, -words.cycles[moved]))
        for link in range(first, last + 2):
            ready = self._ready[link]
            found.append(len(ready))
            found += [time - now if time > now else 0 for time in ready]
            found += [time - now if time > now else 0 for time in self._free[link]]
        return tuple(found)

    def _after(self, first: int, last: int, now: float) -> _After:
        """What has become of it, counted from then."""
        return _After(
            tuple(self._moved[first : last + 1]),
            tuple(late - now for late in self._late[first : last + 1]),
            tuple(
                (
                    tuple(time - now for time in self._ready[link]),
                    tuple(time - now for time in self._free[link]),
                )
                for link in range(first, last + 2)
            ),
        )

    def _move(self, core: int, first: int, last: int) -> None:
        """Words of `core`, then of its neighbours where that lets them go on, and so forth."""
        waiting = [core]
        while waiting:
            at = waiting.pop()
            if self._advance(at):
                if at > first:
                    waiting.append(at - 1)
                if at < last:
                    waiting.append(at + 1)

    def _advance(self, core: int) -> bool:
        """Move words of one core's call as far as words and room are there; whether any was."""
        words, transfer, late = self._words[core], self._transfer, self._late[core]
        ready, emptied = self._ready[core], self._free[core]
        sent, free = self._ready[core + 1], self._free[core + 1]
        begin = moved = self._moved[core]
        for cycle, reads in zip(words.cycles[begin:], words.reads[begin:], strict=True):
            found = ready if reads else free
            if not found:
                break
            possible, at = found.popleft(), late + cycle
            if possible > at:
                late += possible - at
                at = possible
            if reads:
                emptied.append(at)
            else:
                sent.append(at + transfer)
            moved += 1
        self._moved[core], self._late[core] = moved, late
        return moved > begin
