"""The cluster's products of floats of 16 bits: cycles of a tile, counted in their C in closed form.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from. What the
kernel (`runtime/kernels/ma_half.c`) does outside its loops over words was counted in its C,
compiled by GCC 12 for rv32imfc at -O3 with an instruction in the place of each of theirs
(`benchmarks/gap9_short_floats.py`): least squares over 250 random layers, 0.8 % off on average and
8.4 at worst on 250 others. Loops over words take the instructions that are left with hardware
loops.
ASSUMPTIONS, as what GAP9's FPUs take is published nowhere: two cores share one, which takes an
instruction a cycle, of one number or of two halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from match_aie.cost_models.pulp_half import reads_in_place
from match_aie.cost_models.pulp_real import SHARING
from match_aie.cost_models.pulp_rows import FLOAT, STALL, Workers, up
from match_aie.hardware import Array, Tile
from match_aie.workload import FLOAT16, SHORT_PAIRS, Operand, Workload, short_float

#: Once; a pixel, with its window's place, and one whose window is read where it lies; a stretch
#: that is rounded or copied, or filled; to round a result.
ENTER, PIXEL, DIRECT, COPY, FILL, ROUND = 452.0, 501.0, 232.0, 31.0, 36.0, 5.0


class _Counted(NamedTuple):
    """Cycles outside the loops over words: of four channels or one, and of their short sums."""

    four: float
    one: float
    four_sums: float
    one_sum: float
    operations: float  # of an FPU, in both halves of four sums


#: By what numbers are. A bfloat16 becomes a float32 without an FPU: it is its upper half.
COUNTED = {"float16": _Counted(126, 46, 40, 21, 16), "bfloat16": _Counted(130, 42, 47, 27, 8)}


def short_float_bytes(weight: Operand, nbytes: Array) -> Array:
    """Of rows of weights as they are stored, which take `nbytes` in float32."""
    numbers = weight.size // weight.shape[0]
    return np.asarray(nbytes // (4 * numbers) * (4 * up(np.asarray(numbers), 2)))


def short_float_cycles(
    cluster: Workers, workload: Workload, t: Tile, inside: tuple[float, float]
) -> Array:
    """Cycles of one call.

    Args:
        cluster: the cores.
        workload: a convolution or dense layer with products of floats of 16 bits.
        t: with every dimension.
        inside: filter rows, and columns, that lie in the image, on average.
    """
    d, of = workload.sizes, short_float(workload) or FLOAT16
    words = -(-d["FY"] * d["FX"] * d["C"] // 2)
    units, blocks = cluster.divided(
        t["B"] * t["OY"] * t["OX"],
        up(t["K"], 4),
        np.asarray(2 * words + 100),
        np.asarray(10 * words + 100),
    )
    channels = np.minimum(4 * blocks, t["K"])
    sums = -(-words // SHORT_PAIRS)
    # Five loads and four multiply-adds of two, or what the FPUs need for these.
    word, counted = max(cluster.busy(9, 5), 4 * SHARING), COUNTED[of.dtype]
    # Bias and two bounds wait for each other, and so does a rounding.
    waits = 3 * (FLOAT - 1) + (ROUND + FLOAT - 1 if workload.output.dtype != "float32" else 0.0)
    four = counted.four + 4 * waits + words * word
    four = four + sums * max(counted.four_sums, counted.operations * SHARING)
    one = counted.one + waits + words * (2 + STALL + FLOAT)
    one = one + sums * (counted.one_sum + 2 * FLOAT)
    work = _window(cluster, workload, inside) + channels // 4 * four + channels % 4 * one
    return np.asarray(ENTER + units * work)


def _window(cluster: Workers, workload: Workload, inside: tuple[float, float]) -> float:
    """A pixel's window into scratch: two loads, a conversion that waits for the last, a store.

    Of an x of 16 bits a load that the store waits for; or nothing, where it is read as it lies.
    """
    d = workload.sizes
    rows, columns = inside
    narrow = workload.operand("x").dtype != "float32"
    if narrow and reads_in_place(workload):
        return DIRECT
    pair = cluster.busy(2 + STALL, 2) if narrow else cluster.busy(4 + STALL, 3)
    zero = cluster.busy(1, 1)
    window = workload.window
    stretches = 1.0 if window is None or window.dilation[1] == 1 else columns
    halves = d["C"] / 2
    line = stretches * COPY + 2 * FILL + columns * halves * pair
    line += (d["FX"] - columns) * halves * zero
    return PIXEL + rows * line + (d["FY"] - rows) * (FILL + d["FX"] * halves * zero)
