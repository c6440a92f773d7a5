"""Whether memory tiles have room for buffers: bytes, channels, descriptors."""

from __future__ import annotations

from collections.abc import Iterable
from operator import sub

#: Bytes, channels in and out, and descriptors that a buffer takes of a memory tile, or that it has.
Need = tuple[int, ...]


def hold(needs: Iterable[Need], room: Need, tiles: int) -> bool:
    """Whether so many memory tiles hold all buffers, the largest first, each in the first it fits.

    Args:
        needs: of the buffers.
        room: of a memory tile.
        tiles: how many there are.
    """
    rooms = [room] * tiles
    for need in sorted(needs, key=lambda n: (-n[0], -n[1])):
        for at, free in enumerate(rooms):
            left = tuple(map(sub, free, need))
            if min(left) >= 0:
                rooms[at] = left
                break
        else:
            return False
    return True


def may_hold(needs: Iterable[Need], room: Need, tiles: int) -> bool:
    """Whether `hold` may be true of these or larger needs: by their sums, and one by one."""
    return all(
        max(each) <= most and sum(each) <= tiles * most
        for each, most in zip(zip(*needs, strict=True), room, strict=True)
    )
