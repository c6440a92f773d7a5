"""What the host moves: ways packed into few arguments.

A kernel of XRT takes five buffers at most (`aiecc` of 2025 declares so many), and programs have
more ways. So all ways into the array lie in one buffer, constants that are streamed in another one,
which is written once, and results in a third. Ways that go through a tensor itself share its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Way
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.forms import tile_name

#: Rows of a dimension of an interface tile's DMA (facts: ten bits).
MOST_ROWS = 1023

#: Words between beginnings of ways: a burst of 64 bytes.
ALIGNED = 16


@dataclass(frozen=True)
class Packed:
    """A way in its argument.

    Attributes:
        way: which.
        begin: first word.
        words: of one run, those that go again once.
        base: where its tensor begins; `begin` where it has a place of its own.
        sizes: of the transfer, from the outermost inward.
        steps: likewise, in words.
    """

    way: Way
    begin: int
    words: int
    base: int
    sizes: tuple[int, int, int, int]
    steps: tuple[int, int, int, int]


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


def host_arguments(
    program: ArrayProgram, moved: Collection[str] | None = None
) -> tuple[HostArgument, ...]:
    """The arguments of a sequence, in their order; those that hold nothing are left out.

    Args:
        program: whose ways.
        moved: names of those that the sequence moves; all where None.

    Raises:
        TargetError: a way has parts of words.
    """
    found: dict[str, list[Way]] = {"inputs": [], "constants": [], "outputs": []}
    for way in program.ways:
        if moved is not None and way.outside.name not in moved:
            continue
        if way.channel.direction == "s2mm":
            found["outputs"].append(way)
        else:
            found["inputs" if way.outside.values is None else "constants"].append(way)
    return tuple(_argument(name, ways) for name, ways in found.items() if ways)


def _argument(name: str, ways: list[Way]) -> HostArgument:
    at, packed = 0, []
    tensors: dict[str, int] = {}
    for way in ways:
        words, rest = divmod(way.outside.elements * BYTES[way.outside.dtype], WORD)
        if rest or not words:
            raise TargetError(f"the way {way.outside.name} does not carry whole words")
        memory = way.outside.blocks.memory if way.outside.blocks is not None else ""
        if not memory:
            sizes = way.outside.repeats, 1, 1, words
            packed.append(Packed(way, at, words, at, sizes, (0, 0, 0, 1)))
            at += _aligned(words)
            continue
        if memory not in tensors:
            tensors[memory] = at
            at += _aligned(max(_reach(one, memory) for one in ways))
        packed.append(_through(way, words, tensors[memory]))
    return HostArgument(name, tuple(packed), at)


def _aligned(words: int) -> int:
    return -(-words // ALIGNED) * ALIGNED


def _reach(way: Way, memory: str) -> int:
    """Words of a tensor, and of what follows it as far as a way goes; 0 for another one's way."""
    held = way.outside.blocks
    if held is None or held.memory != memory:
        return 0
    elements = max(held.reach, (held.first + held.matrix[0]) * held.matrix[1])
    return -(-elements * BYTES[way.outside.dtype] // WORD)


def _through(way: Way, words: int, base: int) -> Packed:
    """A way through a tensor that begins at `base`."""
    held, size = way.outside.blocks, BYTES[way.outside.dtype]
    assert held is not None
    (outer, middle, rows, width), found = dimensions(held)
    steps = [
        step * size // WORD if many > 1 else 0
        for many, step in zip((outer, middle, rows), found[:3], strict=True)
    ]
    sizes = outer, middle, rows, width * size // WORD
    begin = base + held.start * size // WORD
    return Packed(way, begin, words, base, sizes, (steps[0], steps[1], steps[2], 1))


#: Four numbers, from the outermost dimension inward.
Four = tuple[int, int, int, int]


def dimensions(held: Blocks) -> tuple[Four, Four]:
    """Sizes and steps of a way in elements: rows of one pass in two where they are too many."""
    if held.passes > 1 or held.rows <= MOST_ROWS:
        return held.sizes, held.steps
    rows = next(n for n in range(MOST_ROWS, 0, -1) if held.rows % n == 0)
    wide = held.matrix[1]
    sizes = held.blocks, held.rows // rows, rows, held.width
    return sizes, (held.column_step, rows * wide, wide, 1)


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
