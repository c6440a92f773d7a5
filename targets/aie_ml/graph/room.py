"""Whether memory tiles have room for buffers: bytes, channels, descriptors."""

from __future__ import annotations

from collections.abc import Iterable

#: Bytes, channels in and out, and descriptors that a buffer takes of a memory tile, or that it has.
Need = tuple[int, int, int, int]


def hold(needs: Iterable[Need], room: Need, tiles: int) -> bool:
    """Whether so many memory tiles hold all buffers, the largest first, each in the first it fits.

    Args:
        needs: of the buffers.
        room: of a memory tile.
        tiles: how many there are.
    """
    rooms = [room] * tiles
    for need in sorted(needs, key=lambda n: (-n[0], -n[1])):
        size, into, out, told = need
        for at, (bytes_, s2mm, mm2s, descriptors) in enumerate(rooms):
            if size <= bytes_ and into <= s2mm and out <= mm2s and told <= descriptors:
                rooms[at] = bytes_ - size, s2mm - into, mm2s - out, descriptors - told
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
