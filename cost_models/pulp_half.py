"""The cluster's kernels on 16-bit inputs: cycles of a tile, counted in their C in closed form.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from. Nothing of it
was timed anywhere.
"""

from __future__ import annotations

import numpy as np

from match_aie.cost_models.pulp_rows import DIVIDE, DIVISION, ENTER_BY, STALL, Workers, up
from match_aie.hardware import Array, Tile
from match_aie.workload import Operand, Workload

#: From a sum to the stored result: addition, upper half of a product (5), addition, shift, zero
#: point, two limits, which width, store.
AFTER = 13.0
#: What places an output pixel and its window, and finds its rows and columns inside (divisions).
PLACE = 40.0 + 6 * DIVISION


def is_half(workload: Workload) -> bool:
    """Whether it is a product with an input of 16 bits."""
    x = workload.operand("x").dtype if workload.kind in ("conv2d", "dense") else ""
    return x in ("int16", "uint16")


def half_bytes(weight: Operand, nbytes: Array) -> Array:
    """Of rows of weights as they are stored, 16 bits each in whole words, `nbytes` in the model."""
    numbers = weight.size // weight.shape[0]
    rows = nbytes // (numbers * (weight.nbytes // weight.size))
    return np.asarray(rows * (4 * up(np.asarray(numbers), 2)))


def reads_in_place(workload: Workload) -> bool:
    """Whether its windows are read where they lie: one pixel of an even number of channels."""
    d, window = workload.sizes, workload.window
    one = d["FY"] * d["FX"] == 1 and d["C"] % 2 == 0
    return one and (window is None or not any(window.padding))


def half_cycles(
    cluster: Workers, workload: Workload, t: Tile, inside: tuple[float, float]
) -> Array:
    """Cycles of one call.

    Args:
        cluster: the cores.
        workload: a convolution or dense layer of 16-bit inputs.
        t: with every dimension.
        inside: filter rows, and columns, that lie in the image, on average.
    """
    if workload.depthwise:
        return _depthwise(cluster, workload, t, inside)
    d = workload.sizes
    words = -(-d["FY"] * d["FX"] * d["C"] // 2)
    pixels = t["B"] * t["OY"] * t["OX"]
    units, blocks = cluster.divided(
        up(pixels, 2),
        up(t["K"], 4),
        np.asarray(6 * words + 100),
        np.asarray(14 * words + 120),
    )
    mine = np.minimum(2 * units, pixels)
    channels = np.minimum(4 * blocks, t["K"])
    fours, ones = channels // 4, channels % 4
    direct = reads_in_place(workload)
    turned = direct and workload.operand("x").dtype == "uint16"
    both, single = (
        fours * _block(cluster, words, p, 4, turned) + ones * _block(cluster, words, p, 1, turned)
        for p in (2, 1)
    )
    gather = PLACE if direct else PLACE + _gather(workload, inside)
    entered = ENTER_BY["conv2d"] + DIVIDE
    return np.asarray(entered + mine * gather + 10 * units + mine // 2 * both + mine % 2 * single)


def _block(cluster: Workers, words: int, pixels: int, channels: int, turned: bool) -> float:
    """Sums of windows with rows of weights, a word of two inputs a step, and their storing.

    Of uint16 that are read where they lie every word is turned.
    """
    sums = pixels * channels
    stall = STALL if channels == 1 else 0.0
    inner = pixels + channels + sums + stall + pixels * turned
    inner = cluster.busy(inner, pixels + channels)
    return 15 + channels + sums + words * inner + sums * (AFTER + 2)


def _gather(workload: Workload, inside: tuple[float, float]) -> float:
    """A window into scratch: words are loaded, flipped and stored, or filled; 24 a filter row."""
    d = workload.sizes
    rows, columns = inside
    pixel = d["C"] / 2
    line = columns * pixel * 3 + (d["FX"] - columns) * pixel
    return 20 + rows * (24 + line) + (d["FY"] - rows) * (8 + d["FX"] * pixel)


def _depthwise(cluster: Workers, workload: Workload, t: Tile, inside: tuple[float, float]) -> Array:
    """A product at a time: two loads, of which the second is waited for, address, three more."""
    taps = workload.sizes["FY"] * workload.sizes["FX"]
    pixels = t["B"] * t["OY"] * t["OX"]
    units, blocks = cluster.divided(
        pixels, up(t["G"], 4), np.asarray(100), np.asarray(4 * (8 * taps + 40))
    )
    channels = np.minimum(4 * blocks, t["G"])
    rows, columns = inside
    each = 20 + AFTER + 2 + rows * (8 + columns * cluster.busy(7 + STALL, 2))
    return np.asarray(ENTER_BY["depthwise"] + DIVIDE + units * (PLACE + channels * each))
