"""A mapping: how a workload's loops run on a module, in space and in time, and where tiles lie.

`docs/mapping.md` defines the space of mappings and how remainder tiles nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from match_aie.errors import ProjectError


@dataclass(frozen=True)
class Loop:
    """A loop over what the enclosing loops of `dim` leave, [a, b): it visits a, a + step, ...

    An iteration covers [i, min(i + step, b)): the last one is the remainder.

    Attributes:
        dim: the loop dimension.
        size: iterations over a whole (not a remainder) range.
        step: elements of `dim` that an iteration covers; 1 for a spatial loop.
    """

    dim: str
    size: int
    step: int = 1

    def __post_init__(self) -> None:
        """Refuse loops that do not run."""
        if self.size < 1 or self.step < 1:
            raise ValueError(f"{self}: size and step start at 1")


@dataclass(frozen=True)
class Cut:
    """Where the tile of an operand in a memory is made.

    Attributes:
        operand: its name.
        memory: name of the memory that holds the tile.
        index: into the temporal loops: `temporal[index:]` run over one tile, and the tile is
            moved once in every iteration of `temporal[:index]`.
    """

    operand: str
    memory: str
    index: int


@dataclass(frozen=True)
class Mapping:
    """Spatial loops (unrolled by hardware) and temporal loops, outermost first.

    Attributes:
        spatial: what the hardware unrolls, inside the kernel.
        temporal: outermost first.
        kernel: index into `temporal`: `temporal[kernel:]` are the kernel's own loops.
        cuts: one for every operand in every memory that serves it, but for its outermost (home)
            memory, which holds it whole. Empty where a module has a single memory.
    """

    spatial: tuple[Loop, ...]
    temporal: tuple[Loop, ...]
    kernel: int = 0
    cuts: tuple[Cut, ...] = ()

    def __post_init__(self) -> None:
        """Refuse cuts outside the nest, and tiles smaller than what the kernel works on."""
        if not 0 <= self.kernel <= len(self.temporal):
            raise ValueError(f"kernel: {self.kernel} of {len(self.temporal)} temporal loops")
        for cut in self.cuts:
            if not 0 <= cut.index <= self.kernel:
                raise ValueError(f"cuts: {cut} with the kernel at {self.kernel}")

    def cut(self, operand: str, memory: str) -> int:
        """Index of the cut of `operand` in `memory`; 0 (whole) where there is none."""
        for cut in self.cuts:
            if (cut.operand, cut.memory) == (operand, memory):
                return cut.index
        return 0

    def extents(self, index: int, sizes: Sequence[tuple[str, int]]) -> dict[str, int]:
        """Elements of every dimension in a (full-size) tile cut at `index`.

        Args:
            index: into the temporal loops.
            sizes: the dimensions of the workload.
        """
        found = dict(sizes)
        for loop in self.temporal[:index]:
            found[loop.dim] = min(loop.step, found[loop.dim])
        return found

    @property
    def calls(self) -> int:
        """Times the kernel is called where nothing is left over; an upper bound otherwise."""
        return prod(loop.size for loop in self.temporal[: self.kernel])


def mapping_to_json(mapping: Mapping) -> dict[str, Any]:
    """`mapping` as a JSON object; `mapping_from_json` gives an equal one."""
    return {
        "spatial": [[loop.dim, loop.size, loop.step] for loop in mapping.spatial],
        "temporal": [[loop.dim, loop.size, loop.step] for loop in mapping.temporal],
        "kernel": mapping.kernel,
        "cuts": [[cut.operand, cut.memory, cut.index] for cut in mapping.cuts],
    }


def mapping_from_json(data: dict[str, Any]) -> Mapping:
    """The mapping that `mapping_to_json` wrote.

    Raises:
        ProjectError: `data` is not what `mapping_to_json` writes.
    """

    def loops(key: str) -> tuple[Loop, ...]:
        return tuple(Loop(str(dim), int(size), int(step)) for dim, size, step in data[key])

    try:
        cuts = tuple(Cut(str(o), str(m), int(index)) for o, m, index in data["cuts"])
        return Mapping(loops("spatial"), loops("temporal"), int(data["kernel"]), cuts)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ProjectError(f"not a mapping: {error}") from error
