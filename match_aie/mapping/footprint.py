"""The one definition of what a tile of an operand occupies and of what moves when it is moved.

Everything here works on arrays over candidate tiles and on plain integers alike, and serves the
search, the evaluation of single mappings, and code generation. The checker does not use it.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence

import numpy as np

from match_aie.hardware import Array, Block, Memory, Packing, Tile
from match_aie.workload import ITEMSIZE, Operand


def axis_extents(
    operand: Operand, tile: Tile, sizes: MappingOf[str, int], padded: bool = False
) -> list[Array]:
    """Elements along each tensor axis that a tile touches, gaps of strides included.

    A tile of t elements of a dimension with coefficient c spans (t - 1) * c + 1 of the axis; the
    spans of an axis's dimensions add up (halo, dilation). An extent never exceeds the tensor, or
    the padded tensor where the module keeps padding in its tiles. Tiles at the border, which
    reach into the padding, count as those inside: at most the padding more than they touch. An
    axis that no loop indexes belongs whole to every tile.

    Args:
        operand: whose tile.
        tile: elements of every dimension that the operand depends on.
        sizes: of the whole dimensions.
        padded: whether padding around the tensor is part of the tile.
    """
    found: list[Array] = []
    for axis, size in zip(operand.axes, operand.shape, strict=True):
        if not axis.terms:
            found.append(np.asarray(size))  # no loop indexes it: a table, or one value
            continue
        span: Array = np.asarray(1)
        whole = 1
        for dim, coefficient in axis.terms:
            span = span + (tile[dim] - 1) * coefficient
            whole += (sizes[dim] - 1) * coefficient
        found.append(np.minimum(span, max(size, whole) if padded else size))
    return found


def block(
    operand: Operand,
    extents: Sequence[Array],
    parent: Sequence[Array],
    itemsize: int | None = None,
    order: Packing | None = None,
) -> Block:
    """What moves for a tile with these axis extents, out of one with those of `parent`.

    The enclosing tile lies row-major and dense. An axis is contiguous with those inside it as
    long as they are whole; from the first axis that is not, every element outward starts a chunk.

    Args:
        operand: whose tile.
        extents: along each axis, of the tile.
        parent: along each axis, of the enclosing tile (the whole tensor in the home memory).
        itemsize: bytes of an element; the operand's own by default.
        order: in which its blocks lie, where it is not row-major.
    """
    if order is not None:
        extents, parent = order.extents(extents), order.extents(parent)
    elements: Array = np.asarray(1)
    chunks: Array = np.asarray(1)
    planes: Array = np.asarray(1)
    whole: Array = np.asarray(True)
    even: Array = np.asarray(True)
    for extent, full in zip(reversed(extents), reversed(parent), strict=True):
        elements = elements * extent
        several = ~whole & (extent > 1)
        planes = np.where(several & ~even, planes * extent, planes)
        even = even & ((extent >= full) | (~several & (chunks == 1)))
        chunks = np.where(whole, chunks, chunks * extent)
        whole = whole & (extent >= full)
    return Block(operand, elements * (itemsize or ITEMSIZE[operand.dtype]), chunks, planes)


def resident_bytes(
    operand: Operand,
    extents: Sequence[Array],
    memory: Memory,
    moved_again: Array,
    itemsize: int | None = None,
    packing: Packing | None = None,
) -> Array:
    """Bytes of `memory` that the tiles of an operand take.

    Args:
        operand: whose tile.
        extents: along each axis, of a full-size tile.
        memory: that holds the tile.
        moved_again: whether there is more than one tile; only then can a second be in flight.
        itemsize: bytes of an element: wider than the operand's own for partial sums.
        packing: of an operand in blocks: the tile is as many blocks as its elements lie in.
    """
    nbytes: Array = np.asarray(itemsize or ITEMSIZE[operand.dtype])
    if packing is None:
        for extent in extents:
            nbytes = nbytes * extent
    else:
        nbytes = np.asarray(packing.cell_bytes(operand))
        if itemsize is not None:
            nbytes = nbytes // ITEMSIZE[operand.dtype] * itemsize
        for at, size in packing.blocks:
            nbytes = nbytes * -(-extents[at] // size)
    aligned = -(-nbytes // memory.alignment) * memory.alignment
    return np.where(moved_again & memory.doubles(operand.name), 2 * aligned, aligned)
