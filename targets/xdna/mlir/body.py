"""The calls of a core, with the copies that they take: what stands in its endless loop."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Core
from match_aie.targets.xdna.mlir.kernels import arguments

#: Calls that stand behind each other in a loop's body. ASSUMPTION: 64 bytes each, with their locks,
#: take 8 of the 16 KB of program memory.
MOST_CALLS = 128


@dataclass(frozen=True)
class Called:
    """One call.

    Attributes:
        at: its number in a run.
        takes: buffers whose locks are taken before it.
        gives: buffers whose locks are given back after it.
        copies: of each argument, in their order.
    """

    at: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    copies: tuple[int, ...]


def body(program: ArrayProgram, core: Core) -> tuple[Called, ...]:
    """Calls of one run, or of two where the next begins with the other copies.

    Raises:
        InfeasibleError: they are too many to stand behind each other.
    """
    buffers = arguments(program, core.tile)
    double = {b.name for b in buffers if b.copies == 2}
    taken = {name: sum(name in work.takes for work in core.work) for name in double}
    runs = 2 if any(many % 2 for many in taken.values()) else 1
    if runs * len(core.work) > MOST_CALLS:
        levers = ("larger calls", "fewer rows")
        reason = Infeasible("calls of a core", runs * len(core.work), MOST_CALLS, "calls", levers)
        raise InfeasibleError(reason, where=f"core {core.tile}")
    held = dict.fromkeys((b.name for b in buffers), 0)
    many = dict.fromkeys(held, 0)
    found = []
    for _ in range(runs):
        for at, work in enumerate(core.work):
            for name in work.takes:
                held[name] = many[name] % 2 if name in double else 0
                many[name] += 1
            copies = tuple(held[b.name] for b in buffers)
            found.append(Called(at, work.takes, work.gives, copies))
    return tuple(found)
