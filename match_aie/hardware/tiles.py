"""How a layer's tiles move, every number final: what emitted code and the simulator both read.

A `TileProgram` is the temporal loops outside the kernel, and for every operand where its tiles
lie in the inner memory and in which loops they are moved. `templates/common/tiles.mako` prints it
as the table that `ma_tiles.h` walks; `visits` walks it here. `match_aie.lowering.tiles` makes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from match_aie.hardware.mapping import Loop

#: Who moves an operand: this layer; the layer before it, while that runs; or nobody, since an
#: earlier layer left it in the inner memory (an output: a later one finds it there).
Moves = Literal["here", "ahead", "never"]


@dataclass(frozen=True)
class TileAxis:
    """An axis of an operand as it lies in the outer memory.

    Attributes:
        terms: (loop dimension, coefficient); none where the whole axis belongs to every tile.
        offset: index where all loops are 0; negative in padding.
        size: rows in memory.
        unit: elements of the axis that one row holds (16 channels of packed weights, say).
        stride: bytes from row to row.
    """

    terms: tuple[tuple[str, int], ...]
    offset: int
    size: int
    unit: int
    stride: int


@dataclass(frozen=True)
class TileOperand:
    """One operand's tiles in the inner memory.

    Attributes:
        name: the operand's.
        memory: where its tiles lie.
        cut: its tile is moved in every iteration of the first `cut` loops.
        copies: 2 where the next tile moves while this one is used.
        offset: of the first copy, in bytes; inner memories lie one after the other, whole.
        copy_bytes: from copy to copy, which a full-size tile fits.
        itemsize: bytes of an element, or of a row of a packed constant.
        nbytes: of the whole operand in the outer memory.
        axes: outermost first.
        moves: who moves it; whole and in one copy where that is not this layer.
    """

    name: str
    memory: str
    cut: int
    copies: int
    offset: int
    copy_bytes: int
    itemsize: int
    nbytes: int
    axes: tuple[TileAxis, ...]
    moves: Moves = "here"

    def region(self, ranges: Mapping[str, tuple[int, int]]) -> Region:
        """What the loop ranges (start, length) touch, clipped to the tensor."""
        starts, extents = [], []
        for axis in self.axes:
            if not axis.terms:
                starts.append(0)
                extents.append(axis.size)
                continue
            first = axis.offset + sum(c * ranges[dim][0] for dim, c in axis.terms)
            last = axis.offset + sum(c * (sum(ranges[dim]) - 1) for dim, c in axis.terms)
            first, last = max(first, 0), min(last, axis.size * axis.unit - 1)
            starts.append(first // axis.unit)
            extents.append(max(0, last // axis.unit - first // axis.unit + 1))
        return Region(self, tuple(starts), tuple(extents))


@dataclass(frozen=True)
class Region:
    """A box of an operand: first row and rows along every axis."""

    operand: TileOperand
    start: tuple[int, ...]
    extent: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that move."""
        return prod(self.extent) * self.operand.itemsize

    @property
    def inner_strides(self) -> tuple[int, ...]:
        """Bytes from row to row in the inner memory: of the dense tile, or of the whole tensor."""
        if self.operand.moves == "never":
            return tuple(axis.stride for axis in self.operand.axes)
        return tuple(
            self.operand.itemsize * prod(self.extent[axis + 1 :])
            for axis in range(len(self.extent))
        )

    @property
    def block(self) -> tuple[int, tuple[tuple[int, int, int], ...]]:
        """(contiguous bytes, levels innermost first) as the DMA moves it.

        A level is (repetitions, bytes between them outside, and inside). The same merging of
        contiguous axes as `ma_lay_out` in ma_tiles.h.
        """
        nbytes = self.operand.itemsize
        levels: list[tuple[int, int, int]] = []
        rows = zip(self.operand.axes, self.extent, self.inner_strides, strict=True)
        for axis, extent, inner in reversed(list(rows)):
            if extent == 1:
                continue
            if not levels and axis.stride == nbytes:
                nbytes *= extent
            elif levels and axis.stride == levels[-1][0] * levels[-1][1]:
                levels[-1] = (levels[-1][0] * extent, *levels[-1][1:])
            else:
                levels.append((extent, axis.stride, inner))
        return nbytes, tuple(levels)

    @property
    def lines(self) -> tuple[int, tuple[int, ...]]:
        """(contiguous bytes, repetitions per level innermost first) as the DMA moves it."""
        nbytes, levels = self.block
        return nbytes, tuple(count for count, _, _ in levels)


