"""Which semaphores keep those apart who write and read a buffer, on hardware that counts no more.

A program says that a copy is full when all its writers have written, and empty when all its readers
have read it. A descriptor takes one semaphore before it and gives one behind it, and a semaphore is
one number: where several channels take from it, one that is a copy ahead takes another's share. So
each semaphore has a single taker. The first writer takes what all readers of a copy have given, the
first reader what all its writers have; the next ones wait for one that its forerunner gives once
the first piece of its copy has moved. What several give to is a semaphore of one copy: nobody can
give for that copy again before its taker has taken.

Where readers read words of their own, and more often than a semaphore of all can count, each has a
pair of its own: the writer goes from one reader's words to the next one's, takes what that reader
has given, and gives behind its words (`Gate`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Channel, Descriptor, Tile
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.words import WORD, by_copy, cut_at, parts_of, uses
from match_aie.targets.aie_ml.devices import Device


@dataclass(frozen=True)
class Semaphore:
    """A semaphore of a tile.

    Attributes:
        tile: whose.
        index: among the tile's.
        name: unique in the tile.
        initial: value before the first run.
        highest: value that it may reach.
    """

    tile: Tile
    index: int
    name: str
    initial: int
    highest: int


#: Value that a semaphore may reach (facts: six bits).
MOST = 63

#: A semaphore, and how much of it.
Amount = tuple[Semaphore, int]


@dataclass(frozen=True)
class Gate:
    """Where a writer goes on from one reader's words of a copy to the next one's.

    Attributes:
        words: of the copy that have moved there.
        gives: to the reader whose words these were, by copy.
        takes: from the next one, likewise.
    """

    words: int
    gives: tuple[Amount, ...]
    takes: tuple[Amount, ...]


@dataclass(frozen=True)
class User:
    """One who writes or reads a buffer.

    Attributes:
        who: the channel; of a core its tile.
        takes: before it begins, by copy.
        gives: when it is done, by copy.
        passes: when the first piece of a copy has moved; None where nobody waits for that.
        times: that it takes and gives for one copy.
        again: that it goes through the copy for one of them.
        gates: on the way through a copy.
    """

    who: Channel | Tile
    takes: tuple[Amount, ...]
    gives: tuple[Amount, ...]
    passes: Amount | None = None
    times: int = 1
    again: int = 1
    gates: tuple[Gate, ...] = ()

    def taken(self, copy: int) -> tuple[Semaphore, ...]:
        """What it takes for a copy."""
        return (self.takes[copy][0], *(gate.takes[copy][0] for gate in self.gates))

    def given(self, copy: int) -> tuple[Semaphore, ...]:
        """What it gives for a copy, what it gives behind its first piece left out."""
        return (self.gives[copy][0], *(gate.gives[copy][0] for gate in self.gates))

    def descriptors(self, pieces: int) -> int:
        """That a channel takes for a copy which the program moves in so many pieces.

        One takes and gives once. A single piece is cut at gates, or where the next one may begin.
        """
        if self.gates:
            return 1 + len(self.gates)
        return pieces * self.again + int(self.passes is not None and pieces == 1)


@dataclass(frozen=True)
class Handshake:
    """Everybody who writes and reads one buffer; routes in their order, then the tile's core.

    Attributes:
        buffer: which.
        semaphores: its own.
        writers: who writes it.
        readers: who reads it.
    """

    buffer: Buffer
    semaphores: tuple[Semaphore, ...]
    writers: tuple[User, ...]
    readers: tuple[User, ...]


def handshakes(program: ArrayProgram) -> tuple[Handshake, ...]:
    """Of every buffer that the program has locks for, in their order.

    Raises:
        TargetError: descriptors of a channel do not move a copy as a whole.
    """
    table = by_copy(program)
    sides = _sides(program, table)
    taken: dict[Tile, int] = {}
    found = []
    for lock in program.locks:
        if lock.state != "empty":
            continue
        buffer = program.buffer_at[lock.tile, lock.buffer]
        writers, readers = sides.get((lock.tile, lock.buffer), ([], []))
        made = _apart_of(buffer, writers, readers, table) or _handshake(buffer, writers, readers)
        first = taken.get(lock.tile, 0)
        taken[lock.tile] = first + len(made.semaphores)
        found.append(_numbered(made, first))
    return tuple(found)


#: Who writes and who reads, each with how often it goes through a copy.
_Side = list[tuple[Channel | Tile, int]]

#: Descriptors of each channel, by buffer and copy.
_Table = Mapping[tuple[Channel, str, int], tuple[Descriptor, ...]]


def _sides(program: ArrayProgram, table: _Table) -> dict[tuple[Tile, str], tuple[_Side, _Side]]:
    """By buffer. Interface tiles have none."""
    found: dict[tuple[Tile, str], tuple[_Side, _Side]] = {}
    for route in program.routes:
        ends = [(route.source, route.reads, 1)]
        ends += [(sink, name, 0) for sink, name in zip(route.sinks, route.writes, strict=True)]
        for channel, name, side in ends:
            ways = table.get((channel, name, 0))
            if ways is None:
                continue
            buffer = program.buffer_at[channel.tile, name]
            words = sum(one.words for one in ways) * uses(ways)
            many, left = divmod(route.bytes * route.sends, words * WORD * max(1, buffer.fills))
            if left or not many:
                raise TargetError(f"buffer {name} of tile {channel.tile} is not moved evenly")
            found.setdefault((channel.tile, name), ([], []))[side].append((channel, many))
    for core in program.cores:
        for name in core.buffers:
            found.setdefault((core.tile, name), ([], []))[name not in ("out", "sent")].append(
                (core.tile, 1)
            )
    return found


def _handshake(buffer: Buffer, writers: _Side, readers: _Side) -> Handshake:
    """Semaphores of one buffer, numbered from 0."""
    walks = {many for _, many in readers}
    # Walks of one copy on a lock each, as of copies that are read in laps; of two copies they must
    # follow each other in the chain, and so must some of them where a semaphore does not count all.
    single = buffer.copies == 1 or buffer.laps > 1
    alone = len(writers) == 1 and len(walks) == 1 and single
    copies = range(buffer.copies)
    w, r = max(1, len(writers)), max(1, len(readers))
    # Who lets the next reader begin may be a lap of all copies ahead of it.
    times = counted(walks.pop(), max(w, r, buffer.copies if r > 1 else 1)) if alone else 1
    empty = _shared(buffer, "empty", givers=r, of_copy=r * times, initial=r * times)
    full = _shared(buffer, "full", givers=w, of_copy=w * times, initial=0)
    writing = [_token(buffer, f"write_{n}", 1) for n in range(1, w)]
    reading = [_token(buffer, f"read_{n}", times) for n in range(1, r)]
    written, read = [], []
    for n, (who, many) in enumerate(writers):
        takes = [(empty[c], r * times) if n == 0 else (writing[n - 1], 1) for c in copies]
        gives = tuple((full[c], times) for c in copies)
        passes = (writing[n], 1) if n + 1 < len(writers) else None
        written.append(User(who, tuple(takes), gives, passes, again=many))
    for n, (who, many) in enumerate(readers):
        takes = [(full[c], w) if n == 0 else (reading[n - 1], 1) for c in copies]
        gives = tuple((empty[c], 1) for c in copies)
        passes = (reading[n], 1) if n + 1 < len(readers) else None
        read.append(User(who, tuple(takes), gives, passes, times, many // times))
    every = tuple(dict.fromkeys((*empty, *full, *writing, *reading)))
    return Handshake(buffer, every, tuple(written), tuple(read))


def _apart_of(buffer: Buffer, writers: _Side, readers: _Side, table: _Table) -> Handshake | None:
    """A pair for each reader, of words of its own; None where one for all does, or none can be.

    Args:
        buffer: which; semaphores are numbered from 0.
        writers: who writes it.
        readers: who reads it.
        table: descriptors.
    """
    walks = {many for _, many in readers}
    single = buffer.copies == 1 or buffer.laps > 1
    if len(writers) != 1 or len(readers) < 2 or len(walks) != 1 or not single:
        return None
    many, ((writer, once),) = walks.pop(), writers
    if once != 1 or counted(many, max(len(readers), buffer.copies)) == many:
        return None
    ways = [
        table.get((who, buffer.name, 0), ()) if isinstance(who, Channel) else ()
        for who in (writer, *(who for who, _ in readers))
    ]
    parts = parts_of(ways[0], ways[1:])
    if parts is None:
        return None
    times = counted(many, 1)
    empty, full = (
        [_of_reader(buffer, f"{state}_{n}", first, times) for n in range(len(readers))]
        for state, first in (("empty", times), ("full", 0))
    )

    def so_many(of: Sequence[Semaphore], count: int) -> tuple[Amount, ...]:
        return tuple((each, count) for each in of)

    gates = tuple(
        Gate(words, so_many(full[before], times), so_many(empty[n], times))
        for (before, _), (n, words) in pairwise(parts)
    )
    takes, gives = so_many(empty[parts[0][0]], times), so_many(full[parts[-1][0]], times)
    writing = User(writer, takes, gives, gates=gates)
    reading = tuple(
        User(who, so_many(full[n], 1), so_many(empty[n], 1), None, times, many // times)
        for n, (who, _) in enumerate(readers)
    )
    every = tuple(each for of in (*empty, *full) for each in of)
    return Handshake(buffer, every, (writing,), reading)


def _of_reader(buffer: Buffer, what: str, first: int, times: int) -> tuple[Semaphore, ...]:
    """A reader's semaphores of each copy."""
    names = [f"{buffer.name}_{what}"]
    if buffer.copies > 1:
        names = [f"{names[0]}_{copy}" for copy in range(buffer.copies)]
    return tuple(Semaphore(buffer.tile, 0, name, first, times) for name in names)


