"""From a mapping to the tiles that move: `match_aie.hardware.tiles.TileProgram`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import (
    SUMS,
    ExecModule,
    Memory,
    Packing,
    Sums,
    TileAxis,
    Tiled,
    TileOperand,
    TileProgram,
    facet,
    packings,
    sums_memory,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.hardware.tiles import Moves
from match_aie.workload import ITEMSIZE, Operand, Workload

#: What `ma_tiles.h` has room for.
MAX_LOOPS, MAX_OPERANDS, MAX_AXES, MAX_TERMS = 12, 8, 4, 2

#: Copies of tiles start at multiples of this many bytes.
ALIGNMENT = 16

#: Every operand is moved by the layer itself.
_ALONE: Mapping[str, Moves] = MappingProxyType({})


def tile_program(
    workload: Workload,
    module: ExecModule,
    mapping: LoopMapping,
    held: Mapping[str, Moves] = _ALONE,
) -> TileProgram | None:
    """The tiles of `mapping`; None for a module with a single memory, or whose others are caches.

    Args:
        workload: the layer.
        module: that runs it.
        mapping: how.
        held: operands that others move (see `TileOperand.moves`), whole and not yet placed; the
            mapping cuts none of them.

    Raises:
        TargetError: something that no lowering exists for: tiles in two inner memories, partial
            sums that no inner memory holds, or more loops or operands than `ma_tiles.h` has room
            for. Or tiles that do not fit, since the memory does not state how they are aligned.
        InternalError: the tiles do not fit, which the search should have seen.
    """
    if len(module.memories) < 2 or facet(module, Tiled).caches:
        return None
    loops = mapping.temporal[: mapping.kernel]
    _check(workload, module, mapping)
    bases = _bases(module)
    tops = dict(bases)
    # First, so that every tile has so many bytes in front of it: accelerators that subtract their
    # padding from an address reserve them.
    scratch = tops[module.memories[0].name]
    scratch_bytes = _scratch(workload, module, mapping)
    layouts = packings(workload, module)
    tops[module.memories[0].name] += scratch_bytes
    operands = []
    for operand in workload.operands:
        memory = next(m for m in module.memories if m.serves(operand.name))
        cut = mapping.cut(operand.name, memory.name)
        shaped = _operand(operand, memory, cut, layouts.get(operand.name))
        largest = _largest(shaped, mapping.extents(cut, workload.dims))
        copies = 2 if cut and memory.doubles(operand.name) else 1
        nbytes = -(-largest // ALIGNMENT) * ALIGNMENT
        shaped = _placed(shaped, copies, tops[memory.name], nbytes)
        if operand.name in held:
            operands.append(replace(shaped, offset=0, moves=held[operand.name]))
            continue
        tops[memory.name] += copies * nbytes
        operands.append(shaped)
    sums = _sums(workload, module, mapping, operands[-1], tops)
    taken = tuple((name, top - bases[name]) for name, top in tops.items())
    total = max((top for name, top in tops.items() if top > bases[name]), default=0)
    program = TileProgram(
        workload.dims, loops, tuple(operands), taken, total, scratch, scratch_bytes, sums=sums
    )
    _fits(module, program)
    return program


def relocated(
    program: TileProgram,
    base: int,
    offsets: Mapping[str, int],
    total: int,
    scratch: int | None = None,
) -> TileProgram:
    """`program` where layers share one inner memory; its scratch stays at the memory's begin.

    Args:
        program: placed as if it were alone.
        base: where its tiles begin.
        offsets: of operands that others move.
        total: bytes that all layers take.
        scratch: where its scratch lies instead, of a layer that runs beside another one.
    """
    shift = base - program.scratch - program.scratch_bytes
    beside = scratch is not None
    sums = program.sums
    operands = tuple(
        replace(o, offset=offsets[o.name] if o.name in offsets else o.offset + shift)
        for o in program.operands
    )
    return replace(
        program,
        operands=operands,
        total=total,
        linked=True,
        beside=beside,
        scratch=program.scratch if scratch is None else scratch,
        sums=None if sums is None else replace(sums, offset=sums.offset + shift),
    )


def _sums(
    workload: Workload,
    module: ExecModule,
    mapping: LoopMapping,
    output: TileOperand,
    tops: dict[str, int],
) -> Sums | None:
    """Where partial sums of the output's tile lie, behind what `tops` says; which then move on."""
    kernel = mapping.extents(mapping.kernel, workload.dims)
    dims = tuple(dim for dim in workload.reductions if kernel[dim] < workload.sizes[dim])
    memory = sums_memory(module.memories)
    if not dims or memory is None:
        return None
    if memory.name not in tops:
        raise TargetError(f"module {module.name}: {memory.name} holds partial sums and no tiles")
    for dim in dims:
        if not any(a.terms == ((dim, 1),) for o in workload.operands for a in o.axes):
            raise TargetError(
                f"module {module.name}: no operand of a {workload.kind} lies along {dim} alone, so "
                "that its kernel could tell which part it sums",
                hint=f"have tiled_reductions() leave {dim} out",
            )
    tile = _largest(output, mapping.extents(output.cut, workload.dims))
    nbytes = tile // ITEMSIZE[workload.output.dtype] * workload.partial_itemsize
    nbytes = -(-nbytes // ALIGNMENT) * ALIGNMENT
    found = Sums(memory.name, tops[memory.name], nbytes, workload.partial_itemsize, dims)
    tops[memory.name] += nbytes
    return found


def _bases(module: ExecModule) -> dict[str, int]:
    """Where each inner memory begins: after all bytes of the ones before it."""
    found: dict[str, int] = {}
    top = 0
    for memory in module.memories[:-1]:
        found[memory.name] = top
        top += memory.bytes or 0
    return found


def _check(workload: Workload, module: ExecModule, mapping: LoopMapping) -> None:
    for operand in workload.operands:
        if not any(m.serves(operand.name) for m in module.memories[:-1]):
            inner = " and ".join(repr(memory.name) for memory in module.memories[:-1])
            raise TargetError(
                f"module {module.name}: no inner memory holds {operand.name} of a {workload.kind}",
                hint=f"name {operand.name!r} among the `operands` of {inner}",
            )
        if sum(m.serves(operand.name) for m in module.memories) > 2:
            raise TargetError(
                f"module {module.name}: {operand.name} has tiles in more than one inner memory, "
                "which no lowering exists for"
            )
        if len(operand.axes) > MAX_AXES or any(len(a.terms) > MAX_TERMS for a in operand.axes):
            raise TargetError(f"module {module.name}: {operand.name} has too many axes to tile")
    kernel = mapping.extents(mapping.kernel, workload.dims)
    parts = [dim for dim in workload.reductions if kernel[dim] < workload.sizes[dim]]
    if parts and sums_memory(module.memories) is None:
        raise TargetError(
            f"module {module.name}: the kernel sums a part of {', '.join(parts)}, and no memory "
            "holds partial sums",
            hint=f"name {SUMS!r} among the `operands` of a memory, or have tiled_reductions() "
            "give none",
        )
    output = workload.output.name
    place = next(m.name for m in module.memories if m.serves(output))
    outside = mapping.temporal[: mapping.cut(output, place)]
    leaving = [loop.dim for loop in outside if loop.dim in workload.reductions]
    if leaving:
        raise TargetError(
            f"module {module.name}: partial sums over {', '.join(leaving)} leave {place}, which no "
            "lowering exists for",
            hint="have stores_partial_sums() give False",
        )
    if mapping.kernel > MAX_LOOPS or len(workload.operands) > MAX_OPERANDS:
        raise TargetError(f"module {module.name}: too many loops or operands to lower")


def _operand(operand: Operand, memory: Memory, cut: int, packing: Packing | None) -> TileOperand:
    """The operand as it lies in the outer memory, not yet placed."""
    if packing is not None:
        return _packed(operand, memory, cut, packing)
    itemsize = ITEMSIZE[operand.dtype]
    stride = itemsize
    found = []
    for axis, size in zip(reversed(operand.axes), reversed(operand.shape), strict=True):
        found.append(TileAxis(axis.terms, axis.offset, size, 1, stride))
        stride *= size
    return TileOperand(
        operand.name, memory.name, cut, 1, 0, 0, itemsize, operand.nbytes, tuple(reversed(found))
    )


def _packed(operand: Operand, memory: Memory, cut: int, packing: Packing) -> TileOperand:
    """The same for an operand in blocks: rows of blocks, what no loop divides at their ends.

    Elements of blocks that lie innermost are one item, whatever their order.
    """
    shape = packing.shape(operand)
    places = list(zip(packing.places, shape, strict=True))
    itemsize = packing.cell if packing.cell is not None else ITEMSIZE[operand.dtype]
    while places and not places[-1][0][1]:
        itemsize *= places.pop()[1]
    stride, found = itemsize, []
    for (at, counted), size in reversed(places):
        axis = operand.axes[at]
        unit = packing.block(at) if counted else 1
        terms = axis.terms if counted else ()
        found.append(TileAxis(terms, axis.offset if counted else 0, size, unit, stride))
        stride *= size
    found = found or [TileAxis((), 0, 1, 1, itemsize)]
    if len(found) > MAX_AXES:
        raise TargetError(
            f"{operand.name} lies in blocks along {len(found)} places, and tiles have {MAX_AXES}",
            hint="an order that ends in the elements of its blocks",
        )
    nbytes = packing.nbytes(operand)
    return TileOperand(
        operand.name, memory.name, cut, 1, 0, 0, itemsize, nbytes, tuple(reversed(found))
    )


def _largest(shaped: TileOperand, tile: Mapping[str, int]) -> int:
    """Bytes of a full-size tile anywhere in the tensor: no clipping but to its whole extent."""
    total = shaped.itemsize
    for axis in shaped.axes:
        if not axis.terms:
            total *= axis.size
            continue
        span = 1 + sum(c * (tile[dim] - 1) for dim, c in axis.terms)
        rows = -(-span // axis.unit)
        total *= min(rows, axis.size)
    return total


def _placed(operand: TileOperand, copies: int, offset: int, nbytes: int) -> TileOperand:
    return replace(operand, copies=copies, offset=offset, copy_bytes=nbytes)


def _scratch(workload: Workload, module: ExecModule, mapping: LoopMapping) -> int:
    """What the module reserves of its innermost memory."""
    kernel = {
        dim: np.asarray(size)
        for dim, size in mapping.extents(mapping.kernel, workload.dims).items()
    }
    nbytes = int(facet(module, Tiled).reserved_bytes(workload, module.memories[0], kernel))
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _fits(module: ExecModule, program: TileProgram) -> None:
    for operand in program.operands:
        for axis in operand.axes:
            steps = {loop.step for loop in program.loops if loop.dim in dict(axis.terms)}
            if axis.unit > 1 and any(step % axis.unit for step in steps):
                raise InternalError(
                    f"module {module.name}: tiles of {sorted(steps)} cut rows of {axis.unit} of "
                    f"the packed {operand.name}"
                )
    memories = {memory.name: memory for memory in module.memories}
    for name, nbytes in program.nbytes:
        memory = memories[name]
        if memory.bytes is None or nbytes + memory.reserved <= memory.bytes:
            continue
        text = (
            f"module {module.name}: tiles take {nbytes} bytes of {name}, which has {memory.bytes}"
        )
        if memory.alignment % ALIGNMENT:
            raise TargetError(
                f"{text}: they begin at multiples of {ALIGNMENT} bytes, and it states {name} to "
                f"have them at multiples of {memory.alignment}",
                hint=f"Memory({name!r}, ..., alignment={ALIGNMENT})",
            )
        raise InternalError(text)
