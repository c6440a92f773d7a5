"""What a mapping keeps in each memory and moves into it: bytes, how often, and how well used."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from match_aie.hardware import ExecModule, Mapping, Memory, Tiled, facet, sums_memory
from match_aie.mapping.evaluate import pieces
from match_aie.mapping.footprint import axis_extents, resident_bytes
from match_aie.mapping.layout import Route, dims_of, lay_out
from match_aie.workload import ITEMSIZE, Operand, Workload


@dataclass(frozen=True)
class Traffic:
    """One operand in one memory.

    Attributes:
        memory: its name.
        operand: its name.
        tile: elements along each tensor axis of a full-size tile.
        nbytes: that it occupies, second buffers and the wide form of partial sums included.
        moves: tiles that are moved, in or out.
        moved_bytes: their bytes. The home memory, which holds every operand whole, moves nothing.
        reuse: innermost statements (multiply-accumulates) per element moved; 0 at home.
    """

    memory: str
    operand: str
    tile: tuple[int, ...]
    nbytes: int
    moves: int
    moved_bytes: int
    reuse: float


def traffic(workload: Workload, module: ExecModule, mapping: Mapping) -> tuple[Traffic, ...]:
    """Every operand in every memory that serves it, outermost memory first."""
    if not module.memories:
        return ()
    layout = lay_out(workload, module)
    routes = [route for group in layout.groups for route in group.routes] + [*layout.whole]
    order = [operand.name for operand in workload.operands]
    routes.sort(key=lambda route: order.index(route.operand.name))
    return tuple(
        _row(workload, module, mapping, route, memory)
        for memory in reversed(module.memories)
        for route in routes
        if memory in route.memories
    )


def _row(
    workload: Workload, module: ExecModule, mapping: Mapping, route: Route, memory: Memory
) -> Traffic:
    operand = route.operand
    if memory is route.memories[-1]:
        return Traffic(memory.name, operand.name, operand.shape, operand.nbytes, 0, 0, 0.0)
    extents = mapping.extents(mapping.cut(operand.name, memory.name), workload.dims)
    sizes = dict(workload.dims)
    tile = _axes(operand, extents, sizes, module)
    inside = route.memories.index(memory)
    index = (
        mapping.kernel
        if inside == 0
        else mapping.cut(operand.name, route.memories[inside - 1].name)
    )
    inner = mapping.extents(index, workload.dims)
    beside = inside == 0 and sums_memory(module.memories) is not None
    partial = not beside and any(inner[dim] < sizes[dim] for dim in workload.reductions)
    wide = workload.partial_itemsize if operand is workload.output and partial else None
    several = any(extents[dim] < size for dim, size in sizes.items())
    axes = [np.asarray(size) for size in tile]
    nbytes = int(resident_bytes(operand, axes, memory, np.asarray(several), wide, route.packing))
    moves, elements, moved = _moved(workload, module, operand, extents)
    return Traffic(
        memory.name, operand.name, tile, nbytes, moves, moved, workload.steps / max(1, elements)
    )


def _axes(
    operand: Operand, extents: MappingOf[str, int], sizes: MappingOf[str, int], module: ExecModule
) -> tuple[int, ...]:
    tile = {dim: np.asarray(size) for dim, size in extents.items()}
    return tuple(
        int(size) for size in axis_extents(operand, tile, sizes, facet(module, Tiled).padded_tiles)
    )


def _moved(
    workload: Workload, module: ExecModule, operand: Operand, extents: MappingOf[str, int]
) -> tuple[int, int, int]:
    """(tiles, elements, bytes) that move for an operand cut into tiles of `extents`.

    Inputs come once for every visit. The output leaves once; on every earlier visit its partial
    sums leave and come back in their wide form.
    """
    sizes, dims = dict(workload.dims), dims_of(operand)
    visits = prod(-(-size // extents[dim]) for dim, size in sizes.items() if dim not in dims)
    tiles = elements = 0
    for choice in product(*(pieces(sizes[dim], extents[dim]) for dim in dims)):
        times = prod(count for _, count in choice)
        part = {**extents, **dict(zip(dims, (size for size, _ in choice), strict=True))}
        tiles += times
        elements += times * prod(_axes(operand, part, sizes, module))
    if operand is not workload.output:
        whole = visits * elements
        return visits * tiles, whole, whole * ITEMSIZE[operand.dtype]
    trips = 2 * (visits - 1)
    nbytes = ITEMSIZE[operand.dtype] + trips * workload.partial_itemsize
    return tiles * (1 + trips), elements * (1 + trips), elements * nbytes
