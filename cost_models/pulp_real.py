"""The cluster's float32 kernels: cycles of a tile, in closed form.

In the manner of `match_aie.cost_models.pulp_nn`. Assumptions, as GAP9's FPUs are described nowhere:
two cores share one, which takes a fused multiply-add a cycle. An exponential is 92 instructions and
a division of 15 cycles, counted on the control core.
"""

from __future__ import annotations

import numpy as np

from match_aie.cost_models.pulp_rows import (
    DIVIDE,
    DIVISION,
    ENTER,
    FLOAT,
    FLOAT_DIVISION,
    PART,
    STALL,
    Workers,
    up,
)
from match_aie.hardware import Array, Tile
from match_aie.workload import Workload

SHARING, EXPONENTIAL = 2.0, 106.0


def real_cycles(
    cluster: Workers, workload: Workload, t: Tile, inside: tuple[float, float]
) -> Array:
    """Of `t`, which has every dimension.

    Args:
        cluster: its cores and banks.
        workload: of float32.
        t: the tile.
        inside: rows and columns of a window that lie in the image, of the busiest core.
    """
    columns = workload.sizes["K"]
    if workload.kind in ("softmax", "layer_norm"):
        # Maximum, difference, exponential, sum, quotient; or a sum, one of squares, four steps.
        softmax = 7 + 3 * FLOAT + EXPONENTIAL + FLOAT_DIVISION
        each = softmax if workload.kind == "softmax" else 6 + 8 * FLOAT
        row = 30.0 if workload.kind == "softmax" else 40 + 4 * FLOAT_DIVISION
        return np.asarray(ENTER + PART + up(t["B"], cluster.cores) * (row + columns * each))
    if workload.kind == "add":
        # Two loads, the second waited for, a sum, two bounds with a branch each, a store.
        units, mine = cluster.divided(t["B"], t["K"], np.asarray(20), np.asarray(12))
        each = cluster.busy(2 + STALL + FLOAT + 2 * (FLOAT + 1) + 1, 3)
        return np.asarray(ENTER + DIVIDE + units * (20 + mine * each))
    d = workload.sizes
    product = workload.kind in ("conv2d", "dense") and not workload.depthwise
    channels, deep = (t["K"], d["C"]) if product else (t["G"], 1)
    units, blocks = cluster.divided(
        t["B"] * t["OY"] * t["OX"],
        up(channels, 4),
        np.asarray(64),
        np.asarray((10 * deep if product else 32) * d["FY"] * d["FX"] + 32),
    )
    four, one = _blocks(cluster, workload, product, inside)
    mine = np.minimum(4 * blocks, channels)
    work = 7 * DIVISION + 24 + mine // 4 * four + mine % 4 * one
    return np.asarray(ENTER + DIVIDE + units * work)


def _blocks(
    cluster: Workers, workload: Workload, product: bool, inside: tuple[float, float]
) -> tuple[float, float]:
    """Four channels of a pixel, and one: sums, bias, bounds, stores."""
    rows, columns = inside
    biased = any(operand.name == "bias" for operand in workload.operands)
    stored = 5 + (2 + FLOAT if biased else 0.0)
    if not product:
        each = {"conv2d": 6 + FLOAT, "max_pool2d": 5 + 2 * FLOAT, "avg_pool2d": 5 + FLOAT}
        end = FLOAT_DIVISION + 6 if workload.kind == "avg_pool2d" else 0.0
        one = stored + 14 + 6 * rows + rows * columns * each[workload.kind] + end
        return 4 * one, one
    deep = workload.sizes["C"]
    # Five loads and four multiply-adds, or what the FPUs need for these.
    inner = max(cluster.busy(9, 5), 4 * SHARING)
    four = 4 * stored + 24 + 6 * rows + rows * columns * (12 + deep * inner)
    one = stored + 18 + 6 * rows + rows * columns * (9 + deep * (2 + STALL + FLOAT))
    return four, one
