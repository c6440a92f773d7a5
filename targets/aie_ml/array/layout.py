"""From a layer's graph to an `ArrayProgram`: everything that the graph leaves open is given out.

Buffers in banks, memory-tile buffers in memory tiles, DMA channels, buffer descriptors, locks, and
streams through the switches. `check` proves the result; nothing here decides whether a kernel is
right, only where its data is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd, prod

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml.array.access import descriptors, linear, touched
from match_aie.targets.aie_ml.array.banks import core_buffers
from match_aie.targets.aie_ml.array.give import Giver, NoRoomError
from match_aie.targets.aie_ml.array.logic import Side, logic_side, logics_of
from match_aie.targets.aie_ml.array.merging import merges_of
from match_aie.targets.aie_ml.array.neighbours import home, lent, reaching
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Cascade,
    Channel,
    Core,
    Crossing,
    Descriptor,
    Lock,
    Logic,
    Merge,
    Route,
    Tile,
    Walk,
    Way,
)
from match_aie.targets.aie_ml.array.recurrent import used_in_turns
from match_aie.targets.aie_ml.array.roles import program_bytes
from match_aie.targets.aie_ml.array.rooms import Links, Room
from match_aie.targets.aie_ml.array.router import ORDERS, routed
from match_aie.targets.aie_ml.array.works import Ports, ports, works_of
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import Connection, End, LayerGraph, Shared
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.spec import BYTES


def lay_out(
    graph: LayerGraph,
    device: Device,
    column: int = 0,
    *,
    macs: int = 0,
    core_macs: int = 1,
    orders: int = ORDERS,
) -> ArrayProgram | Infeasible:
    """The program of `graph` with its first column at `column` of the array.

    Args:
        graph: one layer's.
        device: the array.
        column: where it begins.
        macs: useful multiply-accumulates of a run, for figures only.
        core_macs: of one core in a cycle, likewise.
        orders: of the streams, that are tried.

    Raises:
        TargetError: a fact is not known of the device, or a kernel has no schedule.
    """
    if column + graph.columns > device.columns:
        return Infeasible("columns", column + graph.columns, device.columns, "columns", ())
    layout = _Layout(graph, device, column, orders)
    try:
        layout.lay_out()
    except NoRoomError as error:
        return error.reason
    locks, given = layout.given
    return ArrayProgram(
        device=device.name,
        cores=tuple(layout.cores),
        buffers=tuple(layout.buffers),
        locks=locks,
        descriptors=given,
        routes=tuple(layout.routes),
        cascades=tuple(layout.cascades),
        crossings=tuple(layout.crossings),
        macs=macs,
        core_macs=core_macs,
        walks=tuple(layout.walks),
        ways=tuple(layout.ways),
        merges=tuple(layout.merges),
        logics=layout.logics,
    )


@dataclass
class _Layout:
    """A layout in the making."""

    graph: LayerGraph
    device: Device
    column: int
    orders: int
    cores: list[Core] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    cascades: list[Cascade] = field(default_factory=list)
    walks: list[Walk] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    logics: tuple[Logic, ...] = ()

    def __post_init__(self) -> None:
        self._give = Giver(self.device)
        self._ports: list[Ports] = [ports(kernel) for kernel in self.graph.kernels]
        self._tiles: list[Tile] = [self._tile(k.place) for k in self.graph.kernels]
        self._uses: list[dict[str, int]] = []
        #: Connections into and out of each buffer of a memory tile.
        self._into: dict[int, list[Connection]] = {}
        self._from: dict[int, list[Connection]] = {}
        for link in self.graph.connections:
            if link.sink.kind == "shared":
                self._into.setdefault(link.sink.of, []).append(link)
            if link.source.kind == "shared":
                self._from.setdefault(link.source.of, []).append(link)

    @property
    def given(self) -> tuple[tuple[Lock, ...], tuple[Descriptor, ...]]:
        """Given out."""
        return tuple(self._give.locks), tuple(self._give.descriptors)

    def lay_out(self) -> None:
        """Give out everything.

        Raises:
            NoRoomError: something does not suffice.
        """
        self._homes = self._find_homes()  # quick, and what fails most often
        self._place_cores()
        self._place_shared()
        for source, sinks in self._streams():
            self._stream(source, sinks)
        self.merges = merges_of(self.graph, self._tiles, self._ports, self._uses, self._give)
        self.logics = logics_of(self.graph, self._side, self._describe, self._give)
        taken = [(hop.tile, hop.master) for merge in self.merges for hop in merge.hops]
        first, last = self.column, self.column + self.graph.columns - 1
        self.routes = routed(self.routes, self.device, (first, last), self.orders, taken)
        for link in self.graph.connections:
            if link.source.kind == "cascade":
                ends = self._tiles[link.source.of], self._tiles[link.sink.of]
                self.cascades.append(Cascade(*ends))

    def _tile(self, place: tuple[int, int]) -> Tile:
        first_row = self.device.shim_rows + self.device.mem_rows
        return self.column + place[0], first_row + place[1]

    def _place_cores(self) -> None:
        arch = self.device.architecture
        every = zip(self.graph.kernels, self._ports, self._tiles, strict=True)
        for (kernel, names, tile), work in zip(every, works_of(self.graph, arch), strict=True):
            placed = core_buffers(kernel, names, work, tile, self.device)
            if isinstance(placed, Infeasible):
                raise NoRoomError(placed)
            for buffer in placed.buffers:
                self._add(buffer, moved=buffer.name in names.names)
            self._uses.append(
                {name: sum(name in one.gives for one in work) for name in names.names}
            )
            if isinstance(kernel.call, RecurrentCall):
                work = used_in_turns(work, placed.buffers)
            code = program_bytes(work, kernel.call, self.device)
            core = Core(tile, work, code, placed.shared, kernel.call)
            self.cores.append(reaching(core, placed.buffers))
        self.cores = lent(self.cores, self.graph, self._ports)

    def _add(self, buffer: Buffer, *, moved: bool, repeats: int = 1) -> None:
        self.buffers.append(buffer)
        if moved:
            self._give.locks_of(buffer, repeats)

    def _find_homes(self) -> list[Tile]:
        """Of buffers of memory tiles, the largest first, as near as possible to who uses them."""
        mem = self.device.architecture.mem
        if mem is None and self.graph.shared:
            raise NoRoomError(Infeasible("memory tiles", 1, 0, "tiles", ("another device",)))
        rooms = {
            (self.column + x, self.device.shim_rows + y): Room(
                mem.bytes, mem.dma.s2mm, mem.dma.mm2s
            )
            for x in range(self.graph.columns)
            for y in range(self.device.mem_rows)
            if mem is not None
        }
        ports = self.device.architecture.switch_ports
        lanes = ports.get(("mem_tile", "master", "N"), 0), ports["core_tile", "master", "S"]
        links = {self.column + x: Links(*lanes) for x in range(self.graph.columns)}
        homes: dict[int, Tile] = {}
        order = sorted(
            range(len(self.graph.shared)), key=lambda i: (-_bytes(self.graph.shared[i]), i)
        )
        for index in order:
            homes[index] = self._home(index, rooms, links)
        return [homes[index] for index in range(len(self.graph.shared))]

    def _place_shared(self) -> None:
        """Buffers of memory tiles, and their locks."""
        for index, shared in enumerate(self.graph.shared):
            size, fills = _bytes(shared), self._fills(index)
            name, home = shared.name, self._homes[index]
            written, laps = _written(shared), shared.laps
            repeats = max(way.repeats for way in (*shared.reads, *shared.writes))
            self._add(
                Buffer(name, home, (), size, shared.copies, "a", fills, written, laps=laps),
                moved=True,
                repeats=repeats if shared.copies == 1 else 1,
            )

    def _home(self, index: int, rooms: dict[Tile, Room], links: dict[int, Links]) -> Tile:
        """The nearest memory tile with room, in a column with links to the cores if any has."""
        shared = self.graph.shared[index]
        wanted = self.column + (self._wanted(index) if shared.column is None else shared.column)
        size = shared.copies * _bytes(shared)
        fit = [
            tile
            for tile, room in rooms.items()
            if room.bytes >= size
            and room.s2mm >= len(shared.writes)
            and room.mm2s >= len(shared.reads)
        ]
        if not fit:
            most = max(room.bytes for room in rooms.values())
            raise NoRoomError(
                Infeasible(
                    f"a memory tile for {shared.name}",
                    size,
                    most,
                    f"bytes, and {len(shared.writes)} + {len(shared.reads)} channels",
                    ("more columns", "smaller parts of the data"),
                )
            )
        up, down = self._links_of(index)

        def cost(tile: Tile) -> tuple[int, int, int, int]:
            left, room = links[tile[0]], rooms[tile]
            short = max(0, up - left.up) + max(0, down - left.down)
            return short, abs(tile[0] - wanted), -min(room.s2mm, room.mm2s), tile[1]

        best = min(fit, key=cost)
        rooms[best].bytes -= size
        rooms[best].s2mm -= len(shared.writes)
        rooms[best].mm2s -= len(shared.reads)
        links[best[0]].up -= up
        links[best[0]].down -= down
        return best

    def _links_of(self, index: int) -> tuple[int, int]:
        """Streams between a buffer and cores: up, down."""
        into, out = self._into.get(index, ()), self._from.get(index, ())
        up = {link.source.port for link in out if link.sink.kind == "buffer"}
        down = {link.sink.port for link in into if link.source.kind == "buffer"}
        return len(up), len(down)

    def _wanted(self, index: int) -> int:
        """The middle of the columns that use a buffer."""
        others = [link.source for link in self._into.get(index, ())]
        others += [link.sink for link in self._from.get(index, ())]
        columns = sorted(
            self.graph.kernels[end.of].place[0] for end in others if end.kind == "buffer"
        )
        return columns[len(columns) // 2] if columns else 0

    def _fills(self, index: int) -> int:
        """How often a run writes one copy as a whole: what comes in, by what a write touches."""
        shared = self.graph.shared[index]
        found = set()
        for link in self._into.get(index, ()):
            whole = touched(shared.writes[link.sink.port]) * BYTES[shared.dtype]
            source = link.source
            times = self.graph.shared[source.of].fills if source.kind == "shared" else 1
            total = self._side(source, times).total
            found.add(total / whole if total else 1.0)
        if found != {float(shared.fills)}:
            raise InternalError(f"graph {self.graph.name}: {shared.name} is not written evenly")
        return shared.fills

    def _streams(self) -> list[tuple[End, list[End]]]:
        """Sources with all their sinks, in the order of the connections."""
        found: dict[End, list[End]] = {}
        for link in self.graph.connections:
            others = "cascade", "packets", "lent", "logic"
            if link.source.kind not in others and link.sink.kind not in others:
                found.setdefault(link.source, []).append(link.sink)
        return list(found.items())

    def _side(self, end: End, fills: int | None = None, *, sink: bool = False) -> Side:
        """What one end of a connection moves."""
        if end.kind == "outside":
            outside = self.graph.outside[end.of]
            size = outside.elements * BYTES[outside.dtype]
            return Side(None, "", size, size * outside.repeats)
        if end.kind == "logic" and self.graph.logic is not None:
            return logic_side(self.graph.logic, end.port)
        if end.kind == "shared":
            shared = self.graph.shared[end.of]
            ways = shared.writes if sink else shared.reads
            size = touched(ways[end.port]) * BYTES[shared.dtype]
            many = self._fills(end.of) if fills is None else fills
            return Side(self._homes[end.of], shared.name, size, size * many)
        names = self._ports[end.of]
        stored = names.sent if end.port else names.output
        buffer = names.inputs[end.port] if sink else stored
        if buffer is None:
            raise InternalError(f"graph {self.graph.name}: a kernel without an output is read")
        name, size = buffer
        tile = home(self.cores[end.of], name)
        return Side(tile, name, size, size * self._uses[end.of][name])

    def _stream(self, source: End, sinks: list[End]) -> None:
        """A route with its channels and descriptors; a crossing from or to programmable logic."""
        if self.graph.memory == "plio" and "outside" in (source.kind, sinks[0].kind):
            self._crossing(source, sinks)
            return
        begin = self._side(source)
        ends = [self._side(sink, sink=True) for sink in sinks]
        unit = gcd(begin.copy, *(end.copy for end in ends))
        if {end.total for end in ends} != {begin.total}:
            raise InternalError(f"graph {self.graph.name}: {begin.buffer} is not read evenly")
        near = next((end.tile for end in (begin, *ends) if end.tile is not None), None)
        channels = [self._give.channel(begin.tile, "mm2s", near)]
        channels += (self._give.channel(end.tile, "s2mm", near) for end in ends)
        self._describe(source, begin, channels[0], sink=False)
        for sink, end, channel in zip(sinks, ends, channels[1:], strict=True):
            self._describe(sink, end, channel, sink=True)
        name = f"{begin.buffer or self.graph.outside[source.of].name} to " + " ".join(
            end.buffer or self.graph.outside[sink.of].name
            for sink, end in zip(sinks[:2], ends[:2], strict=True)
        )
        self.routes.append(
            Route(
                name=f"{len(self.routes)} {name}",
                source=channels[0],
                sinks=tuple(channels[1:]),
                hops=(),
                bytes=unit,
                sends=begin.total // unit,
                packet=False,
                role="out" if source.kind == "buffer" else "a",
                reads=begin.buffer,
                writes=tuple(end.buffer for end in ends),
            )
        )

    def _crossing(self, source: End, sinks: list[End]) -> None:
        """A stream of programmable logic, which leads to one buffer, or from one."""
        if len(sinks) > 1:
            raise InternalError(f"graph {self.graph.name}: a stream from outside to two buffers")
        into = source.kind == "outside"
        inside, way = (sinks[0], source) if into else (source, sinks[0])
        side, outside = self._side(inside, sink=into), self.graph.outside[way.of]
        if side.total != self._side(way).total:
            raise InternalError(f"graph {self.graph.name}: {outside.name} is not moved evenly")
        channel = self._give.channel(side.tile, "s2mm" if into else "mm2s", None)
        self._describe(inside, side, channel, sink=into)
        sends = side.total // side.copy
        self.crossings.append(
            Crossing(outside.name, channel, side.buffer, side.copy, sends, outside)
        )

    def _describe(self, end: End, side: Side, channel: Channel, *, sink: bool) -> None:
        """Descriptors of one end; those of interface tiles are linear, one for each channel."""
        if side.tile is None:
            self.ways.append(Way(channel, self.graph.outside[end.of]))
            return
        if end.kind != "shared":
            copies = 1 if not sink and self.graph.kernels[end.of].single else 2
            self._give.descriptors_of(channel, side.buffer, copies, (linear(side.copy),))
            return
        shared = self.graph.shared[end.of]
        way = (shared.writes if sink else shared.reads)[end.port]
        limits = self.device.architecture.addressing["mem"]
        found = descriptors(way, BYTES[shared.dtype], limits, shared.name)
        if isinstance(found, Infeasible):
            raise NoRoomError(found)
        # The only copy, or its parts, are read again by the same descriptors, as often as the lock
        # allows; of two copies each must be read to the end before the other's turn.
        again = way.repeats if shared.copies > 1 and shared.laps == 1 else 1
        self._give.descriptors_of(channel, side.buffer, shared.copies, found * again)
        self.walks.append(Walk(channel, side.buffer, way, BYTES[shared.dtype]))


def _written(shared: Shared) -> int | None:
    """Bytes in front of what nothing writes and no result depends on."""
    if shared.rows is None:
        return None
    return prod(shared.dimensions[:-1]) * shared.rows * BYTES[shared.dtype]


def _bytes(shared: Shared) -> int:
    return prod(shared.dimensions) * BYTES[shared.dtype]