@dataclass(frozen=True)
class Span:
    """The part of an axis that loops leave: [first, last], and what the loops add.

    `terms` are (loop, coefficient): coefficient * (first index of the loop's iteration) moves
    both ends, and coefficient * (its length - 1) the last one.
    """

    first: int
    last: int
    terms: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Visit:
    """One call of the kernel.

    Attributes:
        turn: the outermost loop that moved on since the last call; -1 at the first.
        ranges: (start, length) of every loop dimension.
        loads: tiles of inputs that are new here.
        output: the output's tile.
        opens: whether that tile is new here.
        stores: whether the output's tile is complete after this call.
        first: whether what the kernel sees of the output is new: its sums begin here.
        last: whether its sums are complete after this call.
    """

    turn: int
    ranges: Mapping[str, tuple[int, int]]
    loads: tuple[Region, ...]
    output: Region
    opens: bool
    stores: bool
    first: bool = True
    last: bool = True


@dataclass(frozen=True)
class Sums:
    """Partial sums of the output's tile: dense, in the order of the tile, until the last part.

    Attributes:
        memory: where they lie.
        offset: of the first one, in bytes.
        nbytes: of all of them.
        itemsize: bytes of one.
        dims: reductions of which a call of the kernel does a part.
    """

    memory: str
    offset: int
    nbytes: int
    itemsize: int
    dims: tuple[str, ...]


