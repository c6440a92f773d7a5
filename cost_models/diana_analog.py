"""DIANA's analog array: cycles of one call on a tile.

Modelled. A conversion takes an input vector, of one output pixel, and gives the sums of all
columns. Loading the next vector and what follows the converter are stages beside it (an account of
the talk at ISSCC 2022, velog.io/@ojy0216), taken to hide behind it. What a conversion takes no
source that we read says: whoever uses this model does. DORY also repeats weights in free columns,
so that several pixels are converted at once; that is not done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.diana import TableWalk
from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Block, Direction, Loop, Memory, Mode, Tile
from match_aie.workload import Workload


@dataclass(frozen=True)
class DianaAnalog(MemoryTransfers):
    """An array of cells behind the memory of activations and a DMA that blocks.

    Attributes:
        conversion: cycles of one input vector.
        columns: of a block of packed constants.
        rows: likewise.
        call: cycles of the controller to start the array.
        walk: of the controller over tiles.
        mode: the DMA blocks, so nothing overlaps.
    """

    conversion: float
    columns: int
    rows: int
    call: float = 0.0
    walk: TableWalk = TableWalk()
    mode: Mode = "sum"

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call; `tile` has every dimension of the workload."""
        del workload
        one = np.asarray(1)
        pixels = tile.get("B", one) * tile.get("OY", one) * tile.get("OX", one)
        return np.asarray(self.call + pixels * self.conversion)

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """As the memories say; packed constants are as long as packing makes them, in one piece."""
        if block.operand.constant:
            share = self.packed_bytes(workload, block.operand.name) / block.operand.nbytes
            block = Block(block.operand, block.nbytes * share, np.ones_like(block.chunks))
        return super().transfer_cycles(workload, block, outer, inner, direction)

    def walk_cycles(self, calls: Array) -> Array:
        """By the form that so many calls have in C."""
        return self.walk.cycles(calls)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """A block of columns, or what there is of it."""
        return (Loop("K", min(self.columns, workload.sizes["K"])),)

    def packed_bytes(self, workload: Workload, name: str) -> int:
        """Bytes of a constant as the array reads it, in whole blocks."""
        return -(-workload.output.shape[-1] // self.columns) * self.block_bytes(workload, name)

    def block_bytes(self, workload: Workload, name: str) -> int:
        """Bytes of a block of columns."""
        if name == "weight":
            return -(-sums(workload) // self.rows) * self.rows * 2 * self.columns // 8
        return 4 * self.columns


def sums(workload: Workload) -> int:
    """Products of one sum."""
    d = workload.sizes
    return d["C"] * d["FY"] * d["FX"]
