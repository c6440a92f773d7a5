"""Dense layers spread over columns as the stages of a pipeline: one graph, a new result a run.

Between two stages lie double buffers in memory tiles, each written by the chains of the one stage
whose columns its readers, tiles of the other stage's chains, take as their part of the reduction.
While a stage computes a run's rows, the one after it reads those of the run before. A buffer lies
in one memory tile, whose streams from cores are few: so readers are divided among buffers, and a
chain whose columns several of them need sends its results to each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.join import Joined, Joining, Link, Member
from match_aie.targets.aie_ml.graph.moved import moved
from match_aie.targets.aie_ml.graph.plan import Connection, End, Outside, Shared
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: (part of the rows, part of the columns) of a chain.
Writer = tuple[int, int]

#: (part of the rows, tile of a chain, slot).
Reader = tuple[int, int, int]


@dataclass(frozen=True)
class Gate:
    """A buffer between two stages: what of the one's result some of the other's tiles read.

    Attributes:
        writers: chains of the stage before.
        readers: columns of tiles of the stage after, each with a way of its own.
        rows: of the result, first and end.
        columns: likewise, whole parts of the writers.
    """

    writers: tuple[Writer, ...]
    readers: tuple[Reader, ...]
    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def dimensions(self) -> tuple[int, int]:
        """Of the buffer, columns contiguous."""
        return self.columns[1] - self.columns[0], self.rows[1] - self.rows[0]


def is_stage(timed: Timed) -> bool:
    """Whether a layer's kernels only walk rows: weights stay, a call has all of its columns."""
    m = timed.mapping
    return timed.walks_passes and m.row_steps == 1 and timed.memory == "plio"


def padded_rows(timed: Timed) -> int:
    """Rows that a stage computes in a run."""
    m = timed.mapping
    return timed.passes * m.row_parts * m.call_rows


def gates(before: Timed, after: Timed) -> tuple[Gate, ...] | Infeasible:
    """The buffers between two stages; why there are none where they do not fit memory tiles."""
    reason = _unlike(before, after)
    if reason is not None:
        return reason
    found: list[Gate] = []
    waiting: list[Reader] = sorted(_readers(after))
    while waiting:
        gate: Gate | None = None
        for many in range(1, len(waiting) + 1):
            tried = _gate(before, after, tuple(waiting[:many]))
            refused = _refused(before, tried)
            if refused is not None:
                if gate is None:
                    return refused
                break
            gate = tried
        assert gate is not None
        found.append(gate)
        waiting = waiting[len(gate.readers) :]
    return tuple(found)


def _unlike(before: Timed, after: Timed) -> Infeasible | None:
    """Why the one's result is not the other's activations, row by row."""
    a, b = before.mapping.layer, after.mapping.layer
    if not is_stage(before) or not is_stage(after):
        return Infeasible("stages of a pipeline", 1, 0, "layers", ("weights that stay",))
    if (a.columns, a.out) != (b.reduction, b.a):
        return Infeasible("elements of a row between stages", b.reduction, a.columns, "elements")
    rows = padded_rows(before), padded_rows(after)
    if (rows[0], before.rows, before.copies) != (rows[1], after.rows, after.copies):
        return Infeasible("rows of a run", max(rows), min(rows), "rows", ("calls of other rows",))
    return None


def _readers(after: Timed) -> set[Reader]:
    return {
        (row, at, slot.number)
        for slot in after.slots
        for row, _ in slot.parts
        for at in range(after.mapping.cas_length)
    }


def _rows(timed: Timed, part: int) -> set[int]:
    """Rows of a part, of all passes."""
    m = timed.mapping
    high = m.row_parts * m.call_rows
    begins = range(part * m.call_rows, padded_rows(timed), high)
    return {begin + at for begin in begins for at in range(m.call_rows)}


def _gate(before: Timed, after: Timed, readers: tuple[Reader, ...]) -> Gate:
    """The buffer of some readers, with everybody who writes what they read."""
    m, wide = before.mapping, after.mapping.part_reduction
    spans = {(at * wide, min((at + 1) * wide, m.layer.columns)) for _, at, _ in readers}
    rows = set().union(*(_rows(after, part) for part in {row for row, _, _ in readers}))
    parts = [part for part in range(m.row_parts) if _rows(before, part) & rows]
    columns = [
        part
        for part in range(m.column_parts)
        if any(
            part * m.call_columns < end and first < (part + 1) * m.call_columns
            for first, end in spans
        )
    ]
    held = set().union(*(_rows(before, part) for part in parts))
    return Gate(
        tuple((row, column) for row in parts for column in columns),
        readers,
        (min(held), max(held) + 1),
        (columns[0] * m.call_columns, (columns[-1] + 1) * m.call_columns),
    )