@dataclass(frozen=True)
class TileProgram:
    """The loops of a layer outside its kernel, and its tiles.

    Attributes:
        sizes: of the loop dimensions.
        loops: outermost first.
        operands: in the workload's order, the output last.
        nbytes: (memory, bytes) taken of every inner memory.
        total: bytes from the first inner memory's begin to the end of what is taken.
        scratch: offset of what the kernel needs beside its tiles, in front of all of them.
        scratch_bytes: how much that is.
        linked: whether other layers have things in the inner memory while this one runs.
        beside: whether another layer runs at the same time; its calls are a list then.
        sums: partial sums; None where every call of the kernel sums up all there is.
        near: whether the list of its calls lies in the inner memory.
        follows: inputs that the layer beside it makes meanwhile, tile by tile.
    """

    sizes: tuple[tuple[str, int], ...]
    loops: tuple[Loop, ...]
    operands: tuple[TileOperand, ...]
    nbytes: tuple[tuple[str, int], ...]
    total: int
    scratch: int
    scratch_bytes: int
    linked: bool = False
    beside: bool = False
    sums: Sums | None = None
    near: bool = False
    follows: tuple[str, ...] = ()

    @property
    def ahead(self) -> tuple[Region, ...]:
        """What is loaded while the layer before runs."""
        whole = {dim: (0, size) for dim, size in self.sizes}
        return tuple(o.region(whole) for o in self.operands if o.moves == "ahead")

    @property
    def calls(self) -> int:
        """Calls of the kernel."""
        return sum(1 for _ in self.positions())

    def around(self, index: int) -> tuple[int, int]:
        """(the loop whose iterations loop `index` divides, or -1; size of its dimension)."""
        dim = self.loops[index].dim
        outer = [i for i in range(index) if self.loops[i].dim == dim]
        return (outer[-1] if outer else -1), dict(self.sizes)[dim]

    def span(self, axis: TileAxis, depth: int) -> Span:
        """What the first `depth` loops leave of an axis, before it is clipped to the tensor."""
        if not axis.terms:
            return Span(0, axis.size * axis.unit - 1, ())
        first, last, terms = axis.offset, axis.offset, []
        for dim, coefficient in axis.terms:
            loops = [i for i in range(depth) if self.loops[i].dim == dim]
            if loops:
                terms.append((loops[-1], coefficient))
            else:
                last += coefficient * (dict(self.sizes)[dim] - 1)
        return Span(first, last, tuple(terms))

    def moving(self, operand: TileOperand, depth: int) -> tuple[tuple[int, Span], ...]:
        """(axis, what is left of it) of the axes that the first `depth` loops divide."""
        spans = ((index, self.span(axis, depth)) for index, axis in enumerate(operand.axes))
        return tuple((index, span) for index, span in spans if span.terms)

    def parts(self, operand: TileOperand) -> tuple[tuple[int, Span], ...]:
        """As `moving` of all loops where the kernel works on less than the tile, else nothing."""
        return self.moving(operand, len(self.loops)) if self.in_parts(operand) else ()

    def usual(self, operand: TileOperand) -> Region:
        """The first of the operand's tiles that have its most frequent extents."""
        regions = [
            operand.region(self.ranges(at, operand.cut))
            for turn, at in self.positions()
            if turn < operand.cut
        ]
        extent, _ = Counter(region.extent for region in regions).most_common(1)[0]
        return next(region for region in regions if region.extent == extent)

    def undivided(self, operand: TileOperand) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(first row, padding before it) of every axis where no loop divides it."""
        whole = operand.region({dim: (0, size) for dim, size in self.sizes})
        return whole.start, tuple(max(0, -a.offset) if a.terms else 0 for a in operand.axes)

    def origin(self, operand: TileOperand) -> int:
        """Bytes to the tile's first element along the axes that its loops do not divide."""
        moving = {index for index, _ in self.moving(operand, operand.cut)}
        start, _ = self.undivided(operand)
        return sum(
            row * axis.stride
            for index, (row, axis) in enumerate(zip(start, operand.axes, strict=True))
            if index not in moving
        )

    def turns(self) -> tuple[tuple[int, int, int, int], ...]:
        """What changes at the begin, and when each loop moves on; a bit for each operand.

        (Inputs with two copies that are loaded, inputs with one, inputs of which the kernel sees
        something else, whether the output's tile is another one.)
        """
        *inputs, output = self.operands

        def mask(chosen: Iterable[bool]) -> int:
            return sum(1 << index for index, is_chosen in enumerate(chosen) if is_chosen)

        found = []
        for turn in range(-1, len(self.loops)):
            doubled = mask(turn < o.cut and o.copies == 2 for o in inputs)
            single = mask(turn < o.cut and o.copies == 1 and o.moves == "here" for o in inputs)
            seen = mask(turn < o.cut or self.in_parts(o) for o in inputs)
            found.append((doubled, single, seen, int(turn < output.cut)))
        return tuple(found)

    def in_parts(self, operand: TileOperand) -> bool:
        """Whether the kernel works on less than the operand's tile."""
        return any(
            self.span(axis, operand.cut) != self.span(axis, len(self.loops))
            for axis in operand.axes
        )

    def ranges(self, at: tuple[int, ...], depth: int) -> dict[str, tuple[int, int]]:
        """(start, length) of every dimension under the first `depth` loops."""
        found = {dim: (0, size) for dim, size in self.sizes}
        for loop, start in zip(self.loops[:depth], at, strict=False):
            end = sum(found[loop.dim])
            found[loop.dim] = (start, min(loop.step, end - start))
        return found

    def positions(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(outermost loop that moved on, first index of every loop) of every call, in order."""

        def inside(at: tuple[int, ...], turn: int) -> Iterator[tuple[int, tuple[int, ...]]]:
            if len(at) == len(self.loops):
                yield turn, at
                return
            loop = self.loops[len(at)]
            start, length = self.ranges(at, len(at))[loop.dim]
            for begin in range(start, start + length, loop.step):
                yield from inside((*at, begin), turn if begin == start else len(at))

        return inside((), -1)

    def ends(self, ranges: Mapping[str, tuple[int, int]]) -> tuple[bool, bool]:
        """Whether the sums over these ranges are the first part, and whether they are the last."""
        dims = self.sums.dims if self.sums is not None else ()
        sizes = dict(self.sizes)
        return (
            all(ranges[dim][0] == 0 for dim in dims),
            all(sum(ranges[dim]) == sizes[dim] for dim in dims),
        )

    def visits(self) -> Iterator[Visit]:
        """Every call of the kernel in order, with what moves before and after it."""
        positions = list(self.positions())
        *inputs, output = self.operands
        for index, (turn, at) in enumerate(positions):
            after = positions[index + 1][0] if index + 1 < len(positions) else -1
            loads = tuple(
                o.region(self.ranges(at, o.cut))
                for o in inputs
                if o.moves == "here" and (turn < o.cut or index == 0)
            )
            ranges = self.ranges(at, len(self.loops))
            yield Visit(
                turn,
                ranges,
                loads,
                output.region(self.ranges(at, output.cut)),
                turn < output.cut or index == 0,
                after < output.cut and output.moves == "here",
                *self.ends(ranges),
            )
