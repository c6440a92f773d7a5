"""The calls of a core, with the copies that they take: what stands in its endless loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.targets.aie_ml.array.program import ArrayProgram, Core
from match_aie.targets.xdna.mlir.kernels import arguments


@dataclass(frozen=True)
class Called:
    """One call.

    Attributes:
        at: its number in a run.
        name: of the function.
        takes: buffers whose locks are taken before it.
        gives: buffers whose locks are given back after it.
        copies: of each argument, in their order.
    """

    at: int
    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    copies: tuple[int, ...]


def body(program: ArrayProgram, core: Core, called: Sequence[str]) -> tuple[Called, ...]:
    """Calls of one run, or of two where the next begins with the other copies; their names."""
    buffers = arguments(program, core.tile)
    double = {b.name for b in buffers if b.copies == 2}
    taken = {name: sum(name in work.takes for work in core.work) for name in double}
    runs = 2 if any(many % 2 for many in taken.values()) else 1
    held = dict.fromkeys((b.name for b in buffers), 0)
    many = dict.fromkeys(held, 0)
    found = []
    for _ in range(runs):
        for at, (name, work) in enumerate(zip(called, core.work, strict=True)):
            for buffer in work.takes:
                held[buffer] = many[buffer] % 2 if buffer in double else 0
                many[buffer] += 1
            copies = tuple(held[b.name] for b in buffers)
            found.append(Called(at, name, work.takes, work.gives, copies))
    return tuple(found)
