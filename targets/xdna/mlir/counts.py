"""What locks count on the hardware: one pair of semaphores for all who write and read a buffer.

A program says that a copy is full when all its writers have written, and empty when all its readers
have read it as often as they do. A semaphore is one number: each of W writers takes R of the empty
one and gives R to the full one, each of R reads takes W of the full one and gives W back. So W x R
of each make one copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Channel, Descriptor, Tile
from match_aie.targets.aie_ml.array.words import WORD, uses

#: Largest value of a semaphore (facts: six bits).
MOST = 63


@dataclass(frozen=True)
class Turns:
    """Who takes turns on a buffer.

    Attributes:
        writers: channels and cores that write every copy.
        reads: times that a copy is read before it is empty, all readers together.
    """

    writers: int
    reads: int

    @property
    def whole(self) -> int:
        """What one copy counts."""
        return self.writers * self.reads


def by_channel(program: ArrayProgram) -> dict[Channel, tuple[tuple[Descriptor, ...], ...]]:
    """Descriptors of each channel, copy after copy, in their order.

    Raises:
        TargetError: some have an iteration, which this text has no words for.
    """
    found: dict[Channel, list[list[Descriptor]]] = {}
    for one in program.descriptors:
        if one.iteration is not None:
            raise TargetError(
                f"descriptor {one.index} of tile {one.channel.tile} has an iteration, which the "
                "dialect of March 2026 does not say",
                hint="another plan of the layer",
            )
        groups = found.setdefault(one.channel, [])
        if not groups or (groups[-1][0].buffer, groups[-1][0].copy) != (one.buffer, one.copy):
            groups.append([])
        groups[-1].append(one)
    return {channel: tuple(map(tuple, groups)) for channel, groups in found.items()}


def turns(program: ArrayProgram) -> dict[tuple[Tile, str], Turns]:
    """Of every buffer that locks stand in front of.

    Raises:
        TargetError: as `by_channel`, or a buffer is not read evenly.
        InfeasibleError: a semaphore would have to count too far.
    """
    groups = by_channel(program)
    writers: dict[tuple[Tile, str], int] = {}
    reads: dict[tuple[Tile, str], int] = {}
    for route in program.routes:
        ends = [(route.source, route.reads, reads)]
        ends += [(s, n, writers) for s, n in zip(route.sinks, route.writes, strict=True)]
        for channel, name, into in ends:
            if channel not in groups:
                continue  # an interface tile
            buffer = program.buffer_at[channel.tile, name]
            many = _walks(groups[channel], buffer, route.bytes * route.sends)
            into[channel.tile, name] = into.get((channel.tile, name), 0) + many
    for core in program.cores:
        for name in core.buffers:
            side = writers if name == "out" else reads
            side[core.tile, name] = side.get((core.tile, name), 0) + 1
    found = {}
    for lock in program.locks:
        key = lock.tile, lock.buffer
        found[key] = Turns(writers.get(key, 0), reads.get(key, 0))
        most = found[key].whole * program.buffer_at[key].copies
        if most > MOST:
            levers = ("fewer readers of a buffer", "one copy")
            reason = Infeasible(f"the locks of {lock.buffer}", most, MOST, "counts", levers)
            raise InfeasibleError(reason, where=f"tile {lock.tile}")
    return found


def shared(program: ArrayProgram) -> tuple[str, ...]:
    """Buffers with several writers or readers, whose shares of a semaphore nothing tells apart.

    One that is a whole copy ahead of another may take the other's share, and read or write a copy
    that is not ready. The interpreter counts for each alone and the simulator, too; on the hardware
    streams alone keep them together.
    """
    found = turns(program)
    alike = [key for key, one in found.items() if one.writers > 1 or _readers(program, key) > 1]
    return tuple(f"{name} in tile {tile[0]}, {tile[1]}" for tile, name in sorted(alike))


def _readers(program: ArrayProgram, key: tuple[Tile, str]) -> int:
    tile, name = key
    many = sum(route.source.tile == tile and route.reads == name for route in program.routes)
    return many + sum(c.tile == tile and name != "out" and name in c.buffers for c in program.cores)


def _walks(groups: tuple[tuple[Descriptor, ...], ...], buffer: Buffer, size: int) -> int:
    """How often a channel goes through the descriptors of one copy until it is done with it."""
    words = sum(one.words * uses(groups[0]) for one in groups[0])
    many, left = divmod(size, words * WORD * max(1, buffer.fills))
    if left or not many:
        raise TargetError(f"buffer {buffer.name} of tile {buffer.tile} is not moved evenly")
    return many
