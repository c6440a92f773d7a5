"""What verifiers of the dialect refuse of a descriptor, read in their sources and test files.

Of `aie.dma_bd`, `aie.mem`, `aie.memtile_dma` and `aiex.npu.dma_memcpy_nd`, as they were from 2024
to 2026: those limits of a program that the array's own rules do not have, and those that a
descriptor could break which was cut in two. Nothing here was run through a verifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir.chains import Block
from match_aie.targets.xdna.mlir.dialect import DEFAULT, Dialect
from match_aie.targets.xdna.mlir.dmas import MOST_DIMS, written
from match_aie.targets.xdna.mlir.host import HostArgument

#: Operations that define a symbol of the device.
_DEFINED = re.compile(
    r"(?:func\.func private|memref\.global \"public\"|runtime_sequence|shim_dma_allocation) @(\w+)"
    r"|sym_name = \"(\w+)\""
)


def verified(
    program: ArrayProgram,
    device: Device,
    chains: Mapping[Channel, Sequence[Block]],
    dialect: Dialect = DEFAULT,
) -> Iterator[Violation]:
    """Everything that a verifier would refuse.

    Args:
        program: whose.
        device: that it is for.
        chains: its blocks, by channel.
        dialect: of the text.
    """
    for channel, blocks in chains.items():
        core = channel.tile[1] >= device.shim_rows + device.mem_rows
        for block in blocks:
            where = f"tile {channel.tile}, descriptor {block.descriptor.index}"
            size = program.buffer_at[channel.tile, block.descriptor.buffer].bytes
            for what, demand, bound in _limits(block, size, dialect, core=core):
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


def transferred(arguments: Iterable[HostArgument], device: Device) -> Iterator[Violation]:
    """What no descriptor of an interface tile says, or what goes beyond a host's argument.

    Nothing of the tool chain looks at the latter: a word beyond it is read or written all the same.

    Args:
        arguments: of a sequence.
        device: whose interface tiles move.
    """
    facts = device.architecture.addressing["shim"]
    wrap = 2 ** device.need(facts.wrap_bits, "sizes of interface tiles") - 1
    step = 2 ** device.need(facts.step_bits, "steps of interface tiles") - 1
    repeats = 2 ** device.need(facts.iteration_wrap_bits, "repeats of interface tiles")
    for arg in arguments:
        for one in arg.ways:
            where, remedy = f"way {one.way.outside.name}", "a way that the processor gathers"
            outer, *inner = one.sizes
            last = one.begin + sum((n - 1) * by for n, by in zip(one.sizes, one.steps, strict=True))
            linear = inner[:2] == [1, 1]
            found = [
                ("times in a run", outer, repeats),
                ("as the last word that moves", last, arg.words - 1),
                ("elements of a dimension", 0 if linear else max(inner), wrap),
                ("sizes of nothing", int(min(one.sizes) < 1), 0),
                ("as step", max(one.steps), step),
            ]
            steps = zip(inner, one.steps[1:], strict=True)
            found.append(("steps of no word", int(any(n > 1 and by < 1 for n, by in steps)), 0))
            for what, demand, bound in found:
                if demand > bound:
                    yield Violation(where, what, demand, bound, remedy)


def distinct(lines: Iterable[str], dialect: Dialect = DEFAULT) -> Iterator[Violation]:
    """No two things of a device have one name, whatever they are."""
    seen: dict[str, int] = {}
    for line in lines:
        if dialect.globals and "shim_dma_allocation" in line:
            continue  # it refers to the symbol
        for pair in _DEFINED.findall(line):
            name = "".join(pair)
            seen[name] = seen.get(name, 0) + 1
    for name, many in seen.items():
        if many > 1:
            yield Violation(f"symbol {name}", "definitions", many, 1, "other names of layers")


def _limits(
    block: Block, size: int, dialect: Dialect, *, core: bool
) -> Iterator[tuple[str, int, int]]:
    """What is asked for, how much, and how much there may be; `size` bytes has the buffer."""
    one = block.descriptor
    words = size // WORD
    yield "bytes of a buffer beyond whole words", size % WORD, 0
    last = one.offset + sum(step * (many - 1) for many, step in one.dims)
    if not one.dims:
        last = one.offset + one.words - 1 - sum(map(sum, one.pad))
    yield "as the last word that moves", last, words - 1
    if one.pad:
        yield "paddings outside of a memory tile's readers", int(_pads_elsewhere(block, core)), 0
        yield "dimensions that are padded", len(one.pad), max(1, len(one.dims))
    wide = (*one.pad, *((0, 0),) * (len(one.dims) - len(one.pad)))
    if one.dims:
        moved = prod(n + sum(pad) for (n, _), pad in zip(one.dims, wide, strict=False))
        yield "words beside its length", abs(moved - one.words), 0
        if moved != one.words:
            return
    most = MOST_DIMS["core" if core else "mem"]
    made = written(one, dialect.most_size, most)
    yield "dimensions", len(made.dims), most
    for many, step in made.dims:
        yield "elements of a dimension", many, dialect.most_size
        yield "as step", step, min(dialect.most_step - 1, words)
        yield "steps of no word", int(step < 1), 0


def _pads_elsewhere(block: Block, core: bool) -> bool:
    return core or block.descriptor.channel.direction != "mm2s"