def _refused(before: Timed, gate: Gate) -> Infeasible | None:
    """What a memory tile lacks for a buffer."""
    mem, ports = before.mem, before.device.architecture.switch_ports
    into = min(mem.dma.s2mm, ports[("core_tile", "master", "S")])
    wide, high = gate.dimensions
    size = 2 * wide * high * ELEMENT_BYTES[before.mapping.layer.out]
    for what, demand, bound, unit in (
        ("streams into a memory tile", len(gate.writers), into, "streams"),
        ("streams out of a memory tile", len(gate.readers), mem.dma.mm2s, "streams"),
        ("a memory tile", size, mem.bytes, "bytes"),
    ):
        if demand > bound:
            levers = ("longer chains", "fewer parts of the columns", "a smaller batch")
            return Infeasible(what, demand, bound, unit, levers)
    return None


def join_stages(name: str, members: Sequence[Member], device: Device) -> Joined:
    """Stages as one graph, in columns side by side; each reads what the one before it wrote.

    Where stages have copies, those of all stages lie beside each other: a pipeline each.

    Args:
        name: of the graph.
        members: dense layers with their sizes, in the order in which they run.
        device: the array.

    Raises:
        InternalError: two of them do not fit each other (`gates`).
    """
    joining = Joining(name, members, device)
    for writer in range(len(members) - 1):
        _Seam(joining, writer).sew()
    copies = members[0].timed.copies if members[0].timed is not None else 1
    if copies == 1:
        return joining.done()
    widths = [member.graph.columns // copies for member in members]
    first = accumulate(widths[:-1], initial=0)
    columns = [at + copy * sum(widths) for at in first for copy in range(copies)]
    return moved(joining.done(), [wide for wide in widths for _ in range(copies)], columns)


class _Seam:
    """What lies between two stages of a graph in the making."""

    def __init__(self, joining: Joining, writer: int) -> None:
        self.joining, self.writer = joining, writer
        before, after = (joining.members[at].timed for at in (writer, writer + 1))
        if before is None or after is None:
            raise InternalError(f"{joining.name}: a stage without sizes")
        self.before, self.after = before, after
        found = gates(before, after)
        if isinstance(found, Infeasible):
            raise InternalError(f"{joining.name}: stages that do not fit: {found}")
        self.gates = found
        self.copy = 0
        self.made = 0

    def sew(self) -> None:
        """Buffers of its own in the place of those that lead outside."""
        self._unpick()
        held = self.joining.held.setdefault(self.writer, [])
        for copy in range(self.before.copies):
            self.copy = copy
            kept: dict[Writer, tuple[int, Access, Outside]] = {}
            for gate in self.gates:
                self._open(gate, kept)
            held += [kept[writer] for writer in sorted(kept)]
        (operand,) = self.joining.members[self.writer + 1].names
        self.joining.in_place.add(Link(self.writer, self.writer + 1, operand))

    def _open(self, gate: Gate, kept: dict[Writer, tuple[int, Access, Outside]]) -> None:
        """A buffer of the copy at hand; `kept` says where each writer's results stay."""
        buffer = len(self.joining.shared)
        writes = tuple(self._write(gate, writer) for writer in gate.writers)
        reads = tuple(self._read(gate, reader) for reader in gate.readers)
        self.joining.shared.append(self._buffer(gate, writes, reads))
        for port, writer in enumerate(gate.writers):
            self._join(End("buffer", self._last(writer)), End("shared", buffer, port))
            kept.setdefault(writer, (buffer, *self._kept(gate, writer)))
        for port, reader in enumerate(gate.readers):
            for tile in self._sinks(reader):
                self._join(End("shared", buffer, port), End("buffer", tile))

    def _join(self, source: End, sink: End) -> None:
        self.joining.connections.append(Connection(source, sink))

    def _unpick(self) -> None:
        """No ways out of the one stage, nor into the other, and no buffers that serve them."""
        mine = self.joining
        outside = {
            at
            for at, (of, way) in enumerate(mine.outside)
            if (of == self.writer and way >= len(mine.members[of].graph.inputs))
            or (of == self.writer + 1 and way < len(mine.members[of].graph.inputs))
        }
        gone = {
            end.of
            for link in mine.connections
            for end, other in ((link.source, link.sink), (link.sink, link.source))
            if end.kind == "shared" and other.kind == "outside" and other.of in outside
        }
        mine.dropped |= gone
        mine.connections = [
            link
            for link in mine.connections
            if not any(end.kind == "shared" and end.of in gone for end in (link.source, link.sink))
        ]

    def _last(self, writer: Writer) -> int:
        """Kernel that stores a chain's results."""
        t = self.before
        tile = (t.chain(*writer) + 1) * t.mapping.cas_length - 1
        return self._first(self.writer, "buffer") + tile

    def _first(self, member: int, kind: str) -> int:
        """Number of the first kernel or column of a stage's copy at hand."""
        graph = self.joining.members[member].graph
        size = graph.columns if kind == "column" else len(graph.kernels)
        return self.joining.first[member][kind] + self.copy * (size // self.before.copies)

    def _sinks(self, reader: Reader) -> list[int]:
        """Kernels that a column of tiles has for a part of the rows."""
        row, at, slot = reader
        t, base = self.after, self._first(self.writer + 1, "buffer")
        parts = (part for part in t.slots[slot].parts if part[0] == row)
        return [base + t.chain(*part) * t.mapping.cas_length + at for part in parts]

    def _buffer(self, gate: Gate, writes: tuple[Access, ...], reads: tuple[Access, ...]) -> Shared:
        number, self.made = self.made, self.made + 1
        return Shared(
            f"{self.joining.members[self.writer].graph.name}_y{number}",
            self.before.mapping.layer.out,
            gate.dimensions,
            writes,
            reads,
            2,
            self._column(gate),
        )

    def _column(self, gate: Gate) -> int:
        """Where a buffer should lie: on the side from which more streams would cross."""
        before, after = (self._first(at, "column") for at in (self.writer, self.writer + 1))
        if self.before.mapping.chains > self.after.floor.copies[0]:
            chain = self.before.chain(*gate.writers[0])
            return before + self.before.floor.place(chain, self.before.mapping.cas_length - 1)[0]
        _, at, slot = gate.readers[0]
        return after + slot * self.after.mapping.cas_length + at

    def _write(self, gate: Gate, writer: Writer) -> Access:
        """Calls of a chain, [M/m][N/n][m][n] each."""
        m = self.before.mapping
        tile, (row, column) = m.tiling, writer
        return Access(
            gate.dimensions,
            (tile.n, tile.m),
            (column * m.call_columns - gate.columns[0], row * m.call_rows - gate.rows[0]),
            (
                (0, tile.n, m.call_columns // tile.n),
                (1, tile.m, m.call_rows // tile.m),
                *_passes(self.before),
            ),
        )

    def _read(self, gate: Gate, reader: Reader) -> Access:
        """Calls of a column of tiles, [M/m][K/k][m][k] each, zeros beyond the result's columns."""
        m = self.after.mapping
        tile, (row, at, _) = m.tiling, reader
        first, deep = at * m.part_reduction - gate.columns[0], m.part_reduction // tile.k
        beyond = first + m.part_reduction > gate.dimensions[0]
        return Access(
            gate.dimensions,
            (tile.k, tile.m),
            (first, row * m.call_rows - gate.rows[0]),
            ((0, tile.k, deep), (1, tile.m, m.call_rows // tile.m), *_passes(self.after)),
            gate.dimensions if beyond else (),
        )

    def _kept(self, gate: Gate, writer: Writer) -> tuple[Access, Outside]:
        """A chain's results as rows, and where in the layer's result they belong."""
        t, m = self.before, self.before.mapping
        row, column = writer
        offset = column * m.call_columns - gate.columns[0], row * m.call_rows - gate.rows[0]
        access = Access(gate.dimensions, (m.call_columns, m.call_rows), offset, _passes(t))
        high = m.row_parts * m.call_rows
        blocks = Blocks(
            "y",
            (t.rows, m.layer.columns),
            m.call_rows,
            m.call_columns,
            row=row * m.call_rows,
            row_step=high,
            passes=t.passes,
            column=column * m.call_columns,
            first=self.copy * t.rows,
        )
        name = f"y_{row}_{column}"
        return access, Outside(name, m.layer.out, blocks.elements, blocks=blocks)


def _passes(timed: Timed) -> tuple[tuple[int, int, int], ...]:
    """The loop over a run's passes."""
    m = timed.mapping
    return ((1, m.row_parts * m.call_rows, timed.passes),) if timed.passes > 1 else ()
