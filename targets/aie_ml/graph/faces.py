"""What stages of a pipeline store and read of the matrix between two of them, piece by piece.

A piece is what one kernel stores, or what a column of tiles reads, of a run: some rows of every
pass, and some columns. Dense layers store and read whole tiles of `mmul`, layers of rows read and
store rows as they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.row_stage import RowStage
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.turned_stage import TurnedStage, walk
from match_aie.targets.aie_ml.kernels.block import Access

#: Which piece: of a dense layer (part of the rows, part of the columns) of a chain that stores, and
#: (part of the rows, tile of a chain, slot) of tiles that read; of rows both parts.
Key = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """Rows and columns of a matrix.

    Attributes:
        first: row of the first pass.
        high: rows of a pass.
        period: rows from pass to pass.
        passes: of a run.
        columns: first and end.
    """

    first: int
    high: int
    period: int
    passes: int
    columns: tuple[int, int]

    @property
    def rows(self) -> set[int]:
        """Of all passes."""
        begins = range(self.first, self.first + self.passes * self.period, self.period)
        return {begin + at for begin in begins for at in range(self.high)}

    @property
    def loop(self) -> tuple[tuple[int, int, int], ...]:
        """A DMA's loop over passes."""
        return ((1, self.period, self.passes),) if self.passes > 1 else ()

    def meets(self, other: Piece) -> bool:
        """Whether the two have an element in common."""
        (first, end), (begin, last) = self.columns, other.columns
        if first >= last or begin >= end:
            return False
        if self.period == other.period:
            return self.first < other.first + other.high and other.first < self.first + self.high
        return not self.rows.isdisjoint(other.rows)


@dataclass(frozen=True)
class Window:
    """The part of a matrix that a buffer holds.

    Attributes:
        row: first one.
        column: first one.
        dimensions: columns and rows.
    """

    row: int
    column: int
    dimensions: tuple[int, int]

    def offset(self, piece: Piece) -> tuple[int, int]:
        """Where a piece begins."""
        return piece.columns[0] - self.column, piece.first - self.row


class Face(Protocol):
    """A stage as its neighbours see it."""

    @property
    def given(self) -> tuple[int, int]:
        """Rows of a run's result, and those that it computes."""

    @property
    def wanted(self) -> tuple[int, int]:
        """Rows of a run's operand, and those that it reads."""

    @property
    def copies(self) -> int:
        """Of the stage, side by side."""

    @property
    def stored(self) -> tuple[int, str]:
        """Elements of a row of the result, and their type."""

    @property
    def taken(self) -> tuple[int, str]:
        """Elements of a row of an operand, and their type."""

    @property
    def writers(self) -> dict[Key, Piece]:
        """What is stored."""

    @property
    def readers(self) -> dict[Key, Piece]:
        """What is read of an operand."""

    def write(self, piece: Piece, window: Window) -> Access:
        """How a piece that is stored lies in a buffer."""

    def read(self, piece: Piece, window: Window) -> Access:
        """How a piece that is read lies in a buffer."""

    def kernel(self, writer: Key) -> int:
        """Number of the kernel that stores a piece."""

    def sinks(self, reader: Key) -> list[int]:
        """Numbers of the kernels that read a piece."""

    def column(self, key: Key) -> int:
        """Of the kernel that stores a piece, or of those that read it."""

    @property
    def crosses(self) -> int:
        """Streams that leave it where a buffer lies among its readers."""


