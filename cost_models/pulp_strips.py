"""Depthwise kernels of the cluster: strips of columns, who has which, and cycles of a tile.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.pulp_rows import DIVIDE, DIVISION, ENTER_BY, PART, Workers, finish, up
from match_aie.hardware import Array, Tile
from match_aie.workload import Window, Workload

#: Output rows that a strip may serve, in the order in which the kernel tries them.
LINES = (4, 2, 1)


@dataclass(frozen=True)
class Strips:
    """What the busiest core has, and what all strips of a tile are like.

    Attributes:
        lines: output rows that one strip serves.
        units: of so many rows each, or of what is left.
        blocks: of four channels, of each unit.
        rows: of all units together.
        channels: of all blocks of a unit.
        columns: of a strip, padding included.
        words: of a column.
    """

    lines: Array
    units: Array
    blocks: Array
    rows: Array
    channels: Array
    columns: Array
    words: int


def _window(workload: Workload) -> Window:
    if workload.window is None:
        raise ValueError("a convolution has a window")
    return workload.window


def is_three(workload: Workload) -> bool:
    """Whether a row of weights is three neighbouring words, which stay in registers."""
    d = workload.sizes
    return d["FX"] == 3 and d["FY"] <= 4 and _window(workload).dilation[1] == 1


def is_five(workload: Workload) -> bool:
    """Whether a row of weights is ten words, which cores with Xpulp keep in registers."""
    d = workload.sizes
    return d["FX"] == 5 and 5 <= d["FY"] <= 8 and _window(workload).dilation[1] == 1


def _serves(workload: Workload, lines: int, ten: bool) -> bool:
    """Whether a strip's columns hold what so many output rows see, and the kernel uses that."""
    window, rows = _window(workload), workload.sizes["FY"]
    down = (lines - 1) * window.stride[0]
    if lines == 1:
        return True
    if window.dilation[0] != 1 or down + rows > 4 * -(-rows // 4):
        return False
    return lines * window.stride[0] <= 2 if is_three(workload) else ten and is_five(workload)


def tried(workload: Workload, ten: bool) -> tuple[int, ...]:
    """Of `LINES` those that the kernel chooses from: of five columns all that it may, else most."""
    found = tuple(lines for lines in LINES if _serves(workload, lines, ten))
    return found if ten and is_five(workload) else found[:1]


def strips(shared: Workers, workload: Workload, t: Tile, *, ten: bool) -> Strips:
    """How the work of a tile is shared: the first of equals, as `ma_plan_of` decides.

    Args:
        shared: the cores.
        workload: a depthwise convolution.
        t: the tile, with every dimension.
        ten: whether ten words of weights stay in registers (with Xpulp).
    """
    d, window = workload.sizes, _window(workload)
    words = -(-d["FY"] // 4)
    columns = (t["OX"] - 1) * window.stride[1] + (d["FX"] - 1) * window.dilation[1] + 1
    fours, unit = up(t["G"], 4), np.asarray(72)
    line = t["OX"] * (2 * words * d["FX"] + 8) + 30
    found = []
    for lines in tried(workload, ten):
        block = 20 * columns * words + 160 * words + 250 + 4 * lines * line
        units, blocks = shared.divided(t["B"] * up(t["OY"], lines), fours, unit, block)
        load = units * (unit + blocks * block)
        found.append(np.broadcast_arrays(lines, units, blocks, load))
    every = np.stack([np.stack(one) for one in found])
    best = every[:, 3].argmin(axis=0)
    lines, units, blocks = (
        np.take_along_axis(every[:, at], best[None], axis=0)[0] for at in range(3)
    )
    rows = np.minimum(units * lines, t["B"] * t["OY"])
    channels = np.minimum(4 * blocks, t["G"])
    return Strips(lines, units, blocks, rows, channels, columns, words)


def strip_cycles(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """For each group of rows and four channels: columns to a strip, then runs of words.

    Args:
        cluster: the cores, with Xpulp.
        workload: a depthwise convolution.
        t: the tile, with every dimension.
    """
    of = strips(cluster, workload, t, ten=True)
    image = np.minimum(of.columns, workload.operand("x").shape[2])
    outside = of.columns - image
    lines = _lines(cluster, workload, of, t["OX"])
    total = of.units * (2 * DIVISION + 10)
    counts: Mapping[int, Array] = {4: of.channels // 4}
    counts = {**counts, **{n: np.asarray(of.channels % 4 == n) for n in (1, 2, 3)}}
    for n, count in counts.items():
        turn = cluster.busy(21, 8) if n == 4 else cluster.busy(21 + 17 * n, 5 * n)
        pad = 30 * (outside > 0) + outside * cluster.busy(n + 5, n)
        strip = 250 + of.words * (122 + pad + image * turn)
        total = total + count * (of.units * strip + n * lines)
    plan = len(tried(workload, True)) * (DIVIDE - 2 * PART) + 2 * PART
    return np.asarray(ENTER_BY["depthwise"] + plan + total)


def _lines(cluster: Workers, workload: Workload, of: Strips, columns: Array) -> Array:
    """One channel's output rows: words from strips, dot products, requantised."""
    store, window = finish(workload), _window(workload)
    if is_three(workload):
        pairs = np.where(of.lines == 2, of.rows // 2, 0)
        one, two = (
            40 + 16 * (n - 1) + columns * cluster.busy(4 + n * (5 + store), 3 + n) for n in (1, 2)
        )
        return np.asarray(pairs * two + (of.rows - 2 * pairs) * one)
    steps = workload.sizes["FX"] * of.words
    if is_five(workload) and window.stride[1] == 1:
        # Four columns before the first output; two loads, zero, ten products, address, branch.
        each = 140 + columns * cluster.busy(15 + store, 3)
        return np.asarray(of.units * 45 + of.rows * each)
    if is_five(workload):
        # Ten loads, ten products; two addresses, a zero, and what is stored.
        each = 50 + columns * cluster.busy(2 * steps + 3 + store, steps + 1)
        return np.asarray(of.units * 45 + of.rows * each)
    runs = 1 if window.dilation[1] == 1 else workload.sizes["FX"]
    each = 60 + columns * cluster.busy(11 + 5 * runs + 4 * steps + store, 2 * steps + 1)
    return np.asarray(of.rows * each)
