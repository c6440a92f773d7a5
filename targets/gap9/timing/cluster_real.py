"""Simulated cycles of the cluster's float32 kernels, core by core.

ASSUMPTIONS, as GAP9's FPUs are described nowhere: the cores share half as many FPUs as they are,
each with a fused multiply-add a cycle; `FLOAT` cycles to a result that is needed at once.
Exponentials are the control core's, counted (`targets/gap9/core.py`).
"""

from __future__ import annotations

import numpy as np

from match_aie.targets.gap9.core import COUNTS
from match_aie.targets.gap9.core import DIVISION as EXP_DIVISION
from match_aie.targets.gap9.timing.spans import image_of
from match_aie.targets.gap9.timing.workers import (
    DIVIDE,
    DIVISION,
    ENTER,
    FLOAT,
    FLOAT_DIVISION,
    LOAD_USE,
    PART,
    Ranges,
    contended,
    divide,
    part,
    up,
)
from match_aie.workload import Workload

#: Cores that share an FPU.
SHARING = 2


def fused(instructions: float, loads: float, operations: float) -> float:
    """Cycles of a stretch of code on all cores, bounded by their FPUs."""
    return max(contended(instructions, loads), operations * SHARING)


def exponential() -> float:
    """Cycles of an exponential."""
    instructions, divisions = COUNTS["rv32imfc"].outputs["exp"]
    return instructions + EXP_DIVISION * divisions


def _stored(workload: Workload) -> int:
    """Bias, bounds, store of a result."""
    biased = any(operand.name == "bias" for operand in workload.operands)
    return 5 + (2 + FLOAT if biased else 0)


def _seen(workload: Workload, ranges: Ranges) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns inside the image of every window, [pixels] of all images."""
    if workload.kind == "dense":
        ones = np.ones(ranges["B"][1], int)
        return ones, ones
    image = image_of(workload, ranges)
    rows = np.array([n for _, n in image.rows_seen])[:, None]
    columns = np.array([n for _, n in image.columns_seen])[None]
    high, wide = np.broadcast_arrays(rows, columns)
    return np.tile(high.reshape(-1), image.batch), np.tile(wide.reshape(-1), image.batch)


def window_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Pixels and blocks of channels on cores: chains of multiply-adds, sums, or comparisons."""
    d = workload.sizes
    product = workload.kind in ("conv2d", "dense") and not workload.depthwise
    channels = ranges["K"][1] if product else ranges["G"][1]
    rows, columns = _seen(workload, ranges)
    places, deep = rows * columns, d["C"] if product else 1
    if product:
        # A load of x, four of weights, as many multiply-adds; or one of each, which waits.
        four = 4 * _stored(workload) + 24 + 6 * rows
        four = four + places * (12 + deep * fused(9, 5, 4))
        one = _stored(workload) + 18 + 6 * rows + places * (9 + deep * (2 + LOAD_USE + FLOAT))
    else:
        each = {"conv2d": 6 + FLOAT, "max_pool2d": 5 + 2 * FLOAT, "avg_pool2d": 5 + FLOAT}
        end = FLOAT_DIVISION + 6 if workload.kind == "avg_pool2d" else 0
        one = _stored(workload) + 14 + 6 * rows + places * each[workload.kind] + end
        four = 4 * one
    found = []
    per_block = (10 * deep if product else 32) * d["FY"] * d["FX"] + 32
    for share in divide(cores, len(places), up(channels, 4), 64, per_block):
        first, last = 4 * share.blocks[0], min(channels, 4 * share.blocks[1])
        whole, rest = divmod(max(0, last - first), 4)
        mine = slice(*share.units)
        work = 7 * DIVISION + 24 + whole * four[mine] + rest * one[mine]
        found.append(ENTER + DIVIDE + float(work.sum()))
    return found


def sum_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Of `ma_real_add`: two loads, a sum, two bounds with a branch each, a store."""
    each = contended(2 + LOAD_USE + FLOAT + 2 * (FLOAT + 1) + 1, 3)
    found = []
    for share in divide(cores, ranges["B"][1], ranges["K"][1], 20, 12):
        rows, columns = (last - first for first, last in (share.units, share.blocks))
        found.append(ENTER + DIVIDE + max(0, rows) * (20 + max(0, columns) * each))
    return found


def row_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Softmax: maximum, exponentials with their sum, quotients. Layer norm: two passes and one."""
    columns = workload.sizes["K"]
    if workload.kind == "softmax":
        each = 2 + FLOAT + 3 + 2 * FLOAT + exponential() + 2 + FLOAT_DIVISION
        row = 30 + columns * each
    else:
        each = (1 + FLOAT) + (1 + 3 * FLOAT) + (4 + 4 * FLOAT)
        row = 40 + 4 * FLOAT_DIVISION + columns * each
    shares = [part(ranges["B"][1], core, cores) for core in range(cores)]
    return [ENTER + PART + row * (last - first) for first, last in shares]
