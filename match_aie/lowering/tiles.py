"""How a layer's tiles move: a mapping made final, for the emitted code and the simulator alike.

A `TileProgram` is the temporal loops outside the kernel, and for every operand where its tiles
lie in the inner memory and in which loops they are moved. `templates/common/tiles.mako` prints it
as the table that `ma_tiles.h` walks; `visits` walks it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import ExecModule, Loop, Memory
from match_aie.hardware import Mapping as LoopMapping
from match_aie.workload import ITEMSIZE, Operand, Workload

#: What `ma_tiles.h` has room for.
MAX_LOOPS, MAX_OPERANDS, MAX_AXES, MAX_TERMS = 12, 8, 4, 2

#: Copies of tiles start at multiples of this many bytes.
ALIGNMENT = 16


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
    def lines(self) -> tuple[int, tuple[int, ...]]:
        """(contiguous bytes, repetitions per level innermost first) as the DMA moves it.

        The same merging of contiguous axes as `ma_lines` in ma_tiles.h.
        """
        nbytes = self.operand.itemsize
        counts: list[int] = []
        strides: list[int] = []
        for axis, extent in zip(reversed(self.operand.axes), reversed(self.extent), strict=True):
            if extent == 1:
                continue
            if not counts and axis.stride == nbytes:
                nbytes *= extent
            elif counts and axis.stride == strides[-1] * counts[-1]:
                counts[-1] *= extent
            else:
                counts.append(extent)
                strides.append(axis.stride)
        return nbytes, tuple(counts)


@dataclass(frozen=True)
class Visit:
    """One call of the kernel.

    Attributes:
        turn: the outermost loop that moved on since the last call; -1 at the first.
        ranges: (start, length) of every loop dimension.
        loads: tiles of inputs that are new here.
        output: the output's tile, where it is new here.
        stores: whether the output's tile is complete after this call.
    """

    turn: int
    ranges: Mapping[str, tuple[int, int]]
    loads: tuple[Region, ...]
    output: Region
    stores: bool


@dataclass(frozen=True)
class TileProgram:
    """The loops of a layer outside its kernel, and its tiles.

    Attributes:
        sizes: of the loop dimensions.
        loops: outermost first.
        operands: in the workload's order, the output last.
        nbytes: (memory, bytes) taken of every inner memory.
        total: bytes from the first inner memory's begin to the end of what is taken.
        scratch: offset, in the first inner memory, of what the kernel needs beside its tiles.
        scratch_bytes: how much that is.
    """

    sizes: tuple[tuple[str, int], ...]
    loops: tuple[Loop, ...]
    operands: tuple[TileOperand, ...]
    nbytes: tuple[tuple[str, int], ...]
    total: int
    scratch: int
    scratch_bytes: int

    @property
    def calls(self) -> int:
        """Calls of the kernel."""
        return sum(1 for _ in self.positions())

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

    def visits(self) -> Iterator[Visit]:
        """Every call of the kernel in order, with what moves before and after it."""
        positions = list(self.positions())
        *inputs, output = self.operands
        for index, (turn, at) in enumerate(positions):
            after = positions[index + 1][0] if index + 1 < len(positions) else -1
            loads = tuple(
                o.region(self.ranges(at, o.cut)) for o in inputs if turn < o.cut or index == 0
            )
            yield Visit(
                turn,
                self.ranges(at, len(self.loops)),
                loads,
                output.region(self.ranges(at, output.cut)),
                after < output.cut,
            )


def tile_program(
    workload: Workload,
    module: ExecModule,
    mapping: LoopMapping,
    packed: Mapping[str, np.ndarray],
) -> TileProgram | None:
    """The tiles of `mapping`; None for a module with a single memory.

    Args:
        workload: the layer.
        module: that runs it.
        mapping: how.
        packed: constants as the emitted code reads them. One whose shape is not the operand's is
            a list of rows along the operand's first axis, and its tiles are whole rows.

    Raises:
        TargetError: something that no lowering exists for: tiles in two inner memories, partial
            sums that leave the kernel, or more loops or operands than `ma_tiles.h` has room for.
        InternalError: the tiles do not fit, which the search should have seen.
    """
    if len(module.memories) < 2:
        return None
    loops = mapping.temporal[: mapping.kernel]
    _check(workload, module, mapping)
    bases = _bases(module)
    tops = dict(bases)
    operands = []
    for operand in workload.operands:
        memory = next(m for m in module.memories if m.serves(operand.name))
        cut = mapping.cut(operand.name, memory.name)
        shaped = _operand(operand, memory, cut, packed.get(operand.name))
        largest = _largest(shaped, mapping.extents(cut, workload.dims))
        copies = 2 if cut and memory.doubles(operand.name) else 1
        nbytes = -(-largest // ALIGNMENT) * ALIGNMENT
        shaped = _placed(shaped, copies, tops[memory.name], nbytes)
        tops[memory.name] += copies * nbytes
        operands.append(shaped)
    scratch_bytes = _scratch(workload, module, mapping)
    scratch = tops[module.memories[0].name]
    tops[module.memories[0].name] += scratch_bytes
    taken = tuple((name, top - bases[name]) for name, top in tops.items())
    total = max(top for name, top in tops.items() if top > bases[name])
    program = TileProgram(
        workload.dims, loops, tuple(operands), taken, total, scratch, scratch_bytes
    )
    _fits(module, program)
    return program


def _bases(module: ExecModule) -> dict[str, int]:
    """Where each inner memory begins: after all bytes of the ones before it."""
    found: dict[str, int] = {}
    top = 0
    for memory in module.memories[:-1]:
        found[memory.name] = top
        top += memory.bytes or 0
    return found


def _check(workload: Workload, module: ExecModule, mapping: LoopMapping) -> None:
    for operand in workload.operands:
        if sum(m.serves(operand.name) for m in module.memories) > 2:
            raise TargetError(
                f"module {module.name}: {operand.name} has tiles in more than one inner memory, "
                "which no lowering exists for"
            )
        if len(operand.axes) > MAX_AXES or any(len(a.terms) > MAX_TERMS for a in operand.axes):
            raise TargetError(f"module {module.name}: {operand.name} has too many axes to tile")
    kernel = mapping.extents(mapping.kernel, workload.dims)
    parts = [dim for dim in workload.reductions if kernel[dim] < workload.sizes[dim]]
    if parts:
        raise TargetError(
            f"module {module.name}: the kernel sums a part of {', '.join(parts)}, and no lowering "
            "for partial sums exists"
        )
    if mapping.kernel > MAX_LOOPS or len(workload.operands) > MAX_OPERANDS:
        raise TargetError(f"module {module.name}: too many loops or operands to lower")


def _operand(operand: Operand, memory: Memory, cut: int, packed: np.ndarray | None) -> TileOperand:
    """The operand as it lies in the outer memory, not yet placed."""
    if packed is not None and packed.shape != operand.shape:
        rows = packed.shape[0]
        stride = packed.nbytes // rows
        first = operand.axes[0]
        unit = -(-operand.shape[0] // rows) if first.terms else 1
        axes: tuple[TileAxis, ...] = (TileAxis(first.terms, first.offset, rows, unit, stride),)
        return TileOperand(operand.name, memory.name, cut, 1, 0, 0, stride, packed.nbytes, axes)
    itemsize = ITEMSIZE[operand.dtype]
    stride = itemsize
    found = []
    for axis, size in zip(reversed(operand.axes), reversed(operand.shape), strict=True):
        found.append(TileAxis(axis.terms, axis.offset, size, 1, stride))
        stride *= size
    return TileOperand(
        operand.name, memory.name, cut, 1, 0, 0, itemsize, operand.nbytes, tuple(reversed(found))
    )


def _largest(shaped: TileOperand, tile: Mapping[str, int]) -> int:
    """Bytes of a full-size tile anywhere in the tensor: no clipping but to its whole extent."""
    total = shaped.itemsize
    for axis in shaped.axes:
        if not axis.terms:
            total *= axis.size
            continue
        span = 1 + sum(c * (tile[dim] - 1) for dim, c in axis.terms)
        # A tile of a packed constant starts on a row only where the mapping keeps to its unit.
        rows = -(-span // axis.unit)
        total *= min(rows, axis.size)
    return total


def _placed(operand: TileOperand, copies: int, offset: int, nbytes: int) -> TileOperand:
    return replace(operand, copies=copies, offset=offset, copy_bytes=nbytes)


def _scratch(workload: Workload, module: ExecModule, mapping: LoopMapping) -> int:
    kernel = {
        dim: np.asarray(size)
        for dim, size in mapping.extents(mapping.kernel, workload.dims).items()
    }
    nbytes = int(module.reserved_bytes(workload, module.memories[0], kernel))
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _fits(module: ExecModule, program: TileProgram) -> None:
    for operand in program.operands:
        for axis in operand.axes:
            steps = {loop.step for loop in program.loops if loop.dim in dict(axis.terms)}
            if axis.unit > 1 and any(step % axis.unit for step in steps):
                raise InternalError(
                    f"module {module.name}: tiles of {sorted(steps)} cut rows of {axis.unit} of "
                    f"the packed {operand.name}"
                )
    bounds = {memory.name: memory.bytes for memory in module.memories}
    for name, nbytes in program.nbytes:
        bound = bounds[name]
        reserved = next(m.reserved for m in module.memories if m.name == name)
        if bound is not None and nbytes + reserved > bound:
            raise InternalError(
                f"module {module.name}: tiles take {nbytes} bytes of {name}, which has {bound}"
            )
