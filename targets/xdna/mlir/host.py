"""What the host moves: ways packed into few arguments, and the sequence of transfers.

A kernel of XRT takes five buffers at most (`aiecc` of 2025 declares so many), and programs have
more ways. So all ways into the array lie in one buffer, constants that are streamed in another one,
which is written once, and results in a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Way
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.forms import tile_name

#: How often one transfer of an interface tile may be repeated (facts: six bits).
MOST_REPEATS = 64

#: Words between beginnings of ways: a burst of 64 bytes.
ALIGNED = 16


@dataclass(frozen=True)
class Packed:
    """A way in its argument.

    Attributes:
        way: which.
        begin: first word.
        words: of one run, those that go again once.
    """

    way: Way
    begin: int
    words: int


@dataclass(frozen=True)
class HostArgument:
    """A buffer that the host hands to the array.

    Attributes:
        name: "inputs", "constants" or "outputs".
        ways: in it.
        words: of it.
    """

    name: str
    ways: tuple[Packed, ...]
    words: int


def host_arguments(program: ArrayProgram) -> tuple[HostArgument, ...]:
    """The arguments of the sequence, in their order; those that hold nothing are left out.

    Raises:
        TargetError: a way has parts of words.
    """
    found: dict[str, list[Way]] = {"inputs": [], "constants": [], "outputs": []}
    for way in program.ways:
        if way.channel.direction == "s2mm":
            found["outputs"].append(way)
        else:
            found["inputs" if way.outside.values is None else "constants"].append(way)
    return tuple(_argument(name, ways) for name, ways in found.items() if ways)


def _argument(name: str, ways: list[Way]) -> HostArgument:
    at, packed = 0, []
    for way in ways:
        words, rest = divmod(way.outside.elements * BYTES[way.outside.dtype], WORD)
        if rest or not words:
            raise TargetError(f"the way {way.outside.name} does not carry whole words")
        packed.append(Packed(way, at, words))
        at += -(-words // ALIGNED) * ALIGNED
    return HostArgument(name, tuple(packed), at)


def allocations(program: ArrayProgram, dialect: Dialect) -> Iterator[str]:
    """Channels of interface tiles under the names of their ways."""
    for way in program.ways:
        name, channel = way.outside.name, way.channel
        direction = channel.direction.upper()
        if dialect.allocation_tile:
            place = f" (%{tile_name(channel.tile)}, {direction}, {channel.index})"
        else:
            place = f"({direction}, {channel.index}, {channel.tile[0]})"
        yield f"aie.shim_dma_allocation @{name}{place}"


def global_symbols(program: ArrayProgram, dialect: Dialect) -> Iterator[str]:
    """What older versions look a way's name up by."""
    if dialect.globals:
        for argument in host_arguments(program):
            for one in argument.ways:
                name = one.way.outside.name
                yield f'memref.global "public" @{name} : memref<{one.words}xi32>'


def sequence(program: ArrayProgram, dialect: Dialect) -> Iterator[str]:
    """All transfers are begun, then the host waits for those out of the array.

    Raises:
        TargetError: a way goes too often.
    """
    args = host_arguments(program)
    held = {
        one.way.outside.name: (number, one) for number, arg in enumerate(args) for one in arg.ways
    }
    given = ", ".join(f"%{arg.name}: memref<{arg.words}xi32>" for arg in args)
    yield f"{dialect.sequence} @sequence({given}) {{"
    ids: dict[int, int] = {}
    for way in program.ways:
        number, one = held[way.outside.name]
        repeats, column = way.outside.repeats, way.channel.tile[0]
        if repeats > MOST_REPEATS:
            raise TargetError(f"the way {way.outside.name} goes {repeats} times in a run")
        ids[column] = ids.get(column, -1) + 1
        token = ", issue_token = true" if way.channel.direction == "s2mm" else ""
        yield (
            f"  aiex.npu.dma_memcpy_nd(%{args[number].name}[0, 0, 0, {one.begin}]"
            f"[{repeats}, 1, 1, {one.words}][0, 0, 0, 1]) "
            f"{{id = {ids[column]} : i64{token}, metadata = @{way.outside.name}}}"
            f" : memref<{args[number].words}xi32>"
        )
    for way in program.ways:
        if way.channel.direction == "s2mm":
            yield f"  aiex.npu.dma_wait {{symbol = @{way.outside.name}}}"
    yield "}"
