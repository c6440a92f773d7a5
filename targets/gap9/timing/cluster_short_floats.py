"""Simulated cycles of the cluster's products of floats of 16 bits, core by core, window by window.

As `timing/cluster.py` has those of 8 bits; follows `runtime/kernels/ma_half.c`. What lies outside
the loops over words was counted in the compiled kernel: `match_aie.cost_models.pulp_short_floats`.
ASSUMPTIONS, as GAP9's FPUs are described nowhere: those of `timing/cluster_real.py`, and that an
instruction of two halves takes as long as one of a number.
"""

from __future__ import annotations

import numpy as np

from match_aie.targets.gap9.timing.cluster_real import fused
from match_aie.targets.gap9.timing.spans import image_of
from match_aie.targets.gap9.timing.workers import (
    FLOAT,
    LOAD_USE,
    Ranges,
    contended,
    divide,
    up,
)
from match_aie.workload import FLOAT16, SHORT_PAIRS, ShortFloat, Workload, short_float

#: Counted: a call; a pixel, and one whose window is read where it lies; a stretch that is copied,
#: or filled with zeros; to round a result.
ONCE, PIXEL, DIRECT, COPY, FILL, ROUND = 452, 501, 232, 31, 36, 5
#: Counted, of four channels and of one, by what numbers are: all but sums.
CHANNELS = {"float16": {4: 126, 1: 46}, "bfloat16": {4: 130, 1: 42}}
#: Counted, of short sums: what adds them to float32, and how often an FPU is asked for that.
#: A bfloat16 is the upper half of a float32.
SUMS = {"float16": {4: (40, 16), 1: (21, 4)}, "bfloat16": {4: (47, 8), 1: (27, 2)}}
#: Float operations behind a sum, each of which waits for the one before: bias and bounds.
BEHIND = 3

#: For every output row or column: (filter positions before the image, inside).
Seen = tuple[tuple[int, int], ...]


def short_float_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Cycles of every core in one call.

    Args:
        workload: a convolution or dense layer with products of floats of 16 bits.
        ranges: (start, length) of every loop dimension that the call covers.
        cores: that share the work.
    """
    rows: Seen = ((0, 1),)
    columns, batch = rows, ranges["B"][1]
    if workload.window is not None:
        image = image_of(workload, ranges)
        rows, columns, batch = image.rows_seen, image.columns_seen, image.batch
    d, of = workload.sizes, short_float(workload) or FLOAT16
    words = up(d["FY"] * d["FX"] * d["C"], 2)
    gathered = np.tile(_gather(workload, rows, columns).reshape(-1), batch)
    channels, found = ranges["K"][1], []
    behind = BEHIND * (FLOAT - 1)
    behind += ROUND + FLOAT - 1 if workload.output.dtype != "float32" else 0
    shares = divide(cores, len(gathered), up(channels, 4), 2 * words + 100, 10 * words + 100)
    for share in shares:
        mine = max(0, min(channels, 4 * share.blocks[1]) - 4 * share.blocks[0])
        sums = mine // 4 * _block(of, words, 4, behind)
        sums += mine % 4 * _block(of, words, 1, behind)
        windows = gathered[slice(*share.units)]
        found.append(ONCE + float(windows.sum()) + len(windows) * sums)
    return found


def _gather(workload: Workload, rows: Seen, columns: Seen) -> np.ndarray:
    """Cycles to place, and to read, a window for every output row and column."""
    d, window = workload.sizes, workload.window
    narrow = workload.operand("x").dtype != "float32"
    if narrow and _in_place(workload):
        return np.full((len(rows), len(columns)), DIRECT)
    together = window is None or window.dilation[1] == 1
    lines = []
    for _, inside in columns:
        stretches = 1 if together else inside
        outside = FILL * 2 + _filled((d["FX"] - inside) * d["C"])
        lines.append(COPY * stretches + _moved(inside * d["C"], narrow) + outside)
    seen = np.array([inside for _, inside in rows])[:, None]
    empty = FILL + _filled(d["FX"] * d["C"])
    return np.asarray(PIXEL + seen * np.array(lines) + (d["FY"] - seen) * empty)


def _in_place(workload: Workload) -> bool:
    """Whether windows are one pixel of whole words."""
    d, window = workload.sizes, workload.window
    apart = window is None or not any(window.padding)
    return apart and d["FY"] == d["FX"] == 1 and d["C"] % 2 == 0


def _moved(numbers: int, narrow: bool) -> float:
    """Two loads, a conversion that waits for the second one, a store; of 16 bits a copy."""
    pair = contended(2 + LOAD_USE, 2) if narrow else contended(4 + LOAD_USE, 3)
    return pair * up(numbers, 2)


def _filled(numbers: int) -> float:
    return contended(1, 1) * up(numbers, 2)


def _block(of: ShortFloat, words: int, channels: int, behind: float) -> float:
    """Sums of a window with `channels` rows of weights, and their storing.

    Args:
        of: what products are of.
        words: of a row of weights.
        channels: rows, 1 or 4.
        behind: cycles behind each sum.
    """
    counted, operations = SUMS[of.dtype][channels]
    word, short = 2.0 + LOAD_USE + FLOAT, counted + 2.0 * FLOAT
    if channels > 1:
        word = fused(1 + 2 * channels, 1 + channels, channels)
        short = fused(counted, 0, operations)
    after = channels * behind
    return CHANNELS[of.dtype][channels] + after + up(words, SHORT_PAIRS) * short + words * word
