"""Simulated cycles of the cluster's kernels: instructions of their loops, core by core.

Follows `runtime/kernels/*.c` loop by loop: which core does which units (the partition is exact),
what windows at the border see, prologues, remainders. What an instruction takes is in the
constants of `timing/workers.py`; no cycle of these kernels was timed on a chip. Assumptions: the
compiler keeps fields of the tile's structure in registers, uses hardware loops and post-increment
accesses, and places a load's first use later than the next instruction where the loop has room.

Independent of `match_aie.cost_models.pulp_nn`, which has the same kernels in closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from match_aie.cost_models.pulp_half import is_half
from match_aie.cost_models.pulp_plain import InstructionSet, plain_cycles
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.timing.cluster_depthwise import depthwise_cycles
from match_aie.targets.gap9.timing.cluster_half import half_cycles
from match_aie.targets.gap9.timing.cluster_real import row_cycles, sum_cycles, window_cycles
from match_aie.targets.gap9.timing.cluster_recurrent import recurrent_cycles
from match_aie.targets.gap9.timing.cluster_rows import (
    element_cycles,
    norm_cycles,
    permute_cycles,
    product_cycles,
    softmax_cycles,
)
from match_aie.targets.gap9.timing.cluster_short_floats import short_float_cycles
from match_aie.targets.gap9.timing.spans import Image, image_of
from match_aie.targets.gap9.timing.workers import (
    BARRIER,
    CHANNEL,
    DIVIDE,
    DIVISION,
    ENTER_BY,
    FLOAT,
    FLOAT_DIVISION,
    FORK,
    LOAD_USE,
    PART,
    Ranges,
    contended,
    copy_cycles,
    divide,
    finish,
    part,
    up,
)
from match_aie.workload import RECURRENT, ROW_KINDS, Kind, Workload, short_float, whole_image


def _gather_inside(image: Image, workload: Workload) -> np.ndarray:
    """Cycles of `ma_gather_inside` for two windows of every output row.

    A word of each window is two loads and two stores; the last one of a row may overlap the one
    before.
    """
    nbytes = workload.sizes["FX"] * image.channels
    rows = np.array([n for _, n in image.rows_seen])
    if nbytes < 4:
        return np.asarray(120 + rows * (40.0 + 4 * nbytes))
    pairs = (nbytes - 1) // 8
    rest = nbytes - 4 > 8 * pairs
    moved = 4 * (1 + rest + 2 * pairs)
    again = moved // 2 * ((image.channels % 4 != 0) + (nbytes % 4 != 0))
    row = 18.0 + 5 * (pairs > 0) + contended(moved, moved) + again
    return np.asarray(120 + rows * row)


def _gather_any(image: Image, workload: Workload) -> np.ndarray:
    """Cycles of `ma_gather_any` for every output row and column, [rows, columns].

    A window whose rows are cut is filled with padding first, others where rows are outside; then
    what is inside of a row is copied, all of it or, where columns are no neighbours, column by
    column.
    """
    d, c = workload.sizes, image.channels
    misaligned = c % 4 != 0
    rows = np.array([n for _, n in image.rows_seen])[:, None]
    columns = np.array([n for _, n in image.columns_seen])
    if image.dilation[1] == 1:
        line = np.array([copy_cycles(n * c, misaligned) for n in columns])
    else:
        line = columns * (8 + copy_cycles(c, misaligned))
    filled = np.where(columns < d["FX"], d["FY"], d["FY"] - rows) * d["FX"] * c
    return np.asarray(260 + filled // 4 + rows * (23 + line))


def _gather(image: Image, workload: Workload) -> np.ndarray:
    """Cycles to gather each two windows, in the order of output pixels; the last may be single.

    Together, where both see neighbouring columns, and the same rows or all; padding of columns is
    written after (that windows at two corners of the image go by themselves is left out).
    """
    d, batch, c = workload.sizes, image.batch, image.channels
    rows = np.array([n for _, n in image.rows_seen])[:, None]
    columns = np.array([n for _, n in image.columns_seen])
    every = np.ones((len(rows), len(columns)))

    def two(each: np.ndarray) -> np.ndarray:
        """Of an array [rows, columns]: for windows two by two, [pairs, 2]."""
        flat = np.tile((every * each).reshape(-1), batch)
        return np.append(flat, flat[-1:])[: 2 * up(flat.size, 2)].reshape(-1, 2)

    whole = (two(rows) == d["FY"]).all(axis=1)
    line = two(np.arange(len(rows))[:, None])
    # Rows outside are filled once for all windows of a row of pixels.
    cut = two(rows)[:, 0] < d["FY"]
    fills = cut & (np.diff(line[:, 0], prepend=-1) != 0)
    filled = 66 * cut + fills * (140 + 2 * (d["FY"] - two(rows)[:, 0]) * d["FX"] * c // 4)
    outside = (d["FX"] - columns) * c
    padded = two(np.where(outside > 0, 57 + rows * (17.5 + outside // 4), 0)).sum(axis=1)
    both = two(_gather_inside(image, workload)[:, None])[:, 0] + filled
    both += padded + np.where((padded > 0) & ~cut, 150, 0)
    apart = two(_gather_any(image, workload)).sum(axis=1)
    together = (whole | (line[:, 0] == line[:, 1])) & (image.dilation[1] == 1)
    return np.asarray(np.where(together, both, apart))


def _block(words: int, pixels: int, channels: int, workload: Workload) -> float:
    """`ma_sums` and what follows: sums of `pixels` windows with `channels` rows of weights."""
    loads, products = pixels + channels, pixels * channels
    # The last weight is used at once where there is nothing else to do.
    stall = LOAD_USE if channels == 1 else 0
    wide = workload.output.dtype == "int32"
    setup = 22 + channels + products + 3
    after = channels * (1 if wide else CHANNEL) + products * finish(workload) + 5
    return setup + words * contended(loads + products + stall, loads) + after


def _conv2d(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    image = image_of(workload, ranges)
    d, channels = workload.sizes, ranges["K"][1]
    words = up(d["FY"] * d["FX"] * image.channels, 4)
    pixels = image.batch * image.out_rows * image.out_columns
    gather = np.zeros(up(pixels, 2)) if image.direct else _gather(image, workload)
    shares = divide(
        cores,
        up(pixels, 2),
        up(channels, 4),
        16 if image.direct else 6 * words + 64,
        14 * words + 80,
    )
    found = []
    for share in shares:
        first, last = share.units
        k, end = 4 * share.blocks[0], min(channels, 4 * share.blocks[1])
        whole, rest = divmod(max(0, end - k), 4)
        here = min(2 * last, pixels) - 2 * first
        sums = [
            whole * _block(words, p, 4, workload) + rest * _block(words, p, 1, workload)
            for p in (1, 2)
        ]
        work = (here // 2) * sums[1] + (here % 2) * sums[0] if here > 0 else 0.0
        once = ENTER_BY["conv2d"] + DIVIDE + 3 * DIVISION + 10
        cycles = once + work + 100 * max(0, last - first)
        found.append(cycles + float(gather[first:last].sum()))
    return found


def _dense(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    rows, channels = ranges["B"][1], ranges["K"][1]
    whole, rest = divmod(workload.sizes["C"], 4)
    wide = workload.output.dtype == "int32"
    store = finish(workload) + (0 if wide else CHANNEL)

    def block(k: int) -> float:
        stall = LOAD_USE if k == 1 else 0
        inner = whole * contended(1 + 2 * k + stall, 1 + k)
        return 10 + 2 * k + inner + (8 + 5 * rest + 2 * k if rest else 0) + k * store

    found = []
    for core in range(cores):
        first, last = part(channels, core, cores)
        fours, ones = divmod(last - first, 4)
        mine = rows * (22 + fours * block(4) + ones * block(1))
        found.append(ENTER_BY["dense"] + PART + mine)
    return found


def _pool(
    workload: Workload,
    ranges: Ranges,
    per_position: int,
    position: float,
    end: float,
    channel: float,
    cores: int,
) -> list[float]:
    """Pools: cycles per position of four channels, per block of them, per channel at the end."""
    image = image_of(workload, ranges)
    d = workload.sizes
    seen = np.array([n for _, n in image.rows_seen])[:, None] * np.array(
        [n for _, n in image.columns_seen]
    )
    rows = np.array([n for _, n in image.rows_seen])[:, None] + 0 * seen
    fours = np.tile((12 + end + 4 * channel + 8 * rows + position * seen).reshape(-1), image.batch)
    units = len(fours)
    found = []
    shares = divide(cores, units, up(image.channels, 4), 64, per_position * d["FY"] * d["FX"] + 64)
    for share in shares:
        k, last = 4 * share.blocks[0], min(image.channels, 4 * share.blocks[1])
        whole, rest = divmod(max(0, last - k), 4)
        mine = slice(*share.units)
        # A remainder of channels is loaded byte by byte.
        slow = fours[mine] + 4 * rest * np.tile(seen.reshape(-1), image.batch)[mine]
        work = whole * fours[mine] + (slow - (4 - rest) * channel if rest else 0.0)
        cycles = ENTER_BY["pool"] + DIVIDE + float((5 * DIVISION + 31 + work).sum())
        found.append(cycles)
    return found


def _max_pool(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    return _pool(workload, ranges, 3, contended(2 + LOAD_USE, 1), 4, 0, cores)


def _average_pool(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    tail = workload.tail
    if workload.fixed_point or tail is None:
        return _pool(
            workload, ranges, 6, contended(5 + LOAD_USE, 1), 8, finish(workload) + 4, cores
        )
    if tail.rounding == "half_away":
        return _pool(workload, ranges, 6, contended(5 + LOAD_USE, 1), 8, 14 + DIVISION, cores)
    if whole_image(workload):
        channel = FLOAT_DIVISION + 8 * FLOAT + 8
        return _pool(workload, ranges, 6, contended(5 + LOAD_USE, 1), 8, channel, cores)
    # Channel by channel: load, subtract, convert, multiply, add, at an address of its own.
    position = 4 * (8 + LOAD_USE + 3 * FLOAT)
    return _pool(workload, ranges, 48, position, 8, 2 * FLOAT_DIVISION + 8 * FLOAT + 8, cores)


_KINDS: dict[Kind, Callable[[Workload, Ranges, int], list[float]]] = {
    "conv2d": _conv2d,
    "dense": _dense,
    "max_pool2d": _max_pool,
    "avg_pool2d": _average_pool,
    "matmul": product_cycles,
    "add": element_cycles,
    "mul": element_cycles,
    "table": element_cycles,
    "quantize": element_cycles,
    "dequantize": element_cycles,
    "softmax": softmax_cycles,
    "layer_norm": norm_cycles,
    "permute": permute_cycles,
    "gru": recurrent_cycles,
    "lstm": recurrent_cycles,
}


def core_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Cycles of every core in one call of the layer's kernel.

    Args:
        workload: the layer, of a kind that the cluster runs.
        ranges: (start, length) of every loop dimension that the call covers.
        cores: that share the work.
    """
    if short_float(workload) is not None:
        return short_float_cycles(workload, ranges, cores)
    if workload.real is not None and workload.kind == "add":
        return sum_cycles(workload, ranges, cores)
    if workload.real is not None and workload.kind not in RECURRENT:
        rows = workload.kind in ROW_KINDS
        return (
            row_cycles(workload, ranges, cores) if rows else window_cycles(workload, ranges, cores)
        )
    if is_half(workload):
        return half_cycles(workload, ranges, cores)
    kernel = depthwise_cycles if workload.depthwise else _KINDS[workload.kind]
    return kernel(workload, ranges, cores)


def call_cycles(
    workload: Workload,
    ranges: Ranges,
    instruction_set: InstructionSet = "xpulp",
    cores: int | None = None,
) -> float:
    """Cycles until all cores are done, from the fork on.

    Args:
        workload: the layer, of a kind that the cluster runs.
        ranges: (start, length) of every loop dimension that the call covers.
        instruction_set: of the cores; of plain rv32imc there are counts, core for core the same as
            the cost model's.
        cores: that share the work; all workers where None.
    """
    cores = cores or facts().cores.workers
    if instruction_set == "rv32imc":
        tile = {dim: np.asarray(length) for dim, (_, length) in ranges.items()}
        busiest = float(plain_cycles(workload, tile, cores))
    else:
        busiest = max(core_cycles(workload, ranges, cores))
    return FORK + busiest + BARRIER
