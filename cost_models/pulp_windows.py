"""Windows of an image on the cluster: which lie inside, and cycles to gather them.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from: means over all
windows of a layer, whatever its tile has of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.pulp_rows import Workers
from match_aie.hardware import Array, Tile
from match_aie.workload import Workload


def inside(workload: Workload, axis: int) -> list[int]:
    """For every output row (0) or column (1): filter positions inside the image.

    Raises:
        ValueError: the workload has no window.
    """
    window, d = workload.window, workload.sizes
    if window is None:
        raise ValueError(f"a {workload.kind} has no window")
    size, pad = workload.operand("x").shape[1 + axis], window.padding[axis]
    step, apart = window.stride[axis], window.dilation[axis]
    first = np.arange(d[("OY", "OX")[axis]])[:, None] * step - pad
    at = first + np.arange(d[("FY", "FX")[axis]]) * apart
    found: list[int] = ((at >= 0) & (at < size)).sum(axis=1).tolist()
    return found


def is_direct(workload: Workload) -> bool:
    """Whether the kernel reads its inputs where they lie: one pixel a window, whole words."""
    d, window = workload.sizes, workload.window
    one = d["FY"] * d["FX"] == 1 and d["C"] % 4 == 0
    return one and window is not None and not any(window.padding)


def _two(each: Array, shape: tuple[int, int]) -> Array:
    """Windows two by two, in the order of output pixels, of [rows, columns]: [pairs, 2].

    The last one may be alone; it is its own pair.
    """
    flat = np.broadcast_to(each, shape).reshape(-1)
    return np.append(flat, flat[-1:])[: 2 * -(-flat.size // 2)].reshape(-1, 2)


def _together(workload: Workload, rows: Array, columns: int) -> Array:
    """Of windows two by two, whether the kernel copies them together, row by row.

    That is where both have neighbouring columns, and see the same rows of the filter, or all.

    Args:
        workload: the layer.
        rows: of the filter inside, for every row of windows.
        columns: how many columns of windows.
    """
    shape, window = (len(rows), columns), workload.window
    whole = (_two(rows[:, None], shape) == workload.sizes["FY"]).all(axis=1)
    line = _two(np.arange(shape[0])[:, None], shape)
    near = window is not None and window.dilation[1] == 1
    return np.asarray((whole | (line[:, 0] == line[:, 1])) & near)


@dataclass(frozen=True)
class Pairs:
    """Windows of a layer two by two, on average of them all.

    Attributes:
        together: the share that is copied together.
        cut: of all, those together that see a part of the filter's rows.
        edges: windows of these, a pair, that see a part of its columns.
    """

    together: Array
    cut: Array
    edges: Array


def pairs(workload: Workload, width: Array) -> Pairs:
    """How windows are gathered in tiles so many columns wide."""
    d = workload.sizes
    rows, columns = (np.array(inside(workload, axis)) for axis in (0, 1))
    found = []
    for tile in np.unique(np.asarray(width)).tolist():
        each = []
        for start in range(0, columns.size, tile):
            at = columns[start : start + tile]
            near, shape = _together(workload, rows, at.size), (len(rows), at.size)
            cut = (_two(rows[:, None], shape)[:, 0] < d["FY"]) & near
            edges = (_two(at, shape) < d["FX"]).sum(axis=1) * near
            each.append(np.stack([near, cut, edges]).astype(float))
        found.append(np.concatenate(each, axis=1).mean(axis=1))
    where = np.unique(np.asarray(width), return_inverse=True)[1]
    means = np.array(found)[where].reshape(*np.shape(width), 3)
    return Pairs(means[..., 0], means[..., 1], means[..., 2])


def gathered(cluster: Workers, workload: Workload, t: Tile, units: Array) -> Array:
    """Cycles to gather two windows, mean over the busiest core's, over the layer's tiles.

    Args:
        cluster: the cores.
        workload: a convolution.
        t: the tile, with every dimension.
        units: how many pairs of windows, in the order of output pixels, the busiest core has.
    """
    shape = np.broadcast_shapes(np.shape(t["OX"]), np.shape(t["OY"]), np.shape(units))
    sizes = [np.broadcast_to(size, shape).reshape(-1) for size in (t["OX"], t["OY"], units)]
    kinds, where = np.unique(np.stack(sizes), axis=1, return_inverse=True)
    rows, columns = inside(workload, 0), inside(workload, 1)
    found = []
    for width, height, mine in kinds.T.tolist():
        each = [
            (
                _busiest(_pairs(cluster, workload, down, across), mine),
                tall * wide * down.size * across.size,
            )
            for down, tall in _pieces(rows, height)
            for across, wide in _pieces(columns, width)
        ]
        found.append(np.average([c for c, _ in each], weights=[n for _, n in each]))
    return np.array(found)[where.reshape(-1)].reshape(shape)


def _pieces(seen: list[int], size: int) -> list[tuple[Array, int]]:
    """Different pieces of a list, and how many there are of each."""
    every = Counter(tuple(seen[at : at + size]) for at in range(0, len(seen), size))
    return [(np.array(piece), count) for piece, count in every.items()]


def _busiest(cycles: Array, mine: int) -> float:
    """Mean of those `mine` neighbours, from a multiple of it on, that take longest together."""
    sums = np.add.reduceat(cycles, np.arange(0, cycles.size, mine))
    return float(sums.max()) / min(mine, cycles.size)


def _pairs(cluster: Workers, workload: Workload, rows: Array, columns: Array) -> Array:
    """Cycles to gather windows two by two, of a tile with so much of the filter inside."""
    d, shape = workload.sizes, (len(rows), len(columns))
    seen = _two(rows[:, None], shape)[:, 0]
    line = _two(np.arange(shape[0])[:, None], shape)[:, 0]
    # Rows outside are filled once for all windows of a row of pixels.
    cut = seen < d["FY"]
    fills = cut & (np.diff(line, prepend=-1) != 0)
    filled = 66 * cut + fills * (140 + 2 * ((d["FY"] - seen) * d["FX"] * d["C"] // 4))
    outside = (d["FX"] - columns) * d["C"]
    padded = np.where(outside > 0, 57 + rows[:, None] * (17.5 + outside // 4), 0)
    edges = _two(padded, shape).sum(axis=1)
    both = _two(_both(cluster, workload, rows)[:, None], shape)[:, 0]
    both = both + filled + edges + 150 * ((edges > 0) & ~cut)
    apart = _two(_any(cluster, workload, rows, columns), shape).sum(axis=1)
    return np.asarray(np.where(_together(workload, rows, shape[1]), both, apart))


def _both(cluster: Workers, workload: Workload, rows: Array) -> Array:
    """Two windows, of whose filter so many rows are inside: 120, 23 a row, and words of both.

    The last word of a row may lie over the one before. Each access of words at odd addresses takes
    a second one: loads, where pixels are no whole words; stores, where rows are none.
    """
    nbytes = workload.sizes["FX"] * workload.sizes["C"]
    if nbytes < 4:
        return np.asarray(120 + rows * (40.0 + 4 * nbytes))
    words = -(-nbytes // 4)
    odd = 2 * words * ((workload.sizes["C"] % 4 > 0) + (nbytes % 4 > 0))
    row = 18.0 + 5 * (nbytes > 8) + cluster.busy(4 * words, 4 * words) + odd
    return np.asarray(120 + rows * row)


def _any(cluster: Workers, workload: Workload, rows: Array, columns: Array) -> Array:
    """Any window, [rows, columns]: 260, its padding, 23 a row and what is copied."""
    d, window, c = workload.sizes, workload.window, workload.sizes["C"]
    if window is not None and window.dilation[1] != 1:
        line = columns * (8 + cluster.copied(c, c))
    else:
        line = cluster.copied(columns * c, c)
    outside = np.where(columns < d["FX"], d["FY"], d["FY"] - rows[:, None])
    return np.asarray(260 + outside * (d["FX"] * c) // 4 + rows[:, None] * (23 + line))
