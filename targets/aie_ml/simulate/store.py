"""Buffers between those who write them and those who read them: what their locks do."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from match_aie.simulation import Acquire, Command, Release, Resource

#: A process of this simulator: nothing is sent to it, it returns nothing.
Run = Generator[Command, object, None]


class Store:
    """Copies of one buffer.

    A copy is full when every writer has written its part, and empty again when every reader has
    read it. A buffer without writers is full before the first run and stays so.
    """

    def __init__(self, name: str, copies: int, writers: int, readers: int) -> None:
        """All copies are empty."""
        self.resident = not writers
        self._empty = [Resource(f"{name} empty", copies) for _ in range(writers)]
        self._full = [Resource(f"{name} full", copies, 0) for _ in range(readers)]
        self._filled: tuple[Command, ...] = tuple(Release(one) for one in self._full)
        self._emptied: tuple[Command, ...] = tuple(Release(one) for one in self._empty)
        self._written = [0] * writers
        self._read = [0] * readers
        self._full_copies = 0
        self._empty_copies = 0

    def to_write(self, writer: int) -> tuple[Command, ...]:
        """What `writer` waits for."""
        return (Acquire(self._empty[writer]),)

    def to_read(self, reader: int) -> tuple[Command, ...]:
        """What `reader` waits for."""
        return () if self.resident else (Acquire(self._full[reader]),)

    def wrote(self, writer: int) -> Sequence[Command]:
        """What follows from `writer` having written its part of a copy."""
        self._written[writer] += 1
        if min(self._written) == self._full_copies:
            return ()
        self._full_copies += 1
        return self._filled

    def read(self, reader: int) -> Sequence[Command]:
        """What follows from `reader` having read a copy."""
        self._read[reader] += 1
        if min(self._read) == self._empty_copies:
            return ()
        self._empty_copies += 1
        return self._emptied


@dataclass(frozen=True)
class End:
    """One end of a stream at a buffer: its number among the buffer's writers or readers.

    Attributes:
        store: the buffer.
        index: of the writer or reader.
        parts: transfers that make up one copy, all reads of it.
        laps: that a reader makes through all copies before they are filled again.
        copies: of a buffer of several laps; 1 of all others.
    """

    store: Store
    index: int
    parts: int
    laps: int = 1
    copies: int = 1

    def begins(self, at: int) -> bool:
        """Whether transfer number `at` is the first of a copy since it was filled, or emptied."""
        walk = self.parts // self.laps
        return at % walk == 0 and at % (self.copies * self.parts) < self.copies * walk

    def ends(self, at: int) -> bool:
        """Whether it is the last one."""
        walk, left = self.parts // self.laps, self.copies * (self.parts - self.parts // self.laps)
        return (at + 1) % walk == 0 and at % (self.copies * self.parts) >= left
