"""A layer's tiles as the list that `ma_run_table` (ma_tiles.h) goes through: nothing to compute.

Worth its bytes where tiles are few; `TileProgram` with more of them is walked by loops instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from match_aie.hardware.tiles import Region, TileOperand, TileProgram, Visit

#: Layers of more calls are loops (`ma_run_tiles`): a list takes about 200 bytes a call.
MOST_CALLS = 32

#: Bytes of a list's head (`struct ma_table`) and of what a kernel is told of the layer, at most.
FIXED = 64

#: Axes of a view in C.
AXES = 4

Ints = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """What the kernel sees of an operand: place in L1; numbers of `Table.axes` by their index."""

    at: int
    extent: int
    stride: int
    start: int
    before: int


@dataclass(frozen=True)
class Move:
    """A transfer: places in L1 and in the operand, its block of `Table.blocks` by index."""

    l1: int
    l2: int
    operand: int
    block: int


@dataclass(frozen=True)
class Listed:
    """One call of the kernel.

    Attributes:
        views: of the operands, by index.
        loads: index of the first transfer it needs; None without any.
        doubled: of these, how many begin while the call before works.
        single: how many begin after it.
        opens: whether the output's tile is another one.
        copy: of the output's place.
        store: index of the transfer after it; None without.
    """

    views: Ints
    loads: int | None
    doubled: int
    single: int
    opens: bool
    copy: int
    store: int | None


@dataclass(frozen=True)
class Table:
    """All calls, and what they share.

    Attributes:
        axes: numbers per axis, `AXES` of them.
        blocks: (bytes, then counts, strides outside and inside, three each).
        views: what kernels see.
        moves: all transfers.
        ahead: transfers that the layer before starts.
        visits: the calls, in order.
    """

    axes: tuple[Ints, ...]
    blocks: tuple[Ints, ...]
    views: tuple[View, ...]
    moves: tuple[Move, ...]
    ahead: tuple[Move, ...]
    visits: tuple[Listed, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the table in C on a machine of 32 bits, but for its fixed part of 28."""
        seen = sum(4 * len(visit.views) for visit in self.visits)
        moves = 16 * (len(self.moves) + len(self.ahead))
        shared = 16 * len(self.axes) + 40 * len(self.blocks) + 20 * len(self.views)
        return seen + moves + shared + 16 * len(self.visits)


def is_listed(program: TileProgram) -> bool:
    """Whether emitted code has the calls as a list."""
    found = 0
    for found, _ in enumerate(program.positions(), start=1):
        if found > MOST_CALLS:
            break
    return found <= MOST_CALLS


def facts(program: TileProgram) -> tuple[Ints, ...]:
    """What the emulation looks at: (rank, item bytes, bytes in L2, place, found) of operands.

    What the layer beside it makes is not there yet when a layer is entered.
    """
    *inputs, _ = program.operands
    there = {o.name for o in inputs if o.moves != "here"} - set(program.follows)
    return tuple(
        (len(o.axes), o.itemsize, o.nbytes, o.offset, int(o.name in there))
        for o in program.operands
    )


def parts(program: TileProgram) -> tuple[tuple[int, int, int], ...]:
    """Where a kernel sees which part of the sums it does: (operand, axis, rows) per reduction."""
    dims = program.sums.dims if program.sums is not None else ()
    places = [
        (dim, index, at, axis.size)
        for dim in dims
        for index, operand in enumerate(program.operands)
        for at, axis in enumerate(operand.axes)
        if axis.terms == ((dim, 1),)
    ]
    return tuple(next(place[1:] for place in places if place[0] == dim) for dim in dims)


def ahead(program: TileProgram) -> tuple[tuple[Move, ...], tuple[Ints, ...]]:
    """(transfers that the layer before starts, their blocks)."""
    made = _Maker(program)
    return made.ahead(), made.blocks.rows


def table(program: TileProgram) -> Table:
    """The list of all calls of `program`."""
    made = _Maker(program)
    ahead_moves = made.ahead()
    visits = tuple(made.visit(visit) for visit in program.visits())
    return Table(
        made.axes.rows, made.blocks.rows, made.views.rows, tuple(made.moves), ahead_moves, visits
    )


class _Hashable(Protocol):
    def __hash__(self) -> int: ...


_Row = TypeVar("_Row", bound=_Hashable)


@dataclass
class _Pool(Generic[_Row]):
    """Rows, each kept once."""

    known: dict[_Row, int] = field(default_factory=dict)

    def index(self, row: _Row) -> int:
        return self.known.setdefault(row, len(self.known))

    @property
    def rows(self) -> tuple[_Row, ...]:
        return tuple(self.known)


class _Maker:
    """Follows the copies of every operand through the calls."""

    def __init__(self, program: TileProgram) -> None:
        self._program = program
        self.axes: _Pool[Ints] = _Pool()
        self.blocks: _Pool[Ints] = _Pool()
        self.views: _Pool[View] = _Pool()
        self.moves: list[Move] = []
        whole = {dim: (0, size) for dim, size in program.sizes}
        self._tile = {o.name: o.region(whole) for o in program.operands}
        self._copy = {o.name: o.copies - 1 for o in program.operands}

    def ahead(self) -> tuple[Move, ...]:
        """Transfers of operands that arrive before the layer starts."""
        return tuple(self._move(region) for region in self._program.ahead)

    def visit(self, visit: Visit) -> Listed:
        """One call, and what moves for it."""
        output = self._program.operands[-1]
        loads = [r for r in visit.loads if r.operand.copies == 2]
        doubled = sum(bool(region.nbytes) for region in loads)
        loads += [r for r in visit.loads if r.operand.copies == 1]
        for region in (*visit.loads, *([visit.output] if visit.opens else [])):
            name = region.operand.name
            self._tile[name] = region
            self._copy[name] = (self._copy[name] + 1) % region.operand.copies
        first = len(self.moves)
        self.moves += [self._move(region) for region in loads if region.nbytes]
        count = len(self.moves) - first
        views = tuple(self._view(operand, visit) for operand in self._program.operands)
        if visit.stores:
            self.moves.append(self._move(visit.output))
        return Listed(
            views,
            first if count else None,
            doubled,
            count - doubled,
            visit.opens,
            self._copy[output.name],
            len(self.moves) - 1 if visit.stores else None,
        )

    def _at(self, operand: TileOperand) -> int:
        return operand.offset + self._copy[operand.name] * operand.copy_bytes

    def _move(self, region: Region) -> Move:
        pairs = zip(region.start, region.operand.axes, strict=True)
        nbytes, levels = region.block
        padded = (*levels, *[(1, 0, 0)] * (3 - len(levels)))
        block = (nbytes, *(level[i] for i in range(3) for level in padded))
        return Move(
            self._at(region.operand),
            sum(row * axis.stride for row, axis in pairs),
            self._program.operands.index(region.operand),
            self.blocks.index(block),
        )

    def _view(self, operand: TileOperand, visit: Visit) -> int:
        tile, seen = self._tile[operand.name], operand.region(visit.ranges)
        steps = zip(seen.start, tile.start, tile.inner_strides, strict=True)
        before = tuple(
            max(0, -(axis.offset + sum(c * visit.ranges[dim][0] for dim, c in axis.terms)))
            if axis.terms
            else 0
            for axis in operand.axes
        )
        numbers = (seen.extent, tile.inner_strides, seen.start, before)
        rows = (self.axes.index((*row, *[0] * (AXES - len(row)))) for row in numbers)
        at = self._at(operand) + sum((row - first) * step for row, first, step in steps)
        return self.views.index(View(at, *rows))
