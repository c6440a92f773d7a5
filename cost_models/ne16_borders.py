"""Where padding means another value than 0, NE16's borders are jobs apart: which, and how many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from match_aie.hardware import Array, Ranges
from match_aie.workload import Workload


def bordered(workload: Workload) -> bool:
    """Whether padding means another value than 0, which takes a job for every border."""
    window = workload.window
    return window is not None and any(window.padding) and workload.operand("x").zero_point != 0


def edges(workload: Workload, axis: int) -> tuple[int, ...]:
    """First outputs, along rows (0) or columns (1), of other padding than those before."""
    window, dim = workload.window, ("OY", "OX")[axis]
    assert window is not None
    size = workload.sizes[dim]
    seen = (size - 1) * window.stride[axis] + workload.sizes["FY"] - window.padding[axis]
    low = 1 if window.padding[axis] else 0
    high = size - 1 if seen > workload.operand("x").shape[1 + axis] else size
    return tuple(sorted({edge for edge in (low, high) if 0 < edge < size}))


def parts_of(workload: Workload, ranges: Ranges) -> Iterator[tuple[tuple[int, int], ...]]:
    """Rows and columns, as ranges, of the jobs of a tile whose padding is not 0.

    Edges are jobs apart.
    """
    bands = []
    for axis, dim in enumerate(("OY", "OX")):
        start, length = ranges[dim]
        inside = (e for e in edges(workload, axis) if start < e < start + length)
        cuts = (start, *inside, start + length)
        bands.append([(first, last - first) for first, last in pairwise(cuts)])
    return product(*bands)


def cut_in_jobs(
    workload: Workload, axis: int, sizes: Array, step: int, least: bool
) -> tuple[Array, Array, Array]:
    """What a tile of so many rows (0) or columns (1) is where edges are jobs apart.

    Parts, those of them that are one step at most, and steps of all parts. What edges add is spread
    over the tiles that cover the axis: no tile knows where it lies.

    Args:
        workload: of a border.
        axis: see above.
        sizes: of tiles.
        step: rows or columns that NE16 makes at a time.
        least: parts and steps, summed over all tiles of an axis, also a remainder, are never more
            than there are, and parts of one step never fewer.
    """
    whole = workload.sizes[("OY", "OX")[axis]]
    apart = edges(workload, axis)
    full = {size: _added(whole, apart, size, step) for size in range(1, whole + 1)}
    adds = _for_certain(whole, full) if least else full
    found = [np.zeros(np.shape(sizes))] * 3
    for size in map(int, np.unique(sizes)):
        own = 1, int(size <= step), -(-size // step)
        tiles, even = -(-whole // size), whole // size
        shares = tiles, even if least else tiles, tiles
        found = [
            np.where(np.asarray(sizes) == size, one + added / share, before)
            for before, one, added, share in zip(found, own, adds[size], shares, strict=True)
        ]
    return found[0], found[1], found[2]


def _added(whole: int, apart: tuple[int, ...], size: int, step: int) -> tuple[int, int, int]:
    """By edges, where tiles of `size` cover an axis: parts, parts of one step, and steps."""
    starts = range(0, whole, size)
    plain, cut = (
        [-(-(last - first) // step) for first, last in pairwise(sorted(at))]
        for at in ({*starts, whole}, {*starts, *apart, whole})
    )
    return len(cut) - len(plain), cut.count(1) - plain.count(1), sum(cut) - sum(plain)


def _for_certain(
    whole: int, full: dict[int, tuple[int, int, int]]
) -> dict[int, tuple[int, int, int]]:
    """What sizes add: one that may be another one's remainder adds no more parts and steps."""
    found = dict(full)
    for size, (parts, _, steps) in full.items():
        if rest := whole % size:
            own = found[rest]
            found[rest] = min(own[0], parts), own[1], min(own[2], steps)
    return found
