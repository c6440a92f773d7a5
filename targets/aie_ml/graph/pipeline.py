"""Layers as the stages of a pipeline, side by side: one graph, a new result a run.

Stages are dense layers spread over columns and layers of rows (norms, tables, sums). Between two
stages lie double buffers in memory tiles, each written by the kernels of the one stage whose
results its readers, tiles of the other stage, take: columns as a part of a dense layer's reduction,
rows for a norm. While a stage computes a run's rows, the one after it reads those of the run
before. A buffer lies in one memory tile, whose streams from cores are few: so readers are divided
among buffers, and a kernel whose results several of them need sends them to each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention_keys import PAIRED
from match_aie.targets.aie_ml.graph.attention_seam import sew_keys
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.faces import Face, Key, Piece, Window, across, face_of
from match_aie.targets.aie_ml.graph.join import Joined, Joining, Link, Member
from match_aie.targets.aie_ml.graph.moved import moved
from match_aie.targets.aie_ml.graph.plan import Connection, End, Outside, Shared
from match_aie.targets.aie_ml.graph.row_stage import RowStage
from match_aie.targets.aie_ml.graph.seams import (
    Stage,
    held_copies,
    kept_of,
    stage_of_member,
    unpick,
)
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES


@dataclass(frozen=True)
class StageGate:
    """A buffer between two stages: what of the one's result some of the other's tiles read.

    Attributes:
        writers: kernels of the stage before, and what they store.
        readers: columns of tiles of the stage after, each with a way of its own; what they read.
        window: the part of the result that it holds, whole parts of the writers.
    """

    writers: dict[Key, Piece]
    readers: dict[Key, Piece]
    window: Window


def is_stage(stage: Stage) -> bool:
    """Whether a layer's kernels only walk rows: weights stay, a call has all of its columns."""
    if isinstance(stage, RowStage):
        return True
    m = stage.mapping
    return stage.walks_passes and m.row_steps == 1 and stage.memory == "plio"


def padded_rows(timed: Timed) -> int:
    """Rows that a stage computes in a run."""
    return face_of(timed).given[1]


def gates(before: Stage, after: Stage, copies: int = 2) -> tuple[StageGate, ...] | Infeasible:
    """The buffers between two stages; why there are none where they do not fit memory tiles.

    Args:
        before: what writes them.
        after: what reads them.
        copies: of each, more than two where other stages work on a run between these two.
    """
    if not is_stage(before) or not is_stage(after):
        return Infeasible("stages of a pipeline", 1, 0, "layers", ("weights that stay",))
    left, right = face_of(before), face_of(after)
    reason = _unlike(left, right)
    if reason is not None:
        return reason
    found: list[StageGate] = []
    waiting = sorted(right.readers.items())
    while waiting:
        gate: StageGate | None = None
        for many in range(1, len(waiting) + 1):
            tried = _gate(left, dict(waiting[:many]))
            refused = _refused(left, tried, before.device, copies)
            if refused is not None:
                if gate is None:
                    return refused
                break
            gate = tried
        assert gate is not None
        found.append(gate)
        waiting = waiting[len(gate.readers) :]
    return tuple(found)


def _unlike(before: Face, after: Face) -> Infeasible | None:
    """Why the one's result is not the other's operand, row by row."""
    if before.stored != after.taken:
        wanted, given = after.taken[0], before.stored[0]
        return Infeasible("elements of a row between stages", wanted, given, "elements")
    rows = before.given[1], after.wanted[1]
    if (before.given, before.copies) != (after.wanted, after.copies):
        return Infeasible("rows of a run", max(rows), min(rows), "rows", ("calls of other rows",))
    return None


