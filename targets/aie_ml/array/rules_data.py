"""Rules about data: what is read is written before, and everything is carried as often as it must.

They hold programs to what their graphs say of buffers; `execute` proves the same with numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Channel, Descriptor, Tile
from match_aie.targets.aie_ml.array.rules_memory import is_core
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.words import WORD, by_copy, meant, responsible, walked
from match_aie.targets.aie_ml.devices import Device

#: Descriptors of one copy of a buffer on one channel.
Ways = dict[Channel, tuple[Descriptor, ...]]


def _sides(program: ArrayProgram) -> dict[tuple[Tile, str, int], tuple[Ways, Ways]]:
    """Who writes each copy of a buffer by stream, and who reads it."""
    found: dict[tuple[Tile, str, int], tuple[Ways, Ways]] = defaultdict(lambda: ({}, {}))
    for (channel, name, copy), ways in by_copy(program).items():
        side = found[channel.tile, name, copy][channel.direction == "mm2s"]
        side[channel] = ways
    return found


def _copies(program: ArrayProgram) -> Iterator[tuple[Buffer, int, Ways, Ways]]:
    """Each buffer that streams fill or empty: its first copy, and those that differ from it."""
    sides = _sides(program)
    for (tile, name, copy), (into, out) in sides.items():
        buffer = program.buffer_at.get((tile, name))
        first = sides.get((tile, name, 0))
        if buffer is None or (copy and first is not None and _alike(first, (into, out))):
            continue
        yield buffer, copy, into, out


def _alike(first: tuple[Ways, Ways], other: tuple[Ways, Ways]) -> bool:
    """Whether the same channels move the same words, in the same order."""

    def moves(side: Ways) -> dict[Channel, list[tuple[object, ...]]]:
        return {
            channel: [(d.words, d.offset, d.dims, d.pad, d.iteration) for d in ways]
            for channel, ways in side.items()
        }

    return all(moves(a) == moves(b) for a, b in zip(first, other, strict=True))


def written(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Every word of a buffer that is read is written before, or declared to matter to nothing.

    A kernel reads all of its inputs and writes all of its output.
    """
    for buffer, copy, into, out in _copies(program):
        words = -(-buffer.bytes // WORD)
        reads = [(ways, walked(ways)) for ways in out.values()]
        writes = [(ways, walked(ways)) for ways in into.values()]
        where = f"buffer {buffer.name!r} of tile {buffer.tile}, copy {copy}"
        beyond = max((int(at.max(initial=0)) for _, at in (*reads, *writes)), default=0)
        if beyond >= words:
            remedy = "offsets, sizes and steps within the buffer"
            yield Violation(where, "as word that moves", beyond, words - 1, remedy)
            continue
        core = is_core(buffer.tile, device)
        if not writes and (core or buffer.values is not None):
            continue  # a kernel's result, or what lies there
        there = np.zeros(words, bool)
        for _, at in writes:
            there[at] = True
        margin = words if buffer.written is None else -(-buffer.written // WORD)
        if core:
            reads.append(((), np.arange(words)))
        yield from _missing(where, there, margin, reads)


def _missing(
    where: str,
    there: np.ndarray,
    margin: int,
    reads: Sequence[tuple[Sequence[Descriptor], np.ndarray]],
) -> Iterator[Violation]:
    """What is read in front of `margin` and not there."""
    for ways, at in reads:
        bad = (at >= 0) & (at < margin) & ~there[np.maximum(at, 0)]
        if bad.any():
            first = int(bad.argmax())
            who = "the kernel" if not ways else f"descriptor {responsible(ways, first).index}"
            yield Violation(
                f"{where}, word {int(at[first])}, read by {who}",
                "words read that nothing writes",
                int(np.unique(at[bad]).size),
                0,
                "writers that cover what is read, or padding",
            )


def delivered(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Every element is carried as often as accesses say, in their order.

    A buffer without accesses is a kernel's: each of its words once.
    """
    walks = {(walk.channel, walk.buffer): walk for walk in program.walks}
    packets = {source for merge in program.merges for source in merge.sources}
    for buffer, copy, into, out in _copies(program):
        where = f"buffer {buffer.name!r} of tile {buffer.tile}, copy {copy}"
        for side in (into, out):
            plain = []
            for channel, ways in side.items():
                walk = walks.get((channel, buffer.name))
                at = walked(ways)
                if walk is None and channel in packets:
                    yield from _compared(where, at, np.arange(-(-buffer.bytes // WORD)))
                elif walk is None:
                    plain.append(at)
                else:
                    once = meant(walk.access, walk.element)
                    yield from _compared(f"{where}, {channel.direction} {channel.index}", at, once)
            if plain:
                whole = np.arange(-(-buffer.bytes // WORD))
                found = np.sort(np.concatenate(plain))
                yield from _compared(where, found, whole)


def _compared(where: str, found: np.ndarray, once: np.ndarray) -> Iterator[Violation]:
    """What moves against what should, which may be gone through several times."""
    again = max(1, found.size // max(1, once.size))
    wanted = np.tile(once, again)
    if found.size == wanted.size and np.array_equal(found, wanted):
        return
    most = int(max(found.max(initial=0), wanted.max(initial=0))) + 2
    counts = [np.bincount(words + 1, minlength=most) for words in (found, wanted)]
    wrong = counts[0] != counts[1]
    remedy = "descriptors that go the way of the access: offset, steps, iteration"
    if not wrong.any():
        first = int((found != wanted).argmax())
        yield Violation(f"{where}, word {first}", "words in another order", 1, 0, remedy)
        return
    at = int(wrong.argmax())
    got, want = (int(each[at]) for each in counts)
    what = "words of zeros" if not at else f"deliveries of word {at - 1}"
    if got > want:
        yield Violation(where, what, got, want, remedy)
    else:
        yield Violation(where, f"{what} missing", want - got, 0, remedy)
