"""Names and attributes as the text writes them."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.targets.aie_ml.array.program import Buffer, Channel, Tile
from match_aie.targets.aie_ml.array.semaphores import Semaphore
from match_aie.targets.aie_ml.array.words import WORD


def memref(size: int) -> str:
    """Type of a buffer of so many bytes: words where it has whole ones."""
    return f"memref<{size // WORD}xi32>" if size % WORD == 0 else f"memref<{size}xi8>"


def tile_name(tile: Tile) -> str:
    """Of a tile, without the sign of a value."""
    return f"tile_{tile[0]}_{tile[1]}"


def symbol(buffer: Buffer, copy: int) -> str:
    """Of a copy of a buffer."""
    return f"b_{buffer.tile[0]}_{buffer.tile[1]}_{buffer.name}_{copy}"


def lock_symbol(lock: Semaphore) -> str:
    """Of a semaphore."""
    return f"l_{lock.tile[0]}_{lock.tile[1]}_{lock.name}"


def port(channel: Channel) -> str:
    """A channel as the end of a flow."""
    return f"%{tile_name(channel.tile)}, DMA : {channel.index}"


def attributes(given: Sequence[str]) -> str:
    """A dictionary of attributes."""
    return "{" + ", ".join(given) + "}"


def numbers(values: Sequence[int]) -> str:
    """A list of numbers."""
    return f"[{', '.join(map(str, values))}]"
