"""DIANA's digital array: cycles of one call on a tile.

Modelled, not measured: the form of MATCH's cost model for DIANA (M. Risso et al., arXiv:2410.08855,
and its sources). 16 output channels by 16 columns work at a time. Such a block of an output row
takes a cycle for every (input channel, filter row, filter column) that is not vertical padding,
two for every (input channel, filter row), and 23 to requantise and store. On 64 to 64 channels,
32x32, 3x3 that is 246,528 cycles, 153.1 MAC per cycle; the paper measured 146.1 on the chip.

Where channels or columns are no multiple of 16, blocks are rounded up along each of the two, as
lanes of the array cannot work on another row; MATCH rounds their product. Depthwise layers go
channel by channel, as plinio's formula for DIANA has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Block, Direction, Loop, Memory, Mode, Tile
from match_aie.workload import DATA, Workload


@dataclass(frozen=True)
class TableWalk:
    """The control core's walk over tiles: instructions, a cycle each (an ASSUMPTION).

    Counted on an emulated rv32imc core (GCC 12, -O2; `benchmarks/diana_walk.py`).

    Attributes:
        one_tile: of a layer of one call, `ma_run_table`.
        layer: to enter one of up to `listed` calls.
        visit: around each of these.
        many: around each of more, `ma_run_tiles`.
        listed: the calls that a list has; `match_aie.hardware.tables` decides it.
    """

    one_tile: float = 160.0
    layer: float = 94.0
    visit: float = 70.0
    many: float = 680.0
    listed: int = 32

    def cycles(self, calls: Array) -> Array:
        """Of a layer of so many calls."""
        several = np.where(calls > self.listed, self.many * calls, self.layer + self.visit * calls)
        return np.asarray(np.where(calls > 1, several, self.one_tile))


@dataclass(frozen=True)
class DianaDigital(MemoryTransfers):
    """An array of `lanes` x `lanes` behind two memories and a DMA that blocks.

    Attributes:
        lanes: output channels, and columns, at a time; weights are packed in blocks of as many.
        reads: cycles of an (input channel, filter row) beside its products.
        store: cycles to requantise and store a block.
        call: cycles of the controller to start the array.
        walk: of the controller over tiles.
        mode: the DMA blocks, so nothing overlaps.
    """

    lanes: int = 16
    reads: float = 2.0
    store: float = 23.0
    call: float = 0.0
    walk: TableWalk = TableWalk()
    mode: Mode = "sum"

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call; `tile` has every dimension of the workload."""
        one = np.asarray(1)
        t = {d: tile.get(d, one) for d in ("B", "G", "K", "C", "OY", "OX", "FX")}
        if workload.kind == "add":
            # Two inputs of one value each. No source gives a figure: ASSUMPTION.
            elements: Array = np.asarray(1)
            for dim, _ in workload.dims:
                elements = elements * tile[dim]
            blocks = _up(elements, self.lanes * self.lanes)
            return np.asarray(self.call + blocks * (2 * (1 + self.reads) + self.store))
        blocks = t["B"] * t["G"] * _up(t["K"], self.lanes) * _up(t["OX"], self.lanes) * t["OY"]
        row = t["C"] * filter_rows(workload) * (t["FX"] + self.reads)
        return np.asarray(self.call + blocks * (row + self.store))

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """As the memories say; packed constants are as long as packing makes them, in one piece."""
        if block.operand.constant:
            share = packed_bytes(workload, block.operand.name, self.lanes) / block.operand.nbytes
            block = Block(block.operand, block.nbytes * share, np.ones_like(block.chunks))
        return super().transfer_cycles(workload, block, outer, inner, direction)

    def walk_cycles(self, calls: Array) -> Array:
        """By the form that so many calls have in C."""
        return self.walk.cycles(calls)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the array does at a time, or what there is of it."""
        sizes = workload.sizes
        wanted = {"conv2d": ("G", "OX") if workload.depthwise else ("K", "OX"), "dense": ("K",)}
        return tuple(
            Loop(dim, min(block_channels(workload) if dim == "G" else self.lanes, sizes[dim]))
            for dim in wanted.get(workload.kind, ())
        )


def filter_rows(workload: Workload) -> float:
    """Filter rows that lie in the image, on average over the output's rows."""
    window, sizes = workload.window, workload.sizes
    if workload.kind != "conv2d" or window is None:
        return 1.0
    rows, (top, *_) = workload.operand("x").shape[1], window.padding
    inside = [
        sum(0 <= o * window.stride[0] - top + f < rows for f in range(sizes["FY"]))
        for o in range(sizes["OY"])
    ]
    return sum(inside) / len(inside)


def packed_bytes(workload: Workload, name: str, lanes: int = 16) -> int:
    """Bytes of a constant as the array reads it: whole blocks of channels, `lanes` wide.

    A block of a depthwise layer has a channel in every fourth lane. An offset is 4 bytes a lane, or
    16 in dense layers, and 4 in all for an `add`, whose addends are never packed.
    """
    if name in DATA:
        return workload.operand(name).nbytes
    if workload.kind == "add":
        return 4
    sizes, channels = workload.sizes, workload.output.shape[-1]
    outputs = -(-channels // block_channels(workload, lanes)) * lanes
    if name == "weight":
        inputs = 1 if workload.depthwise else -(-sizes["C"] // lanes) * lanes
        return outputs * inputs * sizes.get("FY", 1) * sizes.get("FX", 1)
    return outputs * (16 if workload.kind == "dense" else 4)


def block_channels(workload: Workload, lanes: int = 16) -> int:
    """Output channels of a block of packed constants."""
    return lanes // 4 if workload.depthwise else lanes


def _up(a: Array, b: int) -> Array:
    return np.asarray(-(-a // b))
