"""Depthwise convolution by dot products of bytes: four filter taps of a channel are a lane.

Vectors run along the pixels and channels of a row of output, as in `channelwise.py`. Bytes of
four taps are woven into lanes, so that `vpdpbusd` sums four products of a channel. Rows of x are
prepared once each (padding in place, columns by phase), into a ring of as many as the filter sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np

from match_aie.hardware import Constants, Mapping
from match_aie.targets.cpu.blocks import Blocks, Range, blocks
from match_aie.targets.cpu.columns import SLACK
from match_aie.targets.cpu.cores import Split
from match_aie.targets.cpu.form import form, stored_zero
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: Vectors of sums side by side: a vector of bytes widens to four.
VECTORS = 4
#: Products that a lane sums at once.
GROUP = 4
#: Taps of the largest filter: all are written out.
MOST_TAPS = 64
#: A row is one long run where its vectors meet at most so many different sets of filters.
MOST_PERIODS = 24


@dataclass(frozen=True)
class BytewiseKernel:
    """What the template of depthwise convolution in bytes needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        blocks: the loops of the mapping; rows of output are never divided.
        wide: elements that are computed together.
        periods: sets of filters; vector i of a row uses set i modulo `periods`.
        joined: whether vectors run on over the end of a pixel; else each pixel starts anew.
        columns: prepared columns of every phase.
        phases: of columns: those that a stride of s visits are s apart.
        step: from a prepared column to the next, in columns of x.
        flip: what bytes of x are xored with, to be unsigned.
        pad: what prepared data hold where x is its zero point.
        ring: prepared rows that are kept.
        taps: row and first element in it of each tap, the last one repeated to whole groups.
        split: over cores; None for one.
    """

    lanes: int
    blocks: Blocks
    wide: int
    periods: int
    joined: bool
    columns: int
    phases: int
    step: int
    flip: int
    pad: int
    ring: int
    taps: tuple[tuple[int, int], ...]
    channels: int
    split: Split | None = None

    @property
    def row(self) -> int:
        """Elements of a prepared row."""
        return self.phases * self.columns * self.channels

    def range(self, dim: str) -> Range:
        """The range of `dim` inside all loops over tiles."""
        return self.blocks.inside(len(self.blocks.loops), dim)

    @property
    def scratch_bytes(self) -> int:
        """Scratch for the ring, of every core its own."""
        return self.part_bytes * (self.split.parts if self.split else 1)

    @property
    def part_bytes(self) -> int:
        """Scratch of one core; a vector behind prepared data may be read."""
        return -(-(self.ring * self.row + SLACK) // SLACK) * SLACK


def bytewise(machine: Machine, workload: Workload) -> bool:
    """Whether a depthwise `workload` is summed so: bytes to bytes, on a processor that can."""
    taps = workload.sizes["FY"] * workload.sizes["FX"]
    real = workload.tail is not None and not workload.fixed_point
    return real and form(machine, workload).dot == "dpbusd" and taps <= MOST_TAPS


def plan_bytewise(
    machine: Machine, workload: Workload, mapping: Mapping, split: Split | None = None
) -> BytewiseKernel:
    """The kernel of a depthwise `workload` in the loops of `mapping`.

    Args:
        machine: the core.
        workload: with a window, one filter a channel, operands of 8 bits.
        mapping: of it.
        split: how its loops are divided over cores, if they are.
    """
    assert workload.window is not None
    d, window = workload.sizes, workload.window
    sx, (dy, dx) = window.stride[1], window.dilation
    phases = sx if d["FX"] > 1 else 1
    columns = d["OX"] + (d["FX"] - 1) * dx // phases
    taps = [
        (fy, ((fx * dx) % phases * columns + fx * dx // phases) * d["G"])
        for fy in range(d["FY"])
        for fx in range(d["FX"])
    ]
    periods, joined = _layout(machine, d["G"])
    return BytewiseKernel(
        lanes=machine.lanes,
        blocks=blocks(workload, mapping, whole=("G", "OX"), split=split),
        wide=VECTORS * machine.lanes,
        periods=periods,
        joined=joined,
        columns=columns,
        phases=phases,
        step=sx if d["FX"] == 1 else 1,
        flip=form(machine, workload).subtract % 256,
        pad=stored_zero(machine, workload),
        ring=(d["FY"] - 1) * dy + 1,
        taps=(*taps, *[taps[-1]] * (-len(taps) % GROUP)),
        channels=d["G"],
        split=split,
    )


def pack_bytewise(machine: Machine, workload: Workload, constants: Constants) -> Constants:
    """Filters [G, FY, FX, 1] as [period][four taps][vector][lane][tap], bias and scale likewise.

    Flat; zeros where there is no channel or tap. The bias takes up what the sums are too high by,
    modulo 2^32. Vectors hold channels as weaving bytes and then pairs orders them.
    """
    channels, wide = workload.sizes["G"], VECTORS * machine.lanes
    periods, joined = _layout(machine, channels)
    places = np.arange(periods * wide)
    index = places % channels if joined else np.minimum(places, channels - 1)
    exists = joined | (places < channels)

    def spread(values: np.ndarray) -> np.ndarray:
        """[channel, ...] as [period, lane, ...], lanes as vectors hold them."""
        chosen = np.where(exists.reshape(-1, *(1,) * (values.ndim - 1)), values[index], 0)
        by_lane = chosen.astype(values.dtype).reshape(periods, wide, *values.shape[1:])
        return np.asarray(by_lane[:, _woven(wide)])

    filters = constants["weight"].reshape(channels, -1)
    total = filters.astype(np.int64).sum(axis=1)
    bias = constants["bias"].astype(np.int64) - stored_zero(machine, workload) * total
    filters = np.pad(filters, ((0, 0), (0, -filters.shape[1] % GROUP)))
    lined = spread(filters).reshape(periods, wide, -1, GROUP).transpose(0, 2, 1, 3)
    scale = np.broadcast_to(constants["scale"], (channels,))
    return {
        **constants,
        "weight": np.ascontiguousarray(lined).reshape(-1),
        "bias": spread(bias.astype(np.uint32).view(np.int32)).reshape(-1),
        "scale": np.ascontiguousarray(spread(scale)).reshape(-1),
    }


def _layout(machine: Machine, channels: int) -> tuple[int, bool]:
    """(sets of filters, whether vectors run on over the end of a pixel)."""
    wide = VECTORS * machine.lanes
    periods = lcm(wide, channels) // wide
    if periods <= MOST_PERIODS or channels % wide == 0:
        return periods, True
    return -(-channels // wide), False


def _woven(wide: int) -> np.ndarray:
    """Channels as vectors hold them: of every sixteen the i-th four are in the i-th vector."""
    return np.arange(wide).reshape(-1, VECTORS, GROUP).transpose(1, 0, 2).reshape(-1)