def _gate(before: Face, readers: dict[Key, Piece]) -> StageGate:
    """The buffer of some readers, with everybody who writes what they read."""
    wide, _ = before.stored
    wanted = {
        Piece(p.first, p.high, p.period, p.passes, (p.columns[0], min(p.columns[1], wide)))
        for p in readers.values()
    }
    mine = {
        key: piece
        for key, piece in before.writers.items()
        if any(piece.meets(other) for other in wanted)
    }
    first = min(piece.first for piece in mine.values())
    last = max(p.first + (p.passes - 1) * p.period + p.high for p in mine.values())
    begin = min(piece.columns[0] for piece in mine.values())
    end = max(piece.columns[1] for piece in mine.values())
    return StageGate(mine, readers, Window(first, begin, (end - begin, last - first)))


def _refused(before: Face, gate: StageGate, device: Device, copies: int) -> Infeasible | None:
    """What a memory tile lacks for a buffer."""
    mem, ports = device.architecture.mem, device.architecture.switch_ports
    if mem is None:
        raise InternalError(f"{device.name} has no memory tiles")
    into = min(mem.dma.s2mm, ports[("core_tile", "master", "S")])
    wide, high = gate.window.dimensions
    size = copies * wide * high * BYTES[before.stored[1]]
    for what, demand, bound, unit in (
        ("streams into a memory tile", len(gate.writers), into, "streams"),
        ("streams out of a memory tile", len(gate.readers), mem.dma.mm2s, "streams"),
        ("a memory tile", size, mem.bytes, "bytes"),
    ):
        if demand > bound:
            levers = ("longer chains", "fewer parts of the columns", "a smaller batch")
            return Infeasible(what, demand, bound, unit, levers)
    return None


