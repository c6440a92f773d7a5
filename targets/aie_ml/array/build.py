"""From a mapping to an `ArrayProgram`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil
from typing import Literal

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.fit import Fit, fit, program_bytes, schedules
from match_aie.targets.aie_ml.array.floor import Net
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.order import Step, steps
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Cascade,
    Channel,
    Core,
    Crossing,
    Descriptor,
    Direction,
    Hop,
    Lock,
    Route,
    Tile,
    Work,
)
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import CallSchedule
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

WORD = 4


class Builder:
    """Hands out what is numbered: channels, descriptors, locks, lanes."""

    def __init__(self, mapping: ArrayMapping, device: Device, fitted: Fit) -> None:
        """Nothing given out yet."""
        self.mapping = mapping
        self.device = device
        self.floor = fitted.floor
        self.local = fitted.local
        self.held = fitted.memory.inputs_held
        self.buffers: list[Buffer] = []
        self.locks: list[Lock] = []
        self.descriptors: list[Descriptor] = []
        self.routes: list[Route] = []
        self.crossings: list[Crossing] = []
        self._locks: dict[Tile, int] = defaultdict(int)
        self._numbers: dict[tuple[Tile, int], int] = defaultdict(int)
        self._channels: dict[tuple[Tile, Direction], int] = defaultdict(int)
        self._lanes: dict[tuple[int, str], int] = defaultdict(int)
        self._uses: dict[tuple[Tile, Direction, int], int] = defaultdict(int)
        self._upward: dict[Tile, dict[int, int]] = defaultdict(dict)

    @property
    def first_core_row(self) -> int:
        """Row of the cores next to the memory tiles."""
        return self.device.shim_rows + self.device.mem_rows

    def tile(self, chain: int, at: int) -> Tile:
        """Tile `at` of `chain`."""
        column, row = self.floor.place(chain, at)
        return column, row + self.first_core_row

    def channel(self, tile: Tile, direction: Direction) -> Channel:
        """The next channel of a core's tile."""
        self._channels[tile, direction] += 1
        return Channel(tile, direction, self._channels[tile, direction] - 1)

    def ways_into(self, tile: Tile) -> tuple[list[int], list[int]]:
        """S2MM channels of a memory tile: for what comes from outside, and for results."""
        mem = self.device.architecture.mem
        count = mem.dma.s2mm if mem is not None else 0
        results = -(-min(self.device.core_rows, self.mapping.chains) // self.device.mem_rows)
        kept = min(results, count - 2)
        del tile
        return list(range(count - kept)), list(range(count - kept, count))

    def fill(self, tile: Tile, indices: list[int], direction: Direction) -> Channel:
        """Of these channels the one that is used least, by its half of the descriptors."""
        index = min(
            indices, key=lambda i: (self._numbers[tile, i % 2], self._uses[tile, direction, i], i)
        )
        self._uses[tile, direction, index] += 1
        return Channel(tile, direction, index)

    def upward(self, tile: Tile, lane: int) -> Channel:
        """The MM2S channel of a memory tile for a lane up the column; one a lane."""
        used = self._upward[tile]
        return Channel(tile, "mm2s", used.setdefault(lane, len(used)))

    def outward(self, tile: Tile) -> Channel:
        """An MM2S channel of a memory tile that feeds no lane, for results that leave."""
        mem = self.device.architecture.mem
        count = mem.dma.mm2s if mem is not None else 0
        free = list(range(len(self._upward[tile]), count)) or [count - 1]
        return self.fill(tile, free, "mm2s")

    def memory_tile(self, column: int, index: int) -> Tile:
        """One of the column's memory tiles, in turn."""
        return column, self.device.shim_rows + index % self.device.mem_rows

    def lane(self, column: int, kind: str) -> int:
        """The next lane up a column for slices of `kind`, in turn."""
        for_a, for_w = self.floor.lane_split
        self._lanes[column, kind] += 1
        turn = self._lanes[column, kind] - 1
        return turn % for_a if kind == "a" else for_a + turn % for_w

    def buffer(self, buffer: Buffer, *, moved: bool) -> Buffer:
        """Add `buffer`, with its locks where streams fill or empty it."""
        self.buffers.append(buffer)
        if moved:
            for state in ("empty", "full"):
                initial = buffer.copies if state == "empty" else 0
                kind: Literal["empty", "full"] = "empty" if state == "empty" else "full"
                index = self._locks[buffer.tile]
                lock = Lock(buffer.tile, index, buffer.name, kind, initial, buffer.copies)
                self.locks.append(lock)
                self._locks[buffer.tile] += 1
        return buffer

    def describe(
        self,
        channel: Channel,
        buffer: Buffer,
        words: int,
        dims: tuple[tuple[int, int], ...] = (),
    ) -> None:
        """Descriptors for all copies of `buffer` on `channel`.

        In memory tiles even channels use the lower half of the descriptors, odd ones the upper.
        """
        half = 0
        if channel.tile[1] < self.first_core_row:
            half = channel.index % 2
        base = half * self.device.architecture.descriptors["mem"] // 2
        for copy in range(buffer.copies):
            key = (channel.tile, half)
            index = base + self._numbers[key]
            self._numbers[key] += 1
            self.descriptors.append(Descriptor(channel, index, buffer.name, copy, words, dims))


def build(mapping: ArrayMapping, device: Device) -> ArrayProgram | Infeasible:
    """The program of `mapping` on `device`; `check` proves it.

    Raises:
        TargetError: a fact that the mapping needs is not known of the device.
    """
    fitted = fit(mapping, device)
    if isinstance(fitted, Infeasible):
        return fitted
    builder = Builder(mapping, device, fitted)
    cores = tuple(_cores(builder, device))
    for net in builder.floor.nets:
        _net(builder, net)
    for chain in range(mapping.chains):
        _result(builder, chain)
    layer = mapping.layer
    return ArrayProgram(
        device=device.name,
        cores=cores,
        buffers=tuple(builder.buffers),
        locks=tuple(builder.locks),
        descriptors=tuple(builder.descriptors),
        routes=tuple(builder.routes),
        cascades=tuple(_cascades(builder)),
        crossings=tuple(builder.crossings),
        macs=layer.macs,
        core_macs=device.architecture.core.macs_of(layer.a, layer.w) or 1,
    )


def _cores(builder: Builder, device: Device) -> Iterator[Core]:
    """Kernels with their tiles' buffers: activations from bank 0, then weights, then the rest."""
    mapping, local = builder.mapping, builder.local
    calls = schedules(mapping, device)
    inputs = tuple(range(local.input_banks))
    weights = tuple(range(local.input_banks, local.input_banks + local.weight_banks))
    others = tuple(range(weights[-1] + 1, weights[-1] + 1 + local.other_banks))
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    stack += mapping.sums_bytes  # an array of the kernel's function
    order = steps(mapping)
    for chain in range(mapping.chains):
        for at in range(mapping.cas_length):
            tile = builder.tile(chain, at)
            builder.buffer(Buffer("a", tile, inputs, mapping.input_bytes, 2, "a"), moved=True)
            if mapping.streamed:
                builder.buffer(Buffer("w", tile, weights, mapping.weight_bytes, 2, "w"), moved=True)
            else:
                size = mapping.part_weight_bytes
                builder.buffer(Buffer("w", tile, weights, size, 1, "w"), moved=False)
            builder.buffer(Buffer("stack", tile, others, stack, 1, "stack"), moved=False)
            if at == 0 and mapping.bias_bytes:
                bias = Buffer("bias", tile, others, mapping.bias_bytes, 1, "bias")
                builder.buffer(bias, moved=False)
            if at == mapping.cas_length - 1:
                out = Buffer("out", tile, others, mapping.output_bytes, 2, "out")
                builder.buffer(out, moved=True)
            last = at == mapping.cas_length - 1
            work = tuple(_works(order, calls[at], stores=last))
            yield Core(tile, work, program_bytes(calls[at]), local.shared)


def _works(
    order: tuple[Step, ...], turns: tuple[CallSchedule, ...], *, stores: bool
) -> Iterator[Work]:
    """The calls of a tile, turn by turn; alike ones are one object."""
    alike: dict[tuple[int, Step], Work] = {}
    for number, step in enumerate(order):
        key = number % len(turns), step
        if key not in alike:
            alike[key] = Work(turns[key[0]], *step.names(stores=stores), step.begins)
        yield alike[key]


def _cascades(builder: Builder) -> Iterator[Cascade]:
    for chain in range(builder.mapping.chains):
        for at in range(builder.mapping.cas_length - 1):
            yield Cascade(builder.tile(chain, at), builder.tile(chain, at + 1))


def _net(builder: Builder, net: Net) -> None:
    """A slice in a memory tile, the streams that read it, and where they end."""
    mapping, floor = builder.mapping, builder.floor
    column = net.slot * mapping.cas_length + net.at
    streams = mapping.input_channels if net.kind == "a" else 1
    lanes = [builder.lane(column, net.kind) for _ in range(streams)]
    source = builder.memory_tile(column, lanes[0] // streams)
    size = mapping.input_bytes if net.kind == "a" else mapping.weight_bytes
    sends = mapping.input_sends() if net.kind == "a" else mapping.weight_sends()
    whole, copies, fills = _kept(builder, net, size)
    name = f"in {net.kind}{net.part}.{net.at}"
    held = builder.buffer(Buffer(name, source, (), whole, copies, net.kind, fills), moved=True)
    _enter(builder, held, streams)
    for part, lane in enumerate(lanes):
        channel = builder.upward(source, lane)
        words = ceil(size / streams / WORD)
        builder.describe(channel, held, words, _tiled(builder, net.kind, streams))
        sinks = []
        for chain in net.chains:
            tile = builder.tile(chain, net.at)
            sink = builder.channel(tile, "s2mm")
            sinks.append(sink)
            builder.describe(sink, Buffer(net.kind, tile, (), size, 2, net.kind), words)
        builder.routes.append(
            Route(
                name=f"{name}.{part} column {column}",
                source=channel,
                sinks=tuple(sinks),
                hops=tuple(_up(builder, channel, tuple(sinks), lane)),
                bytes=words * WORD,
                sends=sends,
                packet=floor.shares[net.kind == "w"] > 1,
                role="a" if net.kind == "a" else "w",
                reads=name,
                writes=(net.kind,) * len(sinks),
            )
        )


def _enter(builder: Builder, held: Buffer, streams: int) -> None:
    """What fills a slice from outside: as many streams as read it."""
    for part in range(streams):
        entry = builder.fill(held.tile, builder.ways_into(held.tile)[0], "s2mm")
        size = ceil(held.bytes / streams / WORD) * WORD
        builder.describe(entry, held, size // WORD)
        if held.fills:
            feed = Crossing(f"feed {held.name}.{part}", entry, held.name, size, held.fills)
            builder.crossings.append(feed)


def _kept(builder: Builder, net: Net, size: int) -> tuple[int, int, int]:
    """(bytes, copies, fills a run) of what a memory tile keeps of a slice."""
    mapping = builder.mapping
    if net.kind == "a" and builder.held:
        element = ELEMENT_BYTES[mapping.layer.a]
        return mapping.part_rows * mapping.part_reduction * element, 2, 1
    if net.kind == "w" and mapping.home == "memory tile":
        return mapping.part_weight_bytes, 1, 0
    return size, 2, mapping.input_sends() if net.kind == "a" else mapping.weight_sends()


def _tiled(builder: Builder, kind: str, streams: int) -> tuple[tuple[int, int], ...]:
    """The order of `mmul` tiles in row-major activations; weights are packed in it already."""
    if kind != "a":
        return ()
    mapping, t = builder.mapping, builder.mapping.tiling
    element = ELEMENT_BYTES[mapping.layer.a]
    whole = mapping.part_reduction if builder.held else mapping.call_reduction
    row = whole * element // WORD
    piece = max(1, t.k * element // WORD)
    k_tiles = ceil(mapping.call_reduction / t.k)
    rows = ceil(mapping.call_rows / t.m / streams)
    return ((piece, 1), (t.m, row), (k_tiles, piece), (rows, t.m * row))


def _up(builder: Builder, source: Channel, sinks: tuple[Channel, ...], lane: int) -> Iterator[Hop]:
    """From a memory tile straight up its column, dropping off at every sink."""
    column, row = source.tile
    slave = ("dma", source.index)
    ends = {sink.tile[1]: sink.index for sink in sinks}
    while True:
        if row in ends:
            yield Hop((column, row), slave, ("dma", ends[row]))
        if row >= max(ends):
            return
        yield Hop((column, row), slave, ("N", lane))
        row, slave = row + 1, ("S", lane)


def _result(builder: Builder, chain: int) -> None:
    """Results of a chain: down its last column, or the one before, into a memory tile."""
    mapping, floor = builder.mapping, builder.floor
    tile = builder.tile(chain, mapping.cas_length - 1)
    ports = builder.device.architecture.switch_ports["core_tile", "master", "S"]
    turn = chain % builder.device.core_rows % floor.lanes_down
    column = tile[0] - turn // ports
    lane = turn % ports
    sink_tile = builder.memory_tile(column, turn)
    source = builder.channel(tile, "mm2s")
    words = ceil(mapping.output_bytes / WORD)
    builder.describe(source, Buffer("out", tile, (), mapping.output_bytes, 2, "out"), words)
    sink = builder.fill(sink_tile, builder.ways_into(sink_tile)[1], "s2mm")
    name = f"out {chain}"
    size, calls = mapping.output_bytes, mapping.calls
    kept = builder.buffer(Buffer(name, sink_tile, (), size, 2, "out", calls), moved=True)
    builder.describe(sink, kept, words)
    way = builder.outward(sink_tile)
    builder.describe(way, kept, words)
    builder.crossings.append(Crossing(f"leave {name}", way, name, words * WORD, calls))
    members = len(floor.members(chain // builder.device.core_rows))
    builder.routes.append(
        Route(
            name=name,
            source=source,
            sinks=(sink,),
            hops=tuple(_down(source, sink, column, lane)),
            bytes=words * WORD,
            sends=mapping.calls,
            packet=members > floor.lanes_down,
            role="out",
            reads="out",
            writes=(name,),
        )
    )


def _down(source: Channel, sink: Channel, column: int, lane: int) -> Iterator[Hop]:
    x, y = source.tile
    slave = ("dma", source.index)
    while x > column:
        yield Hop((x, y), slave, ("W", lane))
        x, slave = x - 1, ("E", lane)
    while y > sink.tile[1]:
        yield Hop((x, y), slave, ("S", lane))
        y, slave = y - 1, ("N", lane)
    yield Hop((x, y), slave, ("dma", sink.index))
