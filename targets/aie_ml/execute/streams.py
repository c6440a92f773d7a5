"""Streams: a DMA channel's words into all channels at the other end, transfer by transfer.

A transfer moves when its source has its words and every sink has room: the slowest one holds all.
Words reach a memory tile as its descriptors say, and leave one likewise; whether ports are shared
by packets changes when they move, not what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Descriptor
from match_aie.targets.aie_ml.array.words import WORD, by_copy, responsible, walked
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.memory import Memory, place

#: A process: it yields what it waits for, in a sentence that is made when somebody asks.
Process = Iterator["Wait"]


class Wait:
    """Why a process does not go on.

    Attributes:
        why: for people, with `{}` for what it waits for.
        of: what that is.
    """

    __slots__ = ("of", "why")

    def __init__(self, why: str, of: object) -> None:
        """Made once, given whenever."""
        self.why, self.of = why, of

    def __str__(self) -> str:
        """In words."""
        return self.why.format(self.of)


class Clock:
    """Counts what happens: where nothing does, nothing ever will."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.events = 0


class End:
    """A channel's side of a stream, at a buffer.

    Args:
        channel: the channel.
        memory: the buffer.
        ways: its descriptors, by copy.
        words: that pass in one fill of a copy; None for as many as the descriptors move.
        sink: whether it writes.
    """

    def __init__(
        self,
        channel: Channel,
        memory: Memory,
        ways: Sequence[tuple[Descriptor, ...]],
        words: int | None,
        *,
        sink: bool,
    ) -> None:
        """At the beginning of the first copy."""
        name = f"{channel.direction} channel {channel.index} of tile {channel.tile}"
        if not ways or not all(ways):
            raise ExecutionError(f"{name} has no descriptors for {place(memory.buffer)}")
        self._memory, self._name, self._sink = memory, name, sink
        self._ways, self._moves = ways, [walked(way) for way in ways]
        self._size = self._moves[0].size
        self.words = self._size if words is None else words
        if self.words % self._size:
            raise ExecutionError(
                f"{name} moves {self.words} words in a fill of {place(memory.buffer)}, its "
                f"descriptors {self._size}"
            )
        laps, copies = (1, 1) if sink else (memory.buffer.laps, memory.buffer.copies)
        #: Ways through a copy until the same one is filled again, and copies on each lap of them.
        self._laps, self._turns = laps, copies if laps > 1 else 1
        self.words //= laps
        self._who = memory.writer() if sink else memory.reader()
        self._copy = self._walk = 0
        self._done = 0
        self._held = False
        #: The gate at which it waits.
        self._gate: int | None = None
        state = "an empty" if sink else "a full"
        self.wait = Wait(f"{name}: {state} copy of {{}}", place(memory.buffer))

    def ready(self) -> bool:
        """Whether it has a copy, or can take one now."""
        if not self._held:
            if not self._takes():
                return False
            self._held = True
            self._opened()
        if self._gate is not None:
            if not self._memory.passes(self._who, self._gate):
                return False
            self._gate = None
            self._opened()
        return True

    def _takes(self) -> bool:
        """Whether there is a copy to go through, which is this end's then."""
        memory, ahead = self._memory, self._walk
        if self._sink:
            if not memory.empty(self._who):
                return False
            self._copy = memory.begin(self._who)
        elif ahead >= self._turns:  # one that it has read before
            self._copy = ahead % self._turns
        else:
            if not memory.full(self._who, ahead):
                return False
            self._copy = memory.taken(self._who, ahead)
        return True

    def _gates(self) -> tuple[int, ...]:
        """Words of a copy at which a writer takes and gives."""
        return self._memory.gates(self._who, sink=True) if self._sink else ()

    def _opened(self) -> None:
        """A writer with gates may write up to the next one."""
        gates = self._gates()
        if gates:
            until = min((at for at in gates if at > self._done), default=self.words)
            self._memory.clear(self._copy, self._moves[self._copy][self._done : until])

    def most(self, count: int) -> int:
        """Of so many words, those that pass before it must be asked again whether it is ready."""
        return min((count, *(at - self._done for at in self._gates() if at > self._done)))

    def _at(self, count: int) -> tuple[np.ndarray, int]:
        """The next `count` words, and the position of the first among the descriptors'."""
        move, first = self._moves[self._copy], self._done % self._size
        if first + count <= self._size:
            return move[first : first + count], first
        return np.take(move, range(first, first + count), mode="wrap"), first

    def _namer(self, first: int, at: int) -> str:
        way = self._ways[self._copy]
        descriptor = responsible(way, (first + at) % self._size)
        return f"descriptor {descriptor.index} on {self._name}"

    def fetch(self, count: int) -> np.ndarray:
        """The next words out of the buffer."""
        at, first = self._at(count)
        words = self._memory.get(self._copy, at, lambda n: self._namer(first, n))
        self._moved(count)
        return words

    def put(self, words: np.ndarray) -> None:
        """The next words into the buffer."""
        at, first = self._at(words.size)
        self._memory.put(self._copy, at, words, lambda n: self._namer(first, n))
        self._moved(words.size)

    def _moved(self, count: int) -> None:
        if not self._done and self._walk < self._turns:
            self._memory.moved(self._who, sink=self._sink)
        self._done += count
        gates = self._gates()
        if self._done in gates:
            self._gate = gates.index(self._done)
            self._memory.reached(self._who, self._gate)
        if self._done == self.words:
            self._done, self._held = 0, False
            if self._walk >= (self._laps - 1) * self._turns:
                (self._memory.wrote if self._sink else self._memory.read)(self._who)
            self._walk = (self._walk + 1) % (self._laps * self._turns)


class Outlet:
    """A way out of the array, at an interface tile; always has room."""

    def __init__(self) -> None:
        """Empty."""
        self.words: list[np.ndarray] = []

    def put(self, words: np.ndarray) -> None:
        """Keep them."""
        self.words.append(words)


class Inlet:
    """A way into the array, at an interface tile; has everything from the start."""

    def __init__(self, words: np.ndarray) -> None:
        """Of all runs."""
        self._words, self._at = words, 0

    def fetch(self, count: int) -> np.ndarray:
        """The next words."""
        self._at += count
        return self._words[self._at - count : self._at]


def ends_of(
    program: ArrayProgram,
    memories: dict[tuple[object, str], Memory],
    moves: Sequence[tuple[Channel, str, int | None, bool]],
) -> list[End]:
    """Ends at buffers: (channel, buffer, words of a fill, whether it writes) of each."""
    table = by_copy(program)
    made = []
    for channel, name, words, sink in moves:
        memory = memories[channel.tile, name]
        copies = range(memory.buffer.copies)
        ways = [table.get((channel, name, copy), ()) for copy in copies]
        made.append(End(channel, memory, ways, words, sink=sink))
    return made


def stream(
    source: End | Inlet,
    sinks: Sequence[End | Outlet],
    size: int,
    many: int,
    clock: Clock,
    *,
    slow: bool = False,
) -> Process:
    """All transfers of a stream: so many, of `size` bytes each.

    A slow one lets others go on after each of them.
    """
    unit = size // WORD
    pause = Wait("a slow stream{}", "")
    ends = [end for end in (source, *sinks) if isinstance(end, End)]
    left = many * unit
    while left:
        for end in ends:
            while not end.ready():
                yield end.wait
        # No more than the rest of a transfer.
        rest = (left - 1) % unit + 1
        count = min((rest, *(end.most(rest) for end in ends)))
        words = source.fetch(count)
        for sink in sinks:
            sink.put(words)
        left -= count
        clock.events += 1
        if slow:
            yield pause
