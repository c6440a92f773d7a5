"""An independent check of a mapping: coverage, capacity, dependence.

Shares nothing with the search but the types: it runs the loops of each dimension and looks at the
index sets that tiles touch. Whatever passes can be executed as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from match_aie.hardware import ExecModule, Loop, Mapping, Memory, Packed, Tiled, facet
from match_aie.workload import ITEMSIZE, ROW_KINDS, Axis, Operand, Workload

#: Start and length of a range of a loop dimension.
Range = tuple[int, int]


@dataclass(frozen=True)
class Violation:
    """Something a mapping may not do.

    Attributes:
        kind: what rule it breaks.
        text: where, in a sentence.
    """

    kind: Literal["nest", "coverage", "capacity", "blocks", "legality", "dependence"]
    text: str


def check(workload: Workload, module: ExecModule, mapping: Mapping) -> tuple[Violation, ...]:
    """Everything that is wrong with a mapping; nothing if it is valid.

    Coverage: every index of every dimension is visited exactly once. Capacity: the tiles of all
    operands, doubled where two are there at a time, and what is reserved fit into every memory.
    Blocks: tiles of packed constants begin where one of their blocks does.
    Legality: the hardware can do every call of the kernel.
    Dependence: a partial sum is made only where the kernel can, and leaves a memory only where
    the module stores partial sums.
    """
    checker = _Checker(workload, module, mapping)
    wrong = checker.nest()
    if wrong:
        return wrong
    return (
        *checker.coverage(),
        *checker.capacity(),
        *checker.blocks(),
        *checker.legality(),
        *checker.dependence(),
    )


def ranges(loops: Sequence[Loop], size: int) -> Iterator[Range]:
    """The ranges of one dimension that a nest of its loops visits, in order."""
    if not loops:
        yield 0, size
        return
    for start, length in ranges(loops[:-1], size):
        for first in range(0, length, loops[-1].step):
            yield start + first, min(loops[-1].step, length - first)


class _Checker:
    def __init__(self, workload: Workload, module: ExecModule, mapping: Mapping) -> None:
        self._workload = workload
        self._module = module
        self._mapping = mapping
        self._sizes = dict(workload.dims)
        layouts = facet(module, Packed).layouts(workload)
        self._packings = {
            o.name: layouts[o.name].on(o) for o in workload.operands if o.name in layouts
        }
        output = {dim for axis in workload.output.axes for dim, _ in axis.terms}
        self._reductions = set(self._sizes) - output
        self._has_sums = any("sums" in (m.operands or ()) for m in module.memories[:-1])

    def _way(self, operand: Operand) -> list[Memory]:
        return [m for m in self._module.memories if m.serves(operand.name)]

    def _loops(self, dim: str, cut: int) -> list[Loop]:
        return [loop for loop in self._mapping.temporal[:cut] if loop.dim == dim]

    def _cut(self, operand: Operand, memory: Memory) -> int:
        return next(
            cut.index
            for cut in self._mapping.cuts
            if (cut.operand, cut.memory) == (operand.name, memory.name)
        )

    # ------------------------------------------------------------ the nest itself

    def nest(self) -> tuple[Violation, ...]:
        """Loops that do not fit each other, and cuts that are missing or in the wrong order."""
        loops = (*self._mapping.spatial, *self._mapping.temporal)
        found = [f"{loop}: no such dimension" for loop in loops if loop.dim not in self._sizes]
        found += [text for dim in self._sizes for text in self._steps(dim)]
        known = {(o.name, m.name) for o in self._workload.operands for m in self._way(o)[:-1]}
        placed = [(cut.operand, cut.memory) for cut in self._mapping.cuts]
        if set(placed) != known or len(placed) != len(known):
            found.append(f"cuts for {sorted(placed)}, want {sorted(known)}")
            return tuple(Violation("nest", text) for text in found)
        for operand in self._workload.operands:
            cuts = [self._cut(operand, memory) for memory in self._way(operand)[:-1]]
            if cuts != sorted(cuts, reverse=True):
                found.append(f"{operand.name}: a tile outside lies inside one, cuts {cuts}")
        return tuple(Violation("nest", text) for text in found)

    def _steps(self, dim: str) -> Iterator[str]:
        around = size = self._sizes[dim]
        for at, loop in enumerate(self._mapping.temporal):
            if loop.dim != dim:
                continue
            if loop.size != -(-around // loop.step):
                yield f"{loop} runs over {around}"
            kernel = at >= self._mapping.kernel
            if not kernel and around % loop.step and around != size:
                yield f"{loop}: remainders inside tiles of {around}"
            around = loop.step

    # ------------------------------------------------------------ coverage

    def coverage(self) -> Iterator[Violation]:
        """Dimensions of which some index is not visited exactly once."""
        for dim, size in self._sizes.items():
            lanes = 1
            for loop in self._mapping.spatial:
                lanes *= loop.size if loop.dim == dim else 1
            begun = list(ranges(self._loops(dim, len(self._mapping.temporal)), size))
            first = np.array([start for start, _ in begun], int)
            last = first + np.array([min(lanes, length) for _, length in begun], int)
            visits = np.bincount(first, minlength=size + 1) - np.bincount(last, minlength=size + 1)
            visits = np.cumsum(visits)[:size]
            if np.any(visits != 1):
                where = int(np.argmax(visits != 1))
                yield Violation("coverage", f"{dim} = {where} is visited {visits[where]} times")

    # ------------------------------------------------------------ capacity

    def capacity(self) -> Iterator[Violation]:
        """Memories that do not hold what is in them."""
        kernel = {
            dim: np.asarray(max(n for _, n in ranges(self._loops(dim, self._mapping.kernel), size)))
            for dim, size in self._sizes.items()
        }
        for memory in self._module.memories[:-1]:
            if memory.bytes is None:
                continue
            own = facet(self._module, Tiled).reserved_bytes(self._workload, memory, kernel)
            used = memory.reserved + int(own)
            for operand in self._workload.operands:
                if memory in self._way(operand)[:-1]:
                    used += self._resident(operand, memory)
            used += self._sums(memory)
            if used > memory.bytes:
                yield Violation("capacity", f"{memory.name}: {used} bytes of {memory.bytes}")

    def _sums(self, memory: Memory) -> int:
        """Partial sums of the output's innermost tile, in the memory that says it has them."""
        output = self._workload.output
        if "sums" not in (memory.operands or ()) or not self._unfinished(self._mapping.kernel):
            return 0
        cut, elements = self._cut(output, self._way(output)[0]), 1
        packing = self._packings.get(output.name)
        for at, (axis, size) in enumerate(zip(output.axes, output.shape, strict=True)):
            block = 1 if packing is None else packing.block(at)
            elements *= -(-self._longest(axis, size, cut) // block) * block
        width = max(4, ITEMSIZE[output.dtype])
        return -(-elements * width // memory.alignment) * memory.alignment

    def _resident(self, operand: Operand, memory: Memory) -> int:
        cut = self._cut(operand, memory)
        elements = 1
        for axis, size in zip(operand.axes, operand.shape, strict=True):
            elements *= self._longest(axis, size, cut)
        width = ITEMSIZE[operand.dtype]
        packing = self._packings.get(operand.name)
        if packing is not None:
            elements, width = 1, packing.cell_bytes(operand)
            for at, block in packing.blocks:
                axis, size = operand.axes[at], operand.shape[at]
                elements *= -(-self._longest(axis, size, cut) // block)
        if operand is self._workload.output and self._unfinished(self._inward(operand, memory)):
            if not self._has_sums or memory != self._way(operand)[0]:
                width *= max(4, ITEMSIZE[operand.dtype]) // ITEMSIZE[operand.dtype]
        nbytes = -(-elements * width // memory.alignment) * memory.alignment
        several = any(self._split(dim, cut) for dim in self._sizes)
        return nbytes * (2 if several and memory.doubles(operand.name) else 1)

    def _longest(self, axis: Axis, size: int, cut: int) -> int:
        """Most elements between the first and last index that a tile touches along an axis."""
        if not axis.terms:
            return size
        most = 1
        dims = [dim for dim, _ in axis.terms]
        spans = [set(ranges(self._loops(dim, cut), self._sizes[dim])) for dim in dims]
        for tile in product(*spans):
            low = high = axis.offset
            for (start, length), (_, coefficient) in zip(tile, axis.terms, strict=True):
                low += coefficient * start
                high += coefficient * (start + length - 1)
            if not facet(self._module, Tiled).padded_tiles:
                low, high = max(low, 0), min(high, size - 1)
            most = max(most, high - low + 1)
        return most

    def _split(self, dim: str, cut: int) -> bool:
        """Whether a tile cut there holds less than a whole dimension."""
        return next(iter(ranges(self._loops(dim, cut), self._sizes[dim])))[1] < self._sizes[dim]

    # ------------------------------------------------------------ blocks

    def blocks(self) -> Iterator[Violation]:
        """Tiles that begin within a block of an operand."""
        for name, packing in self._packings.items():
            for at, block in packing.blocks:
                for dim, coefficient in self._workload.operand(name).axes[at].terms:
                    loops = self._loops(dim, self._mapping.kernel)
                    starts = {start for start, _ in ranges(loops, self._sizes[dim])}
                    if any(start * coefficient % block for start in starts):
                        text = f"tiles of {dim} cut blocks of {block} of {name}"
                        yield Violation("blocks", text)

    # ------------------------------------------------------------ legality

    def legality(self) -> Iterator[Violation]:
        """Calls of the kernel that the module says it cannot do."""
        lengths = [
            sorted({n for _, n in ranges(self._loops(dim, self._mapping.kernel), size)})
            for dim, size in self._sizes.items()
        ]
        for call in product(*lengths):
            tile = {dim: np.asarray(n) for dim, n in zip(self._sizes, call, strict=True)}
            if len(self._module.memories) > 1 and not np.all(
                facet(self._module, Tiled).constrain(self._workload, tile)
            ):
                shown = ", ".join(f"{n} of {dim}" for dim, n in tile.items())
                yield Violation("legality", f"the kernel cannot do {shown}")

    # ------------------------------------------------------------ dependence

    def _unfinished(self, cut: int) -> bool:
        """Whether what is inside a cut does a part of a reduction only."""
        return any(self._split(dim, cut) for dim in self._reductions)

    def _inward(self, operand: Operand, memory: Memory) -> int:
        """Cut of what writes into a memory: the tile one memory inward, or the kernel."""
        at = self._way(operand).index(memory)
        return self._cut(operand, self._way(operand)[at - 1]) if at else self._mapping.kernel

    def dependence(self) -> Iterator[Violation]:
        """Partial sums where there may be none."""
        output, able = (
            self._workload.output,
            facet(self._module, Tiled).tiled_reductions(self._workload),
        )
        whole = self._reductions - set(able)
        whole |= {"K"} if self._workload.kind in ROW_KINDS else set()
        for dim in sorted(whole):
            if self._split(dim, self._mapping.kernel):
                yield Violation("dependence", f"the kernel gets a part of {dim} and needs it whole")
        stored = facet(self._module, Tiled).stores_partial_sums(self._workload)
        for memory in self._way(output)[:-1]:
            if self._unfinished(self._cut(output, memory)) and not stored:
                yield Violation("dependence", f"{memory.name}: partial sums leave")