def counted(walks: int, givers: int) -> int:
    """The most walks that a semaphore can tell apart, all of them taking equally many."""
    fit = (n for n in range(walks, 0, -1) if walks % n == 0 and n * givers <= MOST)
    return next(fit, 1)


def _shared(
    buffer: Buffer, state: str, *, givers: int, of_copy: int, initial: int
) -> tuple[Semaphore, ...]:
    """By copy: one for each where several give or copies are held together, else one for all."""
    if (givers == 1 and buffer.laps == 1) or buffer.copies == 1:
        many = buffer.copies
        name = f"{buffer.name}_{state}"
        return (Semaphore(buffer.tile, 0, name, many * initial, many * of_copy),) * many
    return tuple(
        Semaphore(buffer.tile, 0, f"{buffer.name}_{state}_{copy}", initial, of_copy)
        for copy in range(buffer.copies)
    )


def _token(buffer: Buffer, name: str, times: int) -> Semaphore:
    return Semaphore(buffer.tile, 0, f"{buffer.name}_{name}", 0, buffer.copies * times)


def _numbered(made: Handshake, first: int) -> Handshake:
    """With the tile's next numbers."""
    named = {s: replace(s, index=first + at) for at, s in enumerate(made.semaphores)}

    def of(users: Sequence[User]) -> tuple[User, ...]:
        return tuple(
            replace(
                user,
                takes=tuple((named[s], n) for s, n in user.takes),
                gives=tuple((named[s], n) for s, n in user.gives),
                passes=None if user.passes is None else (named[user.passes[0]], user.passes[1]),
                gates=tuple(
                    Gate(
                        g.words,
                        tuple((named[s], n) for s, n in g.gives),
                        tuple((named[s], n) for s, n in g.takes),
                    )
                    for g in user.gates
                ),
            )
            for user in users
        )

    return Handshake(made.buffer, tuple(named.values()), of(made.writers), of(made.readers))