@dataclass(frozen=True)
class DenseFace:
    """A dense layer in passes."""

    timed: Timed

    @property
    def given(self) -> tuple[int, int]:
        """Rows of a run, and those that it computes."""
        m = self.timed.mapping
        return self.timed.rows, self.timed.passes * m.row_parts * m.call_rows

    @property
    def wanted(self) -> tuple[int, int]:
        """Likewise."""
        return self.given

    @property
    def copies(self) -> int:
        """Of the stage, side by side."""
        return self.timed.copies

    @property
    def stored(self) -> tuple[int, str]:
        """Elements of a row of the result, and their type."""
        return self.timed.mapping.layer.columns, self.timed.mapping.layer.out

    @property
    def taken(self) -> tuple[int, str]:
        """Elements of a row of x, and their type."""
        return self.timed.mapping.layer.reduction, self.timed.mapping.layer.a

    def _piece(self, row: int, first: int, wide: int) -> Piece:
        m = self.timed.mapping
        high = m.call_rows
        period = m.row_parts * high
        return Piece(row * high, high, period, self.timed.passes, (first, first + wide))

    @property
    def writers(self) -> dict[Key, Piece]:
        """A chain's part of the rows and of the columns."""
        m = self.timed.mapping
        return {
            (row, at): self._piece(row, at * m.call_columns, m.call_columns)
            for row in range(m.row_parts)
            for at in range(m.column_parts)
        }

    @property
    def readers(self) -> dict[Key, Piece]:
        """A part of the rows and of the reduction, for each slot with chains of these rows."""
        m, wide = self.timed.mapping, self.timed.mapping.part_reduction
        keys = {
            (row, at, slot.number)
            for slot in self.timed.slots
            for row, _ in slot.parts
            for at in range(m.cas_length)
        }
        return {key: self._piece(key[0], key[1] * wide, wide) for key in sorted(keys)}

    def write(self, piece: Piece, window: Window) -> Access:
        """Calls of a chain, [M/m][N/n][m][n] each."""
        m, tile = self.timed.mapping, self.timed.mapping.tiling
        loops = (0, tile.n, m.call_columns // tile.n), (1, tile.m, m.call_rows // tile.m)
        way = (*loops, *piece.loop)
        return Access(window.dimensions, (tile.n, tile.m), window.offset(piece), way)

    def read(self, piece: Piece, window: Window) -> Access:
        """Calls of a column of tiles, [M/m][K/k][m][k] each, zeros beyond the buffer's columns."""
        m, tile = self.timed.mapping, self.timed.mapping.tiling
        loops = (0, tile.k, m.part_reduction // tile.k), (1, tile.m, m.call_rows // tile.m)
        beyond = piece.columns[1] > window.column + window.dimensions[0]
        return Access(
            window.dimensions,
            (tile.k, tile.m),
            window.offset(piece),
            (*loops, *piece.loop),
            window.dimensions if beyond else (),
        )

    def kernel(self, writer: Key) -> int:
        """The last of a chain."""
        row, column = writer
        return (self.timed.chain(row, column) + 1) * self.timed.mapping.cas_length - 1

    def sinks(self, reader: Key) -> list[int]:
        """A column of tiles that has a part of the rows."""
        row, at, slot = reader
        t = self.timed
        parts = (part for part in t.slots[slot].parts if part[0] == row)
        return [t.chain(*part) * t.mapping.cas_length + at for part in parts]

    def column(self, key: Key) -> int:
        """Of a chain's last tile, or of a column of tiles."""
        length = self.timed.mapping.cas_length
        if len(key) == 2:
            row, column = key
            return self.timed.floor.place(self.timed.chain(row, column), length - 1)[0]
        _, at, slot = key
        return slot * length + at

    @property
    def crosses(self) -> int:
        """Of a copy: a stream for each chain."""
        return self.timed.mapping.chains


@dataclass(frozen=True)
class RowFace:
    """A layer of rows."""

    stage: RowStage

    @property
    def given(self) -> tuple[int, int]:
        """Rows of a run, and those that it computes."""
        return self.stage.rows, self.stage.padded

    @property
    def wanted(self) -> tuple[int, int]:
        """Likewise."""
        return self.stage.rows, self.stage.padded

    #: There is one.
    copies = 1

    @property
    def stored(self) -> tuple[int, str]:
        """Elements of a row of the result, and their type."""
        return self.stage.wide, self.stage.types[1]

    @property
    def taken(self) -> tuple[int, str]:
        """Elements of a row of an operand, and their type."""
        return self.stage.wide, self.stage.types[0]

    @property
    def writers(self) -> dict[Key, Piece]:
        """Those of tiles."""
        s = self.stage
        high, wide = s.call_rows, s.part_columns
        return {
            (row, at): Piece(
                row * high, high, s.row_parts * high, s.passes, (at * wide, (at + 1) * wide)
            )
            for row in range(s.row_parts)
            for at in range(s.column_parts)
        }

    @property
    def readers(self) -> dict[Key, Piece]:
        """What a tile reads is where it stores."""
        return self.writers

    def write(self, piece: Piece, window: Window) -> Access:
        """Rows as they lie."""
        (first, end), high = piece.columns, piece.high
        return Access(window.dimensions, (end - first, high), window.offset(piece), piece.loop)

    def read(self, piece: Piece, window: Window) -> Access:
        """Likewise."""
        return self.write(piece, window)

    def kernel(self, writer: Key) -> int:
        """A tile."""
        row, at = writer
        return row * self.stage.column_parts + at

    def sinks(self, reader: Key) -> list[int]:
        """The same tile."""
        return [self.kernel(reader)]

    def column(self, key: Key) -> int:
        """Of a tile."""
        return self.stage.place(self.kernel(key))[0]

    @property
    def crosses(self) -> int:
        """A stream for each tile."""
        return self.stage.tiles


@dataclass(frozen=True)
class TurnedFace(RowFace):
    """A transpose: rows that it stores are columns that it reads."""

    stage: TurnedStage

    @property
    def given(self) -> tuple[int, int]:
        """Columns of the operand, and those that it reads."""
        return self.stage.wide, self.stage.turned

    @property
    def stored(self) -> tuple[int, str]:
        """Rows of the operand, and the type of elements."""
        return self.stage.rows, self.stage.types[1]

    @property
    def writers(self) -> dict[Key, Piece]:
        """What tiles read, turned."""
        s = self.stage
        return {
            key: Piece(p.columns[0], s.part_columns, s.turned, 1, (p.first, p.first + p.high))
            for key, p in self.readers.items()
        }

    @property
    def readers(self) -> dict[Key, Piece]:
        """Parts of the rows and of the columns; calls of a tile follow each other."""
        s = self.stage
        high, wide = s.part_rows, s.part_columns
        return {
            (row, at): Piece(row * high, high, s.padded, 1, (at * wide, (at + 1) * wide))
            for row in range(s.row_parts)
            for at in range(s.column_parts)
        }

    def write(self, piece: Piece, window: Window) -> Access:
        """Tile of elements by tile, each turned."""
        return walk(window.dimensions, window.offset(piece), self.stage, out=True)

    def read(self, piece: Piece, window: Window) -> Access:
        """In the same order, zeros beyond the buffer's columns."""
        beyond = piece.columns[1] > window.column + window.dimensions[0]
        boundary = window.dimensions if beyond else ()
        offset = window.offset(piece)
        return walk(window.dimensions, offset, self.stage, out=False, boundary=boundary)


@dataclass(frozen=True)
class AttentionFace(RowFace):
    """Attention: what a tile reads of queries is where it stores; keys have ways of their own."""

    stage: AttentionStage

    def write(self, piece: Piece, window: Window) -> Access:
        """Head by head, tile of elements by tile."""
        return self.stage.walk(window.dimensions, window.offset(piece))

    def kernel(self, writer: Key) -> int:
        """A tile."""
        return self.stage.number(*writer)


def face_of(stage: Timed | RowStage) -> Face:
    """A stage as its neighbours see it."""
    if isinstance(stage, TurnedStage):
        return TurnedFace(stage)
    if isinstance(stage, AttentionStage):
        return AttentionFace(stage)
    return RowFace(stage) if isinstance(stage, RowStage) else DenseFace(stage)


def across(before: Face, after: Face) -> bool:
    """Whether buffers lie better among those that write: more streams would cross else."""
    many = after.timed.floor.copies[0] if isinstance(after, DenseFace) else after.crosses
    return before.crosses > many
