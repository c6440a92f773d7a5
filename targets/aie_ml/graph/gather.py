"""Results of many chains gathered in memory tiles, as few as have the channels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.devices import Device, Dma
from match_aie.targets.aie_ml.graph.plan import Connection, End, Shared
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES


@dataclass(frozen=True)
class Rectangle:
    """A rectangle of the results, and where it comes from.

    Attributes:
        source: what sends it.
        row: first part of the rows.
        column: first part of the columns.
        rows: parts of the rows.
        columns: parts of the columns.
        tile: of the order in which it arrives, as an `Access` has it; empty for row-major.
        order: likewise.
        place: column of the array that it comes from.
    """

    source: End
    row: int
    column: int
    rows: int
    columns: int
    tile: tuple[int, int, int] | tuple[()]
    order: tuple[tuple[int, int, int], ...]
    place: int


def channels_of(device: Device) -> Dma:
    """Of a memory tile; of a core where there is none."""
    mem = device.architecture.mem
    return device.architecture.core.dma if mem is None else mem.dma


def gather(
    parts: list[Rectangle],
    grid: tuple[int, int, int],
    part_rows: int,
    rows: int,
    most: int,
    dtype: str,
    *,
    first: int,
) -> tuple[list[Shared], list[Connection]]:
    """Memory tiles that take `parts`; the last one holds everything and is not yet read.

    Args:
        parts: by row and column.
        grid: columns of a part, parts of the columns, rows of everything.
        part_rows: from one part of the rows to the next.
        rows: that a part computes.
        most: channels into a memory tile.
        dtype: of the results.
        first: number of the first of these buffers among the graph's.
    """
    buffers: list[Shared] = []
    joined: list[Connection] = []
    left = sorted(parts, key=lambda p: (p.row, p.column))
    while True:
        last = len(left) <= most
        taken = left if last else _group(left, most)
        row, column = taken[0].row, taken[0].column
        high = max(p.row + p.rows for p in taken) - row
        wide = max(p.column + p.columns for p in taken) - column
        size = grid if last else (grid[0], wide, (high - 1) * part_rows + rows)
        origin = (0, 0, 0) if last else (0, column, row * part_rows)
        writes = []
        for part in taken:
            at = tuple(
                a - b for a, b in zip((0, part.column, part.row * part_rows), origin, strict=True)
            )
            whole = (grid[0], part.columns, (part.rows - 1) * part_rows + rows)
            writes.append(Access(size, part.tile or whole, at, part.order))
            end = End("shared", first + len(buffers), len(writes) - 1)
            joined.append(Connection(part.source, end))
        number = len(buffers)
        read = () if last else (Access(size, size, (0, 0, 0)),)
        place = taken[len(taken) // 2].place
        buffers.append(Shared(f"y{number}", dtype, size, tuple(writes), read, column=place))
        if last:
            return buffers, joined
        merged = Rectangle(End("shared", first + number), row, column, high, wide, (), (), place)
        left = sorted(
            [*(p for p in left if p not in taken), merged], key=lambda p: (p.row, p.column)
        )


def handed_on(buffers: list[Shared], joined: list[Connection], device: Device) -> float:
    """Cycles in which memory tiles hand on results until the last one has all: see `gather`.

    A buffer is handed on as a whole, once what it is made of is there: a descriptor begins, and
    words go through the switches of both tiles and of those between them, a word a cycle.
    Buffers are numbered from 0.
    """
    arch, until = device.architecture, [0.0] * len(buffers)
    for connection in joined:
        if connection.source.kind != "shared":
            continue
        source, taker = connection.source.of, connection.sink.of
        size = prod(buffers[source].dimensions) * BYTES[buffers[source].dtype]
        far = abs((buffers[source].column or 0) - (buffers[taker].column or 0))
        begun = until[source] + handing_begins(far, device)
        until[taker] = max(until[taker], begun + size / arch.shim_dma.bytes_per_cycle)
    return until[-1]


def handing_begins(far: int, device: Device) -> int:
    """Cycles until a first word is in another memory tile, `far` columns away.

    A descriptor begins, and the word goes through the switches of both tiles and between them.
    """
    return Assumed().descriptor + device.architecture.hop_cycles * (2 + far)


def _group(left: list[Rectangle], most: int) -> list[Rectangle]:
    """Neighbours that make a rectangle, no more than needed: of one row of parts, else of rows."""
    wanted = min(most, len(left) - most + 1)
    best: list[Rectangle] = []
    for start in range(len(left)):
        for end in range(min(start + wanted, len(left)), start + max(1, len(best)), -1):
            if _rectangle(left[start:end]):
                best = left[start:end]
                break
        if len(best) == wanted:
            break
    if not best:
        raise InternalError("results of a layer's chains cannot be gathered")
    return best


def _rectangle(parts: list[Rectangle]) -> bool:
    row, column = min(p.row for p in parts), min(p.column for p in parts)
    high = max(p.row + p.rows for p in parts) - row
    wide = max(p.column + p.columns for p in parts) - column
    return sum(p.rows * p.columns for p in parts) == high * wide
