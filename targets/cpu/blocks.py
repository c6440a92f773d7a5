"""A mapping's loops around the kernel, as C text: who visits which range of which dimension."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.hardware import Mapping
from match_aie.targets.cpu.cores import BEGIN, END, Split
from match_aie.workload import Workload


@dataclass(frozen=True)
class BlockLoop:
    """One loop over tiles.

    Attributes:
        dim: loop dimension.
        variable: where the tile starts; `<variable>_end` is where it ends.
        start: C expression of the first value.
        end: C expression of what it stays below.
        step: elements that a tile covers, but for the last one.
        exact: whether every tile has `step` elements, so that the end needs no test.
    """

    dim: str
    variable: str
    start: str
    end: str
    step: int
    exact: bool


@dataclass(frozen=True)
class Range:
    """What a tile covers of a dimension: C expressions from `start` to below `end`.

    `least` and `most` are elements of the smallest and the largest tile.
    """

    start: str
    end: str
    least: int
    most: int

    @property
    def length(self) -> str:
        """C expression of the number of elements."""
        if self.least == self.most:
            return str(self.most)
        return self.end if self.start == "0" else f"({self.end} - {self.start})"

    @property
    def fixed(self) -> int | None:
        """Elements, where all tiles have as many."""
        return self.most if self.least == self.most else None


@dataclass(frozen=True)
class Blocks:
    """The loops over tiles, outermost first, and the ranges inside them.

    Attributes:
        loops: in the order of the mapping.
        ranges: one for every number of open loops, from none to all: ranges by dimension.
    """

    loops: tuple[BlockLoop, ...]
    ranges: tuple[tuple[tuple[str, Range], ...], ...]

    def inside(self, index: int, dim: str) -> Range:
        """The range of `dim` inside the first `index` loops; one element where it is unknown."""
        return dict(self.ranges[index]).get(dim, Range("0", "1", 1, 1))


def blocks(
    workload: Workload, mapping: Mapping, whole: tuple[str, ...] = (), split: Split | None = None
) -> Blocks:
    """The loops of `mapping` outside the kernel, those that run once left out.

    Loops along `whole` are left out too: the kernel does these dimensions at once. Of `split` they
    cover one part.

    Args:
        workload: the layer.
        mapping: of it.
        whole: dimensions that the kernel does at once.
        split: of the layer over cores.
    """
    now = {dim: Range("0", str(size), size, size) for dim, size in workload.dims}
    sizes = {dim: frozenset({size}) for dim, size in workload.dims}
    if split is not None:
        sizes[split.dim] = split.sizes
        now[split.dim] = Range(BEGIN, END, min(split.sizes), split.most)
    loops: list[BlockLoop] = []
    ranges = [tuple(now.items())]
    for loop in mapping.temporal[: mapping.kernel]:
        outer = now[loop.dim]
        if loop.step < outer.most and loop.dim not in whole:
            variable = f"{loop.dim.lower()}{sum(1 for made in loops if made.dim == loop.dim)}"
            exact = all(size % loop.step == 0 for size in sizes[loop.dim])
            loops.append(BlockLoop(loop.dim, variable, outer.start, outer.end, loop.step, exact))
            lasts = frozenset(size % loop.step or loop.step for size in sizes[loop.dim])
            sizes[loop.dim] = lasts | {loop.step}
            end = f"({variable} + {loop.step})" if exact else f"{variable}_end"
            now[loop.dim] = Range(variable, end, min(lasts), loop.step)
        else:
            # It runs once: nothing to write, but cuts count it.
            loops.append(BlockLoop(loop.dim, "", outer.start, outer.end, loop.step, True))
        ranges.append(tuple(now.items()))
    return Blocks(tuple(loops), tuple(ranges))
