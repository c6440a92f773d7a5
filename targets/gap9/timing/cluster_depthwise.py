"""Simulated cycles of the cluster's depthwise kernels of 8 bits, core by core.

Follows `runtime/kernels/ma_depthwise.c`; `timing/cluster.py` says what is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.gap9.timing.spans import Image, image_of
from match_aie.targets.gap9.timing.workers import (
    DIVIDE,
    DIVISION,
    ENTER_BY,
    LOAD_USE,
    PART,
    Ranges,
    Share,
    contended,
    divide,
    finish,
    up,
)
from match_aie.workload import Window, Workload


def _turn(channels: int) -> float:
    """A column of a strip: four loads, eight shuffles, a store per channel; fewer, byte by byte.

    A shuffle overwrites one of its words, so four are copied before; an address.
    """
    if channels == 4:
        return contended(21, 8)
    return contended(4 * (2 + 4 * channels) + 13 + channels, 5 * channels)


@dataclass(frozen=True)
class _Kernel:
    """`ma_depthwise` on a tile.

    Attributes:
        workload: the layer.
        window: of it.
        image: the tile's.
    """

    workload: Workload
    window: Window
    image: Image

    @property
    def words(self) -> int:
        """Of a column."""
        return up(self.workload.sizes["FY"], 4)

    @property
    def columns(self) -> int:
        """Of a strip."""
        reach = (self.workload.sizes["FX"] - 1) * self.window.dilation[1] + 1
        return (self.image.out_columns - 1) * self.window.stride[1] + reach

    @property
    def kind(self) -> str:
        """`ma_kind_of`: which lines run."""
        if self.window.dilation[1] != 1:
            return "any"
        known = {(3, 1): "three", (5, 2): "five"}
        return known.get((self.workload.sizes["FX"], self.words), "any")

    def serves(self, lines: int) -> bool:
        """`ma_serves`: whether a strip may be of so many output rows."""
        down = self.window.stride[0]
        if lines == 1:
            return True
        if self.kind == "any" or self.window.dilation[0] != 1:
            return False
        if self.kind == "three" and lines * down > 2:
            return False
        return (lines - 1) * down + self.workload.sizes["FY"] <= 4 * self.words

    def plans(self, cores: int) -> list[tuple[int, list[Share]]]:
        """What `ma_plan_of` chooses from: rows a strip, and every core's share."""
        found = []
        line = self.image.out_columns * (2 * self.words * self.workload.sizes["FX"] + 8) + 30
        served = [lines for lines in (4, 2, 1) if self.serves(lines)]
        for lines in served if self.kind == "five" else served[:1]:
            per_block = 20 * self.columns * self.words + 160 * self.words + 250
            per_block += 4 * lines * line
            units = self.image.batch * up(self.image.out_rows, lines)
            shares = divide(cores, units, up(self.image.channels, 4), 72, per_block)
            found.append((lines, shares))
        return found

    def strip(self, channels: int) -> float:
        """`ma_fill_strip`."""
        image = self.image
        end = min(image.pad_left + image.in_columns, self.columns)
        inside = max(0, end - min(image.pad_left, self.columns))
        outside = self.columns - inside
        pad = 30 * (outside > 0) + outside * contended(channels + 5, channels)
        return 250 + self.words * (122 + pad + inside * _turn(channels))

    def lines(self, lines: int) -> float:
        """One channel's output rows of a strip: `ma_lines3`, `ma_strip_lines5` or `ma_line`."""
        d, store, columns = self.workload.sizes, finish(self.workload), self.image.out_columns
        if self.kind == "three":
            # Three loads, an address; per row zero, three products, what is stored, its address.
            instructions = 4 + lines * (5 + store)
            return 40 + 16 * (lines - 1) + columns * contended(instructions, 3 + lines)
        if self.kind == "five" and self.window.stride[1] == 1:
            # Of four columns two loads and one to four pairs of products; then two loads, zero,
            # ten products, what is stored, its address, whether it was the last.
            return 45 + lines * (140 + columns * contended(2 + 13 + store, 3))
        if self.kind == "five":
            # Ten loads, an address; zero, ten products, what is stored and its address.
            return 45 + lines * (50 + columns * contended(11 + 12 + store, 11))
        runs = 1 if self.window.dilation[1] == 1 else d["FX"]
        products = d["FX"] * self.words
        instructions = 11 + 5 * runs + products * (3 + LOAD_USE) + store
        return lines * (60 + columns * contended(instructions, 2 * products + 1))

    def cycles(self, cores: int) -> list[float]:
        """Of every core."""
        plans, rows, all_of = self.plans(cores), self.image.out_rows, self.image.channels
        most, shares = min(plans, key=lambda plan: plan[1][0].load)
        groups, found = up(rows, most), []
        for share in shares:
            k, end = 4 * share.blocks[0], min(all_of, 4 * share.blocks[1])
            whole, rest = divmod(max(0, end - k), 4)
            cycles = ENTER_BY["depthwise"] + len(plans) * (DIVIDE - 2 * PART) + 2 * PART
            for unit in range(*share.units):
                lines = self.lines(min(most, rows - unit % groups * most))
                cycles += 2 * DIVISION + 10 + whole * (self.strip(4) + 4 * lines)
                cycles += self.strip(rest) + rest * lines if rest else 0
            found.append(cycles)
        return found


def depthwise_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Of every core; none of what has no window.

    Args:
        workload: a depthwise convolution of 8 bits.
        ranges: (start, length) of every loop dimension.
        cores: that work.
    """
    if workload.window is None:
        return []
    return _Kernel(workload, workload.window, image_of(workload, ranges)).cycles(cores)
