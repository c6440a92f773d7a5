"""Decisions behind depthwise convolution: every channel has a filter of its own.

Vectors run along the pixels and channels of a row of output, which lie side by side. So that what a
filter tap sees of them lies side by side too, columns of x are prepared by their phase: those
that a stride of s visits are s apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np

from match_aie.hardware import Constants, Mapping
from match_aie.targets.cpu.blocks import Blocks, Range, blocks
from match_aie.targets.cpu.columns import SLACK
from match_aie.targets.cpu.cores import Split
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: A row is one long run where its vectors meet at most so many different sets of filters.
MOST_PERIODS = 8


@dataclass(frozen=True)
class ChannelwiseKernel:
    """What the template of depthwise convolution needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        woven: whether taps are summed two at a time, from woven vectors (x86).
        blocks: loops over tiles.
        prepare: number of loops inside which x is prepared.
        wide: elements that are computed together, two vectors of sums.
        periods: sets of filters; vector i of a row uses set i modulo `periods`.
        joined: whether vectors run on over the end of a pixel; else each pixel starts anew.
        columns: prepared columns of every phase.
        phases: of columns.
        row: elements of a prepared row.
        line: prepared rows between output rows.
        taps: elements from the first tap to each.
        elements: of prepared data, without `SLACK`.
        split: over cores; None for one.
    """

    lanes: int
    woven: bool
    blocks: Blocks
    prepare: int
    wide: int
    periods: int
    joined: bool
    columns: int
    phases: int
    row: int
    rows: int
    line: int
    taps: tuple[int, ...]
    elements: int
    split: Split | None = None

    def range(self, index: int, dim: str) -> Range:
        """The range of `dim` inside `index` loops over tiles."""
        return self.blocks.inside(index, dim)

    @property
    def scratch_bytes(self) -> int:
        """Scratch for prepared data, of every core its own."""
        return self.part_bytes * (self.split.parts if self.split else 1)

    @property
    def part_bytes(self) -> int:
        """Scratch of one core; two vectors behind prepared data may be read."""
        return -(-(2 * self.elements + 2 * SLACK) // SLACK) * SLACK


def layout(machine: Machine, channels: int) -> tuple[int, bool]:
    """(sets of filters, whether vectors run on over the end of a pixel).

    >>> from match_aie.targets.cpu.machine import machine
    >>> layout(machine("x86-64-v3"), 24), layout(machine("x86-64-v3"), 25)
    ((3, True), (2, False))
    """
    wide = 2 * machine.lanes
    periods = lcm(wide, channels) // wide
    if periods <= MOST_PERIODS or channels % wide == 0:
        return periods, True
    return -(-channels // wide), False


def plan_channelwise(
    machine: Machine, workload: Workload, mapping: Mapping, split: Split | None = None
) -> ChannelwiseKernel:
    """The kernel of a depthwise `workload` in the loops of `mapping`.

    Args:
        machine: with its vectors.
        workload: the layer.
        mapping: of it.
        split: of the layer over cores.
    """
    assert workload.window is not None
    d, window = workload.sizes, workload.window
    (sy, sx), (dy, dx) = window.stride, window.dilation
    around = blocks(workload, mapping, whole=("G",), split=split)
    cuts = [cut.index for cut in mapping.cuts if cut.operand == "x"]
    prepare = max(cuts, default=0)
    most = {dim: around.inside(prepare, dim).most for dim in ("B", "G", "OY", "OX")}
    row_step = sy if d["FY"] == 1 else 1
    phases = sx if d["FX"] > 1 else 1
    columns = most["OX"] + (d["FX"] - 1) * dx // phases
    rows = (most["OY"] - 1) * (sy // row_step) + (d["FY"] - 1) * dy + 1
    row = phases * columns * d["G"]
    taps = tuple(
        fy * dy * row + ((fx * dx) % phases * columns + fx * dx // phases) * d["G"]
        for fy in range(d["FY"])
        for fx in range(d["FX"])
    )
    periods, joined = layout(machine, d["G"])
    return ChannelwiseKernel(
        lanes=machine.lanes,
        woven=machine.family == "x86-64",
        blocks=around,
        prepare=prepare,
        wide=2 * machine.lanes,
        periods=periods,
        joined=joined,
        columns=columns,
        phases=phases,
        row=row,
        rows=rows,
        line=sy // row_step,
        taps=taps,
        elements=most["B"] * rows * row,
        split=split,
    )


def pack_channelwise(machine: Machine, workload: Workload, constants: Constants) -> Constants:
    """Filters [G, FY, FX, 1] as [period][pairs of taps][half][lane][tap], bias and scale likewise.

    Without pairs, [period][tap][half][lane]. Flat; zeros where there is no channel or tap.
    """
    channels, wide = workload.sizes["G"], 2 * machine.lanes
    periods, joined = layout(machine, channels)
    places = np.arange(periods * wide)
    index = places % channels if joined else np.minimum(places, channels - 1)
    exists = joined | (places < channels)
    woven = machine.family == "x86-64"
    order = _woven(wide) if woven else np.arange(wide)

    def spread(values: np.ndarray) -> np.ndarray:
        """[channel, ...] as [period, lane, ...]."""
        chosen = np.where(exists.reshape(-1, *(1,) * (values.ndim - 1)), values[index], 0)
        by_lane = chosen.astype(values.dtype).reshape(periods, wide, *values.shape[1:])
        return np.asarray(by_lane[:, order])

    filters = constants["weight"].reshape(channels, -1)
    if woven and filters.shape[1] % 2:
        filters = np.pad(filters, ((0, 0), (0, 1)))
    step = 2 if woven else 1
    lined = spread(filters).reshape(periods, wide, -1, step).transpose(0, 2, 1, 3)
    packed = {**constants, "weight": np.ascontiguousarray(lined).reshape(-1)}
    packed["bias"] = spread(constants["bias"]).reshape(-1)
    if "scale" in constants:
        scale = np.broadcast_to(constants["scale"], (channels,))
        packed["scale"] = np.ascontiguousarray(spread(scale)).reshape(-1)
    return packed


def _woven(wide: int) -> np.ndarray:
    """Channels in the order of ma_weave_low, then of ma_weave_high."""
    eights = np.arange(wide).reshape(-1, 2, 4)
    return np.concatenate([eights[:, 0].reshape(-1), eights[:, 1].reshape(-1)])