def join_stages(
    name: str, members: Sequence[Member], device: Device, links: Sequence[Link] = ()
) -> Joined:
    """Stages as one graph, in columns side by side; each reads what others wrote.

    Where stages have copies, those of all stages lie beside each other: a pipeline each.

    Args:
        name: of the graph.
        members: layers with their sizes, in the order in which they run.
        device: the array.
        links: what they read of each other; where none are given, each the one before it.

    Raises:
        InternalError: two of them do not fit each other (`gates`).
    """
    joining = Joining(name, members, device)
    row = [Link(at - 1, at, members[at].names[0]) for at in range(1, len(members))]
    copies_of = held_copies(links or row)
    paired: dict[int, list[Link]] = {}
    others: list[Link] = []
    for link in sorted(links or row):
        if isinstance(members[link.reader].stage, AttentionStage) and link.operand in PAIRED:
            paired.setdefault(link.reader, []).append(link)
        else:
            others.append(link)
    for alike in _alike(others, members, copies_of):
        _Seam(joining, alike, copies_of[alike[0]]).sew()
    for each in paired.values():
        sew_keys(joining, each, max(copies_of[link] for link in each))
    copies = face_of(stage_of_member(members[0])).copies
    if copies == 1:
        return joining.done()
    widths = [member.graph.columns // copies for member in members]
    first = accumulate(widths[:-1], initial=0)
    columns = [at + copy * sum(widths) for at in first for copy in range(copies)]
    return moved(joining.done(), [wide for wide in widths for _ in range(copies)], columns)


def _alike(
    links: Sequence[Link], members: Sequence[Member], copies: Mapping[Link, int]
) -> list[list[Link]]:
    """Links of a writer whose readers read the same pieces alike: one buffer serves them all.

    Args:
        links: in their order.
        members: whose.
        copies: of each link's buffers.
    """
    found: dict[tuple[object, ...], list[Link]] = {}
    for link in links:
        stage = stage_of_member(members[link.reader])
        key: tuple[object, ...] = (link,)
        if isinstance(stage, Timed):
            readers = tuple(face_of(stage).readers.items())
            key = link.writer, copies[link], stage.mapping.tiling, readers
        found.setdefault(key, []).append(link)
    return list(found.values())


class _Seam:
    """What lies between two stages of a graph in the making, or a stage and several alike.

    Args:
        joining: the graph in the making.
        links: of one writer, to readers of the same pieces.
        held: copies of each buffer.
    """

    def __init__(self, joining: Joining, links: Sequence[Link], held: int) -> None:
        self.joining, self.links, self.held = joining, links, held
        self.link = link = links[0]
        before, after = (stage_of_member(joining.members[at]) for at in (link.writer, link.reader))
        self.before, self.after = face_of(before), face_of(after)
        found = gates(before, after, self.held)
        if isinstance(found, Infeasible):
            raise InternalError(f"{joining.name}: stages that do not fit: {found}")
        self.gates = found
        self.copy = 0
        self.made = 0
        if link.reader - link.writer == 1:
            self.prefix = f"{joining.members[link.writer].graph.name}_y"
        else:
            self.prefix = f"{joining.members[link.writer].graph.name}_to{link.reader}_y"

    def sew(self) -> None:
        """Buffers of its own in the place of those that lead outside."""
        for link in self.links:
            unpick(self.joining, link.writer, link.reader, (link.operand,))
        found: list[tuple[int, Access, Outside]] = []
        for copy in range(self.before.copies):
            self.copy = copy
            kept: dict[Key, tuple[int, Access, Outside]] = {}
            for gate in self.gates:
                self._open(gate, kept)
            found += [kept[writer] for writer in sorted(kept)]
        self.joining.held[self.link.writer] = found
        self.joining.in_place |= set(self.links)

    def _open(self, gate: StageGate, kept: dict[Key, tuple[int, Access, Outside]]) -> None:
        """A buffer of the copy at hand; `kept` says where each writer's results stay."""
        buffer = len(self.joining.shared)
        self.joining.shared.append(self._buffer(gate))
        for port, (writer, piece) in enumerate(gate.writers.items()):
            stores = self._first(self.link.writer, "buffer") + self.before.kernel(writer)
            self._join(End("buffer", stores), End("shared", buffer, port))
            kept.setdefault(writer, (buffer, *self._kept(gate, writer, piece)))
        for link in self.links:
            base = self._first(link.reader, "buffer")
            member = self.joining.members[link.reader]
            operand, after = member.names.index(link.operand), face_of(stage_of_member(member))
            for port, reader in enumerate(gate.readers):
                for tile in after.sinks(reader):
                    self._join(End("shared", buffer, port), End("buffer", base + tile, operand))

    def _join(self, source: End, sink: End) -> None:
        self.joining.connections.append(Connection(source, sink))

    def _first(self, member: int, kind: str) -> int:
        """Number of the first kernel or column of a stage's copy at hand."""
        graph = self.joining.members[member].graph
        size = graph.columns if kind == "column" else len(graph.kernels)
        return self.joining.first[member][kind] + self.copy * (size // self.before.copies)

    def _buffer(self, gate: StageGate) -> Shared:
        number, self.made = self.made, self.made + 1
        window = gate.window
        return Shared(
            f"{self.prefix}{number}",
            self.before.stored[1],
            window.dimensions,
            tuple(self.before.write(piece, window) for piece in gate.writers.values()),
            tuple(self.after.read(piece, window) for piece in gate.readers.values()),
            self.held,
            self._column(gate),
        )

    def _column(self, gate: StageGate) -> int:
        """Where a buffer should lie: on the side from which more streams would cross."""
        if across(self.before, self.after):
            return self._first(self.link.writer, "column") + self.before.column(min(gate.writers))
        return self._first(self.link.reader, "column") + self.after.column(min(gate.readers))

    def _kept(self, gate: StageGate, writer: Key, piece: Piece) -> tuple[Access, Outside]:
        """A kernel's results as rows, and where in the layer's result they belong."""
        (first, end), offset = piece.columns, gate.window.offset(piece)
        tile = end - first, piece.high
        access = Access(gate.window.dimensions, tile, offset, piece.loop)
        return access, kept_of(self.before, writer, piece, self.copy)
