"""What a program's text leaves to others: the object files of cores, and the host's data.

The text names a function for each kind of call; here is what such a function takes, what it
computes and how long. The host's program knows which part of which tensor each argument holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Tile, Walk, Work
from match_aie.targets.aie_ml.graph.plan import Call, Outside
from match_aie.targets.aie_ml.schedule import Scheduled


@dataclass(frozen=True)
class Function:
    """One kind of call.

    Attributes:
        schedule: its cycles.
        starts: as `Work.starts`.
        uses: as `Work.uses`.
        result: as `Work.result`.
    """

    schedule: Scheduled
    starts: bool
    uses: tuple[tuple[str, str], ...]
    result: str


@dataclass(frozen=True)
class Linked:
    """The object file of a core.

    Attributes:
        call: the whole function, of which each call is a part; None of a timed program.
        program_bytes: of it.
        shared_bytes: as `Core.shared_bytes`.
    """

    call: Call | None
    program_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class Kernels:
    """Everything that a text refers to.

    Attributes:
        functions: by name.
        linked: by tile.
        outsides: data of the chip's memory, by name.
        walks: how the graph says that memory tiles are walked; checks compare descriptors with it.
    """

    functions: Mapping[str, Function]
    linked: Mapping[Tile, Linked]
    outsides: Mapping[str, Outside]
    walks: tuple[Walk, ...]


def kernels_of(program: ArrayProgram, named: Mapping[Tile, Sequence[str]] | None = None) -> Kernels:
    """What the text of `program` refers to, where its calls are `named` so; else by `names`."""
    named = named or names(program)
    functions = {
        name: Function(work.schedule, work.starts, work.uses, work.result)
        for core in program.cores
        for name, work in zip(named[core.tile], core.work, strict=True)
    }
    linked = {
        core.tile: Linked(core.function, core.program_bytes, core.shared_bytes)
        for core in program.cores
    }
    outsides = {way.outside.name: way.outside for way in program.ways}
    return Kernels(functions, linked, outsides, program.walks)


def arguments(program: ArrayProgram, tile: Tile) -> tuple[Buffer, ...]:
    """Buffers that every function of a core takes, one copy of each, in this order."""
    return tuple(b for b in program.buffers if b.tile == tile and b.role != "stack")


def names(program: ArrayProgram) -> dict[Tile, tuple[str, ...]]:
    """The function of every call of a run, by core: one name for calls that are alike."""
    found: dict[Tile, tuple[str, ...]] = {}
    seen: dict[str, list[tuple[object, ...]]] = {}
    for core in program.cores:
        shape = tuple((b.name, b.bytes, b.copies) for b in arguments(program, core.tile))
        symbol = core.function.symbol if core.function is not None else "kernel"
        alike = seen.setdefault(symbol, [])
        found[core.tile] = tuple(
            f"{symbol}_{_number(alike, (core.function, *_call(work), shape))}" for work in core.work
        )
    return found


def _call(work: Work) -> tuple[object, ...]:
    """What tells a function's calls apart."""
    return work.starts, work.uses, work.result, work.schedule


def _number(alike: list[tuple[object, ...]], call: tuple[object, ...]) -> int:
    """Number of a call among those that are different."""
    if call not in alike:
        alike.append(call)
    return alike.index(call)
