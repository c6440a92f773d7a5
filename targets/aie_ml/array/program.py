"""`ArrayProgram`: everything on the array that one layer takes, every number final.

Laid out from a `LayerGraph` (`layout`), or sketched from a dense `ArrayMapping` to time it
(`build`); the checker, the interpreter (`execute`) and the simulator read nothing else. Tiles are
(column, row) with row 0 the interface tiles, then memory tiles, then cores. Sizes are bytes, what
descriptors count is 32-bit words. A run is one execution of the layer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from match_aie.targets.aie_ml.array.assumed import LogicTimes
from match_aie.targets.aie_ml.graph.plan import Call, Outside
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import WORD_BYTES, LogicCall
from match_aie.targets.aie_ml.schedule import Scheduled

Tile = tuple[int, int]
Direction = Literal["s2mm", "mm2s"]
State = Literal["empty", "full"]


@dataclass(frozen=True, order=True)
class Channel:
    """A DMA channel of a tile."""

    tile: Tile
    direction: Direction
    index: int


@dataclass(frozen=True)
class Buffer:
    """Bytes of a tile's memory.

    Attributes:
        name: unique in its tile.
        tile: whose memory.
        banks: logical banks that it lies in; empty in memory tiles, which interleave.
        bytes: of one copy.
        copies: 2 for a ping-pong pair.
        role: "a", "w", "out", "bias", "stack", or "kept": results that a later call reads.
        fills: in a memory tile, how often a run writes one copy as a whole; 0 for what lies there
            before the first run. Read by whoever reads it in as many equal parts as it is sent.
        written: bytes of a copy that streams write, where what lies behind them is read, and no
            result depends on it; None where all that is read is written.
        values: what lies there before the first run, such as weights; None for nothing.
        laps: that readers make through all copies, before they are filled again: copies are parts
            of one thing then. 1 where a copy is read as often as it is before the next one.
    """

    name: str
    tile: Tile
    banks: tuple[int, ...]
    bytes: int
    copies: int
    role: str
    fills: int = 0
    written: int | None = None
    values: np.ndarray | None = field(default=None, compare=False, repr=False)
    laps: int = 1


@dataclass(frozen=True)
class Lock:
    """A semaphore of a tile: how many copies of `buffer` are `state`.

    A copy that is read several times before it is empty counts so often.

    Attributes:
        tile: whose semaphore.
        index: among the tile's.
        buffer: of the same tile.
        state: what it counts.
        initial: value before the first run.
        highest: value that it may reach.
        copy: of the buffer, which is `state` where the lock is 1, and else is not: a binary lock;
            None where it counts copies.
    """

    tile: Tile
    index: int
    buffer: str
    state: State
    initial: int
    highest: int = 1
    copy: int | None = None


@dataclass(frozen=True)
class Descriptor:
    """A buffer descriptor: one copy of a buffer, read or written in an order.

    Attributes:
        channel: that runs it.
        index: among the tile's descriptors.
        buffer: of the same tile.
        copy: 0 or 1 of a ping-pong pair.
        words: that move, those of padding included.
        dims: (size, step) from the innermost dimension outward; empty where it is linear.
        pad: words, rows, ... of zeros (before, after) in the dimensions from the innermost outward.
        offset: first word in the buffer.
        iteration: (size, step): each use of the descriptor begins a step further, and the first
            again after so many; None where all uses are alike.
    """

    channel: Channel
    index: int
    buffer: str
    copy: int
    words: int
    dims: tuple[tuple[int, int], ...] = ()
    pad: tuple[tuple[int, int], ...] = ()
    offset: int = 0
    iteration: tuple[int, int] | None = None


@dataclass(frozen=True)
class Hop:
    """A connection in a tile's stream switch: from a slave port to a master port.

    Ports are a side with a lane, such as ("S", 3), or ("dma", channel).
    """

    tile: Tile
    slave: tuple[str, int]
    master: tuple[str, int]


@dataclass(frozen=True)
class Route:
    """A stream from one DMA channel to others; in an interface tile it ends in the chip's memory.

    Attributes:
        name: for people.
        source: where it comes from.
        sinks: where it goes to; all must be ready.
        hops: switch connections.
        bytes: of one transfer.
        sends: transfers for one run.
        packet: whether ports are shared with other packet-switched routes.
        role: "a", "w" or "out": what it carries, as buffers say it.
        reads: buffer of the source's tile; empty in an interface tile.
        writes: buffer of each sink's tile; empty likewise.
    """

    name: str
    source: Channel
    sinks: tuple[Channel, ...]
    hops: tuple[Hop, ...]
    bytes: int
    sends: int
    packet: bool
    role: Literal["a", "w", "out"]
    reads: str
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Merge:
    """Packets of several cores that become one stream, which cores read themselves.

    They come in no order: a header in front of each has an identifier of who sent it, which is its
    number among the sources.

    Attributes:
        name: for people.
        sources: channels that send.
        reads: buffer of each source's tile.
        sinks: tiles whose cores read all of it.
        root: tile in whose switch all packets meet.
        hops: switch connections.
        bytes: of a packet behind its header.
        sends: packets of each source for one run.
    """

    name: str
    sources: tuple[Channel, ...]
    reads: tuple[str, ...]
    sinks: tuple[Tile, ...]
    root: Tile
    hops: tuple[Hop, ...]
    bytes: int
    sends: int


@dataclass(frozen=True)
class Logic:
    """A kernel of programmable logic that cores send to, and that sends to all of them.

    Attributes:
        name: of it.
        function: that runs, once in each turn of a step.
        sources: channels that send to it, over a stream each.
        reads: buffer of each source's tile.
        sinks: channels that what it sends comes to.
        writes: buffer of each sink's tile.
        streams: by which of those that leave it each sink is reached.
        times: of it, which are assumed.
    """

    name: str
    function: LogicCall
    sources: tuple[Channel, ...]
    reads: tuple[str, ...]
    sinks: tuple[Channel, ...]
    writes: tuple[str, ...]
    streams: tuple[int, ...]
    times: LogicTimes

    @property
    def bytes(self) -> int:
        """From each source in a turn."""
        return self.function.words * WORD_BYTES

    def back(self, stream: int) -> int:
        """Bytes that come to each sink of a stream in a turn."""
        return self.function.back[stream] * WORD_BYTES

    @property
    def sends(self) -> int:
        """Turns of a run, which are steps, or parts of them."""
        return self.function.sends


@dataclass(frozen=True)
class Walk:
    """What the descriptors of a channel do with a buffer of a memory tile, as the graph says it.

    Attributes:
        channel: whose descriptors.
        buffer: of the same tile.
        access: the way through one copy.
        element: bytes of an element of it.
    """

    channel: Channel
    buffer: str
    access: Access
    element: int


@dataclass(frozen=True)
class Way:
    """Data of the chip's memory that a DMA channel of an interface tile brings or takes, in order.

    Attributes:
        channel: into the array where that is MM2S.
        outside: which data.
    """

    channel: Channel
    outside: Outside


@dataclass(frozen=True)
class Crossing:
    """Data between a memory tile and programmable logic, over any stream that is free.

    Which column's interface it uses is not laid out (facts: `PL_columns` is not known).

    Attributes:
        name: for people.
        channel: of the memory tile; into it where that is S2MM.
        buffer: of the same tile.
        bytes: of one transfer.
        sends: transfers for one run.
        outside: which data.
    """

    name: str
    channel: Channel
    buffer: str
    bytes: int
    sends: int
    outside: Outside


@dataclass(frozen=True)
class Work:
    """What a core does between taking buffers and giving them back: one call of a function.

    Attributes:
        schedule: of the call.
        takes: buffers of the tile whose full (of results: empty) copy it waits for.
        gives: buffers that it is done with.
        starts: whether the array's runtime starts the kernel for it; not where a function that
            fetches its buffers itself goes on.
        uses: (role, buffer of the tile) of what it loads and stores, where calls of a tile differ
            in that; empty where the buffers' own roles say it.
        result: name of what it computes, where that is of a layer whose result stays on the array.
        packets: that the core reads before it, of the merged stream that leads to it.
    """

    schedule: Scheduled
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    starts: bool = True
    uses: tuple[tuple[str, str], ...] = ()
    result: str = ""
    packets: int = 0


@dataclass(frozen=True)
class Core:
    """A tile's kernel.

    Attributes:
        tile: where.
        work: of one run, in order.
        program_bytes: estimate of the program memory taken.
        shared_bytes: bytes a call that the DMA writes into a bank that the core loads from.
        function: that runs; its input buffers are "in0", "in1", ..., its output "out", its
            parameters go by their names. None in a program that is only timed.
        lent: inputs that it reads in a neighbour's memory: what it calls them, the tile, and the
            buffer there.
    """

    tile: Tile
    work: tuple[Work, ...]
    program_bytes: int
    shared_bytes: int = 0
    function: Call | None = None
    lent: tuple[tuple[str, Tile, str], ...] = ()

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """Names, of the same tile, that its work takes and gives."""
        return tuple(dict.fromkeys(name for work in self.work for name in work.takes))


@dataclass(frozen=True)
class Cascade:
    """Sums go from one core to the next."""

    source: Tile
    sink: Tile


@dataclass(frozen=True)
class ArrayProgram:
    """One layer on the array.

    Attributes:
        device: name of the device.
        cores: kernels.
        buffers: of cores and memory tiles.
        locks: likewise.
        descriptors: likewise.
        routes: streams between interface tiles, memory tiles and cores.
        cascades: between cores.
        crossings: between memory tiles and programmable logic.
        macs: useful multiply-accumulates of a run.
        core_macs: multiply-accumulates per cycle of one core, of the layer's element types.
        walks: ways through buffers of memory tiles.
        ways: data of the chip's memory, by the channels of `routes`.
        merges: streams of packets from cores to cores.
        logics: kernels of programmable logic between cores.
    """

    device: str
    cores: tuple[Core, ...]
    buffers: tuple[Buffer, ...]
    locks: tuple[Lock, ...]
    descriptors: tuple[Descriptor, ...]
    routes: tuple[Route, ...]
    cascades: tuple[Cascade, ...]
    crossings: tuple[Crossing, ...]
    macs: int
    core_macs: int
    walks: tuple[Walk, ...] = ()
    ways: tuple[Way, ...] = ()
    merges: tuple[Merge, ...] = ()
    logics: tuple[Logic, ...] = ()

    @cached_property
    def outsides(self) -> tuple[Outside, ...]:
        """All data that enters and leaves, by whatever way."""
        ways = tuple(way.outside for way in self.ways)
        return ways + tuple(crossing.outside for crossing in self.crossings)

    @cached_property
    def core_at(self) -> dict[Tile, Core]:
        """Cores by tile."""
        return {core.tile: core for core in self.cores}

    @cached_property
    def buffer_at(self) -> dict[tuple[Tile, str], Buffer]:
        """Buffers by tile and name."""
        return {(buffer.tile, buffer.name): buffer for buffer in self.buffers}
