"""Puts a layer's graph together: cores and memory tiles are given out as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Part,
    Shared,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: Kind ("in", "out", "shared", "buffer", "cascade", "packets", "lent", "logic"), index and port of
#: an end of a connection; "in" and "out" count each side of the outside by itself.
Joint = tuple[str, int, int]


@dataclass(frozen=True)
class Request:
    """A buffer in a memory tile that a group of chains wants.

    Attributes:
        name: after the layer's own.
        dtype: of its elements.
        dimensions: elements, dimension 0 contiguous.
        writes: how each of its input ports fills it.
        reads: how each of its output ports empties it.
        rows: of the last dimension that are written, as `Shared` has it.
    """

    name: str
    dtype: str
    dimensions: tuple[int, ...]
    writes: tuple[Access, ...]
    reads: tuple[Access, ...]
    rows: int | None = None

    @property
    def bytes(self) -> int:
        """Of one copy."""
        return prod(self.dimensions) * BYTES[self.dtype]


@dataclass(frozen=True)
class Placed:
    """Where a group lies.

    Attributes:
        column: of its first core.
        row: of its first core.
        buffers: indices of its buffers, in the order of its requests.
    """

    column: int
    row: int
    buffers: tuple[int, ...]


@dataclass(frozen=True)
class _Room:
    """What is left of one memory tile."""

    bytes: int
    s2mm: int
    mm2s: int

    def after(self, request: Request, copies: int) -> _Room | None:
        """What is left after `request`; None where it does not fit."""
        left = _Room(
            self.bytes - copies * request.bytes,
            self.s2mm - len(request.writes),
            self.mm2s - len(request.reads),
        )
        return left if min(left.bytes, left.s2mm, left.mm2s) >= 0 else None


@dataclass
class Assembly:
    """A graph in the making.

    Attributes:
        name: of the layer.
        device: that it is for.
        columns: of the rectangle that may be taken.
    """

    name: str
    device: Device
    columns: int
    ins: list[Outside] = field(default_factory=list)
    outs: list[Outside] = field(default_factory=list)
    shared: list[Shared] = field(default_factory=list)
    kernels: list[GraphKernel] = field(default_factory=list)
    connections: list[tuple[Joint, Joint]] = field(default_factory=list)
    _row: int = 0
    _column: int = 0
    _width: int = 0
    _up: int = 0
    _down: int = 0
    _rooms: dict[tuple[int, int], _Room] = field(default_factory=dict)

    def place(
        self, chains: int, length: int, requests: Sequence[Request], down: int | None = None
    ) -> Placed | Infeasible:
        """Cores `length` columns wide and `chains` high, and buffers in those columns.

        The last request is that of the results; streams up into the cores read all others, and
        streams down write it: no more than a column's switches have links. What one buffer hands to
        the next goes below the memory tiles. Buffers are double where there is room, so that one
        run writes while another is read.

        Args:
            chains: rows of cores.
            length: columns.
            requests: buffers.
            down: streams from the cores; one from each chain where None.
        """
        up = sum(len(request.reads) for request in requests[:-1])
        down = chains if down is None else down
        if (
            length != self._width
            or self._row + chains > self.device.core_rows
            or not self._streams(length, up, down)
        ):
            self._next_columns(length)
        found = self._buffers(requests)
        if found is None and self._row:
            self._next_columns(length)
            found = self._buffers(requests)
        if found is None:
            return self._refusal(requests)
        if not self._streams(length, up, down):
            bound = self.device.architecture.switch_ports.get(("mem_tile", "master", "N"), 0)
            levers = ("fewer chains side by side", "a longer cascade")
            return Infeasible("links of a column", max(up, down), length * bound, "", levers)
        if self._column + length > self.columns or chains > self.device.core_rows:
            levers = ("fewer tiles", "a wider rectangle of columns")
            needed = (self._column + length) * chains
            return Infeasible("tiles", needed, self.columns * chains, "tiles", levers)
        placed = Placed(self._column, self._row, tuple(found))
        self._row += chains
        self._up += up
        self._down += down
        return placed

    def _streams(self, length: int, up: int, down: int) -> bool:
        """Whether the present columns still have links for so many streams up and down."""
        ports = self.device.architecture.switch_ports
        most_up = length * ports.get(("mem_tile", "master", "N"), 0)
        most_down = length * ports.get(("core_tile", "master", "S"), 0)
        return self._up + up <= most_up and self._down + down <= most_down

    @property
    def taken(self) -> int:
        """Columns so far."""
        return self._column + self._width

    def _next_columns(self, length: int) -> None:
        self._column += self._width
        self._width, self._row = length, 0
        self._up = self._down = 0

    def _buffers(self, requests: Sequence[Request]) -> list[int] | None:
        """The requests' buffers in memory tiles of the present columns, all or none."""
        rooms = dict(self._rooms)
        fresh: list[Shared] = []
        for request in requests:
            taken = self._room(rooms, request)
            if taken is None:
                return None
            tile, copies, left = taken
            rooms[tile] = left
            number = len(self.shared) + len(fresh)
            fresh.append(
                Shared(
                    f"{self.name}_{request.name}{number}",
                    request.dtype,
                    request.dimensions,
                    request.writes,
                    request.reads,
                    copies,
                    tile[0],
                    rows=request.rows,
                )
            )
        self._rooms = rooms
        self.shared += fresh
        return list(range(len(self.shared) - len(fresh), len(self.shared)))

    def _room(
        self, rooms: dict[tuple[int, int], _Room], request: Request
    ) -> tuple[tuple[int, int], int, _Room] | None:
        columns = range(self._column, self._column + self._width)
        for copies in (2, 1):
            for tile in ((c, r) for c in columns for r in range(self.device.mem_rows)):
                left = rooms.get(tile, self._empty()).after(request, copies)
                if left is not None:
                    return tile, copies, left
        return None

    def _empty(self) -> _Room:
        mem = self.device.architecture.mem
        if mem is None:
            raise TargetError(f"{self.device.name} has no memory tiles")
        return _Room(mem.bytes, mem.dma.s2mm, mem.dma.mm2s)

    def _refusal(self, requests: Sequence[Request]) -> Infeasible:
        """Why not even untouched memory tiles take the requests."""
        whole, tiles = self._empty(), self._width * self.device.mem_rows
        largest = max(request.bytes for request in requests)
        total = sum(request.bytes for request in requests)
        levers = ("more parts of the rows", "fewer chains in a column")
        if largest > whole.bytes:
            return Infeasible("a memory tile", largest, whole.bytes, "bytes", levers)
        if total > tiles * whole.bytes:
            return Infeasible("memory tiles", total, tiles * whole.bytes, "bytes", levers)
        ports = sum(len(request.writes) + len(request.reads) for request in requests)
        bound = tiles * (whole.s2mm + whole.mm2s)
        return Infeasible("DMA of memory tiles", max(ports, bound + 1), bound, "channels", levers)

    def outside(self, part: Part, dtype: str) -> int:
        """A way in, or out for "y"; its index on its side."""
        side = self.outs if part.operand == "y" else self.ins
        name = f"{self.name}_{part.operand}_outside{len(side)}"
        side.append(Outside(name, dtype, part.elements, part))
        return len(side) - 1

    def connect(self, source: Joint, sink: Joint) -> None:
        """From (kind, index, port) to the same; "in" and "out" are the two sides of outside."""
        self.connections.append((source, sink))

    def _end(self, end: Joint) -> End:
        kind, of, port = end
        if kind == "in":
            return End("outside", of)
        if kind == "out":
            return End("outside", len(self.ins) + of)
        if kind == "shared":
            return End("shared", of, port)
        if kind == "packets":
            return End("packets", of)
        if kind == "lent":
            return End("lent", of, port)
        if kind == "logic":
            return End("logic", of, port)
        return End("buffer", of, port) if kind == "buffer" else End("cascade", of, port)

    def graph(self, remark: str, logic: LogicCall | None = None) -> LayerGraph:
        """What was put together, with a kernel of programmable logic where there is one."""
        return LayerGraph(
            self.name,
            remark,
            tuple(self.ins),
            tuple(self.outs),
            tuple(self.shared),
            tuple(self.kernels),
            tuple(Connection(self._end(a), self._end(b)) for a, b in self.connections),
            self.taken,
            logic=logic,
        )
