"""Streams of packets: what several cores send comes at each of those that read, in any order.

A packet moves when its source has one and every core that reads it waits for one: nothing is kept
on the way, which is less than switches do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Merge, Tile
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.execute.memory import Memory
from match_aie.targets.aie_ml.execute.streams import Clock, End, Process, Wait, ends_of
from match_aie.targets.aie_ml.kernels.recurrent_packets import IDENTIFIERS


@dataclass
class Mailbox:
    """A core's stream of packets.

    Attributes:
        tile: of the core.
        wants: packets that the core waits for.
        came: those that came, as words.
    """

    tile: Tile
    wants: int = 0
    came: list[np.ndarray] = field(default_factory=list)

    def take(self, count: int) -> Iterator[Wait]:
        """Wait until so many have come."""
        self.wants = count
        wait = Wait("core {}: packets", self.tile)
        while self.wants:
            yield wait

    def read(self) -> np.ndarray:
        """Bytes of all that have come, headers included, in the order in which they came."""
        words = np.concatenate(self.came)
        self.came.clear()
        return words.view(np.uint8)


def header(tile: Tile, identifier: int) -> int:
    """The word before a packet: identifier, row and column of its source, odd parity (AM020)."""
    column, row = tile
    word = identifier | row << 16 | column << 21
    return word | (1 - word.bit_count() % 2) << 31


def mailboxes(program: ArrayProgram) -> dict[Tile, Mailbox]:
    """Of all cores that read packets."""
    return {sink: Mailbox(sink) for merge in program.merges for sink in merge.sinks}


def sending(
    program: ArrayProgram,
    memories: dict[tuple[object, str], Memory],
    boxes: dict[Tile, Mailbox],
    runs: int,
    clock: Clock,
    slow: Collection[Channel],
) -> Iterator[tuple[bool, Process]]:
    """A process for each source of each stream, and whether it lets others go on first.

    Args:
        program: whose merged streams.
        memories: of buffers, by place and name.
        boxes: of cores that read streams, by tile.
        runs: of the graph.
        clock: of the interpreter.
        slow: sources that let others send first.
    """
    for merge in program.merges:
        sinks = [boxes[sink] for sink in merge.sinks]
        for at, (source, name) in enumerate(zip(merge.sources, merge.reads, strict=True)):
            (end,) = ends_of(program, memories, [(source, name, None, False)])
            late = source in slow
            word = np.array([header(source.tile, at)], np.uint32)
            yield late, _sent(merge, end, word, sinks, runs * merge.sends, clock, late=late)


def _sent(
    merge: Merge,
    end: End,
    word: np.ndarray,
    sinks: Sequence[Mailbox],
    many: int,
    clock: Clock,
    *,
    late: bool,
) -> Process:
    """All packets of one source: where it is late, one whenever nothing else goes on."""
    pause, busy = Wait("a slow source of {}", merge.name), Wait("{}: a core that reads", merge.name)
    for _ in range(many):
        while not end.ready():
            yield end.wait
        while not all(box.wants for box in sinks):
            yield busy
        packet = np.concatenate([word, end.fetch(merge.bytes // WORD)])
        for box in sinks:
            box.came.append(packet)
            box.wants -= 1
        clock.events += 1
        if late:
            yield pause


def in_order(came: np.ndarray, count: int) -> np.ndarray:
    """Bytes of `count` packets, which came in any order, by their identifiers; without headers."""
    packets = came.view(np.uint32).reshape(count, -1)
    order = np.argsort(packets[:, 0] % IDENTIFIERS)
    return np.ascontiguousarray(packets[order, 1:]).reshape(-1).view(np.uint8)
