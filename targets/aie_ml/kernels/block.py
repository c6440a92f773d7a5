"""How a DMA walks a buffer in a memory tile (adf::tiling_parameters)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """A DMA's way through a buffer, dimension 0 contiguous (adf::tiling_parameters).

    Attributes:
        buffer: its dimensions.
        tile: dimensions of one tile.
        offset: of the first tile.
        traversal: (dimension, stride, wrap) of the loops over tiles, innermost first.
        boundary: dimensions of the data; what lies outside is read as zero. Empty for none.
        repeats: how often the whole way is gone for one copy of the buffer.
    """

    buffer: tuple[int, ...]
    tile: tuple[int, ...]
    offset: tuple[int, ...]
    traversal: tuple[tuple[int, int, int], ...] = ()
    boundary: tuple[int, ...] = ()
    repeats: int = 1
