"""What verifiers of the dialect refuse of a descriptor, read in their sources and test files.

Of `aie.dma_bd`, `aie.mem` and `aie.memtile_dma`, as they were from 2024 to 2026: those limits of a
program that the array's own rules do not have, and those that a descriptor could break which was
cut in two. Nothing here was run through a verifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir.chains import Block

#: Elements of a dimension; verifiers of 2024 took 512 and said 1023.
MOST_SIZE = 1023

#: A step is smaller than this.
MOST_STEP = 1 << 20


def verified(
    program: ArrayProgram, device: Device, chains: Mapping[Channel, Sequence[Block]]
) -> Iterator[Violation]:
    """Everything that a verifier would refuse."""
    for channel, blocks in chains.items():
        core = channel.tile[1] >= device.shim_rows + device.mem_rows
        for block in blocks:
            where = f"tile {channel.tile}, descriptor {block.descriptor.index}"
            size = program.buffer_at[channel.tile, block.descriptor.buffer].bytes
            for what, demand, bound in _limits(block, size, core=core):
                if demand > bound:
                    yield Violation(where, what, demand, bound, "another plan of the layer")
    tiles: dict[tuple[int, int], int] = {}
    for channel, blocks in chains.items():
        tiles[channel.tile] = tiles.get(channel.tile, 0) + len(blocks)
    for tile, many in tiles.items():
        core = tile[1] >= device.shim_rows + device.mem_rows
        bound = device.architecture.descriptors["core" if core else "mem"]
        if many > bound:
            yield Violation(f"tile {tile}", "blocks", many, bound, "fewer buffers in a tile")


def _limits(block: Block, size: int, *, core: bool) -> Iterator[tuple[str, int, int]]:
    """What is asked for, how much, and how much there may be; `size` bytes has the buffer."""
    one = block.descriptor
    words = size // WORD
    yield "bytes of a buffer beyond whole words", size % WORD, 0
    yield "dimensions", len(one.dims), 3 if core else 4
    last = one.offset + sum(step * (many - 1) for many, step in one.dims)
    if not one.dims:
        last = one.offset + one.words - 1 - sum(map(sum, one.pad))
    yield "as the last word that moves", last, words - 1
    for many, step in one.dims:
        yield "elements of a dimension", many, MOST_SIZE
        yield "as step", step, min(MOST_STEP - 1, words)
        yield "steps of no word", int(step < 1), 0
    if one.pad:
        yield "paddings outside of a memory tile's readers", int(_pads_elsewhere(block, core)), 0
        yield "dimensions that are padded", len(one.pad), max(1, len(one.dims))
    if one.dims:
        wide = (*one.pad, *((0, 0),) * (len(one.dims) - len(one.pad)))
        moved = prod(n + sum(pad) for (n, _), pad in zip(one.dims, wide, strict=True))
        yield "words beside its length", abs(moved - one.words), 0


def _pads_elsewhere(block: Block, core: bool) -> bool:
    return core or block.descriptor.channel.direction != "mm2s"
