"""The cluster's products of half precision: cycles of a tile, counted in their C in closed form.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from. What the
kernel (`runtime/kernels/ma_half.c`) does outside its loops over words was counted in its C,
compiled by GCC 12 for rv32imfc at -O3 with an instruction in the place of each of half precision
(`benchmarks/gap9_float16.py`): least squares over 70 random layers, 0.7 % off on average and 5.8 at
worst on 70 others. Loops over words take the instructions that are left with hardware loops.
ASSUMPTIONS, as what GAP9's FPUs take is published nowhere: two cores share one, which takes an
instruction a cycle, of one number or of two halves.
"""

from __future__ import annotations

import numpy as np

from match_aie.cost_models.pulp_real import SHARING
from match_aie.cost_models.pulp_rows import FLOAT, STALL, Workers, up
from match_aie.hardware import Array, Tile
from match_aie.workload import FLOAT16_PAIRS, Operand, Workload

#: Once; a pixel, with its window's place; a stretch that is rounded, or filled.
ENTER, PIXEL, COPY, FILL = 420.0, 429.0, 24.0, 40.0
#: Four channels of a window, or one: bias and two bounds wait for each other.
FOUR, ONE = 75.0 + 12 * (FLOAT - 1), 28.0 + 3 * (FLOAT - 1)
#: Both halves of four sums, or of one, added to float32.
FOUR_SUMS, ONE_SUM = 32.0, 19.0 + 2 * FLOAT


def is_float16(workload: Workload) -> bool:
    """Whether its products are of half precision."""
    return workload.real is not None and workload.real.precision == "float16"


def float16_bytes(weight: Operand, nbytes: Array) -> Array:
    """Of rows of weights as they are stored, which take `nbytes` in float32."""
    numbers = weight.size // weight.shape[0]
    return np.asarray(nbytes // (4 * numbers) * (4 * up(np.asarray(numbers), 2)))


def float16_cycles(
    cluster: Workers, workload: Workload, t: Tile, inside: tuple[float, float]
) -> Array:
    """Cycles of one call.

    Args:
        cluster: the cores.
        workload: a convolution or dense layer with products of half precision.
        t: with every dimension.
        inside: filter rows, and columns, that lie in the image, on average.
    """
    d = workload.sizes
    words = -(-d["FY"] * d["FX"] * d["C"] // 2)
    units, blocks = cluster.divided(
        t["B"] * t["OY"] * t["OX"],
        up(t["K"], 4),
        np.asarray(2 * words + 100),
        np.asarray(10 * words + 100),
    )
    channels = np.minimum(4 * blocks, t["K"])
    sums = -(-words // FLOAT16_PAIRS)
    # Five loads and four multiply-adds of two, or what the FPUs need for these.
    word = max(cluster.busy(9, 5), 4 * SHARING)
    four = FOUR + sums * max(FOUR_SUMS, 16 * SHARING) + words * word
    one = ONE + sums * ONE_SUM + words * (2 + STALL + FLOAT)
    work = PIXEL + _gather(cluster, workload, inside) + channels // 4 * four + channels % 4 * one
    return np.asarray(ENTER + units * work)


def _gather(cluster: Workers, workload: Workload, inside: tuple[float, float]) -> float:
    """A window into scratch: two loads, a conversion that waits for the second, and a store."""
    d = workload.sizes
    rows, columns = inside
    pair, zero = cluster.busy(4 + STALL, 3), cluster.busy(1, 1)
    window = workload.window
    stretches = 1.0 if window is None or window.dilation[1] == 1 else columns
    halves = d["C"] / 2
    line = stretches * COPY + 2 * FILL + columns * halves * pair
    line += (d["FX"] - columns) * halves * zero
    return rows * line + (d["FY"] - rows) * (FILL + d["FX"] * halves * zero)
