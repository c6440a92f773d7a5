"""Simulated cycles of the cluster's kernels on 16-bit inputs, core by core, window by window.

As `timing/cluster.py` has those of 8 bits; follows `runtime/kernels/ma_conv16.c`.
"""

from __future__ import annotations

import numpy as np

from match_aie.cost_models.pulp_half import reads_in_place
from match_aie.targets.gap9.timing.spans import image_of
from match_aie.targets.gap9.timing.workers import (
    DIVIDE,
    DIVISION,
    ENTER_BY,
    LOAD_USE,
    Ranges,
    contended,
    divide,
    up,
)
from match_aie.workload import Workload

#: `ma_put16`: a sum with its offset, the upper half of a product (five), half, shift, zero point,
#: two limits, a test of the width, a store; and both loads of the channel's numbers.
PUT = 1 + 5 + 1 + 1 + 1 + 2 + 1 + 1 + 2
#: `ma_seen_of` and `ma_out` of a pixel: six divisions, the rest multiplications and limits.
PIXEL = 40 + 6 * DIVISION

#: For every output row or column: (filter positions before the image, inside).
Seen = tuple[tuple[int, int], ...]


def half_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Cycles of every core in one call.

    Args:
        workload: a convolution or dense layer of 16-bit inputs.
        ranges: (start, length) of every loop dimension that the call covers.
        cores: that share the work.
    """
    rows, columns, batch = _windows(workload, ranges)
    pixels = batch * len(rows) * len(columns)
    d = workload.sizes
    if workload.depthwise:
        return _depthwise(workload, ranges, (rows, columns, batch), cores)
    words = up(d["FY"] * d["FX"] * d["C"], 2)
    direct = reads_in_place(workload)
    flips = direct and workload.operand("x").dtype == "uint16"
    gathered = np.zeros(pixels)
    if not direct:
        gathered = np.tile(_gather(workload, rows, columns).reshape(-1), batch)
    channels = ranges["K"][1]
    found = []
    for share in divide(cores, up(pixels, 2), up(channels, 4), 6 * words + 100, 14 * words + 120):
        first, last = share.units
        k, end = 4 * share.blocks[0], min(channels, 4 * share.blocks[1])
        whole, rest = divmod(max(0, end - k), 4)
        here = max(0, min(2 * last, pixels) - 2 * first)
        sums = [
            whole * _block(words, p, 4, flips) + rest * _block(words, p, 1, flips) for p in (1, 2)
        ]
        work = (here // 2) * sums[1] + (here % 2) * sums[0]
        work += 10 * max(0, last - first) + here * PIXEL
        work += float(gathered[2 * first : 2 * first + here].sum())
        found.append(ENTER_BY["conv2d"] + DIVIDE + work)
    return found


def _windows(workload: Workload, ranges: Ranges) -> tuple[Seen, Seen, int]:
    """What windows of output rows, and columns, see; images. A row of a dense layer is a pixel."""
    if workload.window is None:
        return ((0, 1),), ((0, 1),), ranges["B"][1]
    image = image_of(workload, ranges)
    return image.rows_seen, image.columns_seen, image.batch


def _copied(nbytes: int) -> float:
    """`ma_copy16`: load, flip, store of a word; two bytes more."""
    return 3.0 * (nbytes // 4) + (8 + LOAD_USE if nbytes % 4 else 0)


def _filled(nbytes: int) -> float:
    """`ma_fill16`: a store a word; two bytes more."""
    return 1.0 * (nbytes // 4) + (4 if nbytes % 4 else 0)


def _gather(workload: Workload, rows: Seen, columns: Seen) -> np.ndarray:
    """Cycles of `ma_gather16` for every output row and column."""
    d, window = workload.sizes, workload.window
    pixel = 2 * d["C"]
    together = window is None or window.dilation[1] == 1
    lines = []
    for before, inside in columns:
        moved = _copied(inside * pixel) if together else inside * (4 + _copied(pixel))
        after = d["FX"] - before - inside
        lines.append(24 + _filled(before * pixel) + moved + _filled(after * pixel))
    seen = np.array([inside for _, inside in rows])[:, None]
    return np.asarray(
        20 + seen * np.array(lines) + (d["FY"] - seen) * (8 + _filled(d["FX"] * pixel))
    )


def _block(words: int, pixels: int, channels: int, flips: bool) -> float:
    """`ma_channels16`: two inputs and two weights a step, inputs flipped; and what is stored."""
    loads, sums = pixels + channels, pixels * channels
    step = loads + sums + (LOAD_USE if channels == 1 else 0) + (pixels if flips else 0)
    return 15 + channels + sums + words * contended(step, loads) + sums * PUT


def _depthwise(
    workload: Workload, ranges: Ranges, windows: tuple[Seen, Seen, int], cores: int
) -> list[float]:
    """`ma_depthwise16`: pixel by pixel, of each its channels, of these their taps inside.

    Args:
        workload: the layer.
        ranges: that the call covers.
        windows: of `_windows`.
        cores: that share the work.
    """
    rows, columns, batch = windows
    channels, taps = ranges["G"][1], workload.sizes["FY"] * workload.sizes["FX"]
    # Two loads, the use of the second, a zero point, product, sum, two of addresses.
    tap = contended(2 + LOAD_USE + 1 + 1 + 1 + 2, 2)
    inside = np.array([n for _, n in rows])[:, None] * np.array([n for _, n in columns])
    down = np.array([n for _, n in rows])[:, None] + 0 * inside
    each = np.tile((20 + PUT + 8 * down + tap * inside).reshape(-1), batch)
    found = []
    for share in divide(cores, len(each), up(channels, 4), 100, 4 * (8 * taps + 40)):
        mine = max(0, min(channels, 4 * share.blocks[1]) - 4 * share.blocks[0])
        pixels = each[slice(*share.units)]
        entered = ENTER_BY["depthwise"] + DIVIDE
        found.append(entered + PIXEL * len(pixels) + mine * float(pixels.sum()))
    return found
