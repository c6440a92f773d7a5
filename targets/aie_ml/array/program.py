"""`ArrayProgram`: everything on the array that one layer takes, every number final.

The writer of the graph, the checker and the simulator read it; none adds to it. Tiles are
(column, row) with row 0 the interface tiles, then memory tiles, then cores. Sizes are bytes, what
descriptors count is 32-bit words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.schedule import CallSchedule

Tile = tuple[int, int]
Direction = Literal["s2mm", "mm2s"]


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
        role: "a", "w", "out", "bias" or "stack".
    """

    name: str
    tile: Tile
    banks: tuple[int, ...]
    bytes: int
    copies: int
    role: str


@dataclass(frozen=True)
class Lock:
    """A semaphore of a tile: how many copies of `buffer` are `state`."""

    tile: Tile
    index: int
    buffer: str
    state: Literal["empty", "full"]
    initial: int


@dataclass(frozen=True)
class Descriptor:
    """A buffer descriptor: one copy of a buffer, read or written in an order.

    Attributes:
        channel: that runs it.
        index: among the tile's descriptors.
        buffer: of the same tile.
        copy: 0 or 1 of a ping-pong pair.
        words: that move.
        dims: (size, step) from the innermost dimension outward; empty where it is linear.
        pad: words of zeros (before, after) in the dimensions from the innermost outward.
    """

    channel: Channel
    index: int
    buffer: str
    copy: int
    words: int
    dims: tuple[tuple[int, int], ...] = ()
    pad: tuple[tuple[int, int], ...] = ()


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
    """A stream from one DMA channel to others.

    Attributes:
        name: for people.
        source: where it comes from.
        sinks: where it goes to; all must be ready.
        hops: switch connections.
        bytes: of one transfer.
        sends: transfers for one run of the layer.
        packet: whether ports are shared with other packet-switched routes.
        role: "a", "w" or "out".
        chains: whose tiles it serves.
        at: which tile of these chains.
    """

    name: str
    source: Channel
    sinks: tuple[Channel, ...]
    hops: tuple[Hop, ...]
    bytes: int
    sends: int
    packet: bool
    role: Literal["a", "w", "out"]
    chains: tuple[int, ...]
    at: int


@dataclass(frozen=True)
class Core:
    """A tile's kernel.

    Attributes:
        tile: where.
        chain: which it belongs to.
        at: place in the chain, west to east.
        schedule: of one call, or of its first turn.
        calls: for one run of the layer.
        program_bytes: estimate of the program memory taken.
        buffers: names, of the same tile, that a call takes and gives.
        further: schedules of a call's further turns, where the reduction is walked over time.
    """

    tile: Tile
    chain: int
    at: int
    schedule: CallSchedule
    calls: int
    program_bytes: int
    buffers: tuple[str, ...]
    further: tuple[CallSchedule, ...] = ()

    @property
    def turns(self) -> tuple[CallSchedule, ...]:
        """Schedules of a call, turn by turn."""
        return (self.schedule, *self.further)


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
        mapping: that it follows.
        cores: kernels.
        buffers: of cores and memory tiles.
        locks: likewise.
        descriptors: likewise.
        routes: streams between memory tiles and cores.
        cascades: between cores.
        entering: bytes that come into the memory tiles for one run.
        leaving: bytes of results that leave them.
        inputs_held: whether memory tiles keep whole parts of the activations.
        shared_bytes: bytes a turn that the DMA writes into a bank that the core loads from.
    """

    device: str
    mapping: ArrayMapping
    cores: tuple[Core, ...]
    buffers: tuple[Buffer, ...]
    locks: tuple[Lock, ...]
    descriptors: tuple[Descriptor, ...]
    routes: tuple[Route, ...]
    cascades: tuple[Cascade, ...]
    entering: int
    leaving: int
    inputs_held: bool
    shared_bytes: int

    @cached_property
    def core_at(self) -> dict[Tile, Core]:
        """Cores by tile."""
        return {core.tile: core for core in self.cores}