def semaphores(found: Sequence[Handshake], device: Device) -> Iterator[Violation]:
    """They exist, hold their values, and nobody can take another's share."""
    arch = device.architecture
    for one in found:
        core = one.buffer.tile[1] >= device.shim_rows + device.mem_rows
        facts = arch.core.locks if core or arch.mem is None else arch.mem.locks
        most = 2**facts.value_bits - 1 if facts.value_bits is not None else 1
        for each in one.semaphores:
            where = f"semaphore {each.name} of tile {each.tile}"
            if each.index >= facts.count:
                remedy = "fewer buffers in a tile"
                yield Violation(where, "as its number", each.index, facts.count - 1, remedy)
            if max(each.initial, each.highest) > most:
                remedy = "fewer readers of a buffer, or one copy"
                yield Violation(where, "as its highest value", each.highest, most, remedy)
        yield from _apart(one)


def numbers(
    program: ArrayProgram, found: Sequence[Handshake], device: Device
) -> Iterator[Violation]:
    """Descriptors suffice for what takes and gives, too: each half of a memory tile has its own.

    Those behind whose first piece another channel begins have several.
    """
    users = {(u.who, one.buffer.name): u for one in found for u in (*one.writers, *one.readers)}
    counts, taken = device.architecture.descriptors, Counter[tuple[Tile, str, int]]()
    for (channel, buffer, _), ways in by_copy(program).items():
        user, pieces = users.get((channel, buffer)), len(ways) * uses(ways)
        if user is not None and user.passes is not None and pieces == 1 and not user.gates:
            if cut_at(ways[0]) is None:
                where = f"descriptor {ways[0].index} of tile {channel.tile}"
                yield Violation(where, "pieces", 1, 2, "fewer readers of a buffer")
        core = channel.tile[1] >= device.shim_rows + device.mem_rows
        half = (channel.tile, "core", 0) if core else (channel.tile, "mem", channel.index % 2)
        taken[half] += pieces if user is None else user.descriptors(pieces)
    for (tile, kind, first), many in taken.items():
        most = counts[kind] // (1 if kind == "core" else 2)
        if many > most:
            where = f"channels {first}, {first + 2}, ... of tile {tile}"
            remedy = "fewer readers of a buffer, or buffers that are read in one piece"
            yield Violation(where, "descriptors with semaphores", many, most, remedy)


def _apart(one: Handshake) -> Iterator[Violation]:
    """Nobody can take another's share."""
    users = (*one.writers, *one.readers)
    for each in one.semaphores:
        where = f"semaphore {each.name} of tile {each.tile}"
        all_of = range(one.buffer.copies)
        takers = [user for user in users if any(each in user.taken(c) for c in all_of)]
        if len(takers) > 1:
            yield Violation(where, "who take from it", len(takers), 1, "one for each of them")
        givers = [user for user in users if any(each in user.given(c) for c in all_of)]
        copies = [c for c in all_of if any(each in user.given(c) for user in givers)]
        if len(givers) > 1 and len(copies) > 1:
            yield Violation(where, "copies that several give for", len(copies), 1, "one a copy")
