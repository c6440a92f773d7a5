"""Transfers between memories as their `Memory` facts say: a building block of cost models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.hardware import Array, Block, Direction, Memory, Mode, Tile, combine_cycles
from match_aie.workload import Workload


class MemoryTransfers:
    """The transfer half of a `TileCostModel`: inherit, and add `kernel_cycles`.

    A transfer costs the outer memory's fixed cycles, its bytes over the bandwidth, and cycles for
    every contiguous chunk: the shape of the DMA models of DORY (A. Burrello et al., IEEE Trans.
    Computers 70(8), 2021) and MATCH (arXiv:2410.08855), whose constants are the memory's.

    Attributes:
        mode: how compute and transfers overlap.
    """

    mode: Mode = "pipelined"

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Setup + bytes / bandwidth + chunks * cycles per chunk, all of `outer`."""
        del workload, inner
        rate = outer.bytes_per_cycle
        if direction == "store" and outer.store_bytes_per_cycle is not None:
            rate = outer.store_bytes_per_cycle
        return np.asarray(
            outer.transfer_cycles + block.nbytes / rate + block.chunks * outer.chunk_cycles
        )

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """As `mode` says."""
        return combine_cycles(self.mode, compute, moves, exposed)

    def kernel_energy(self, workload: Workload, tile: Tile) -> Array:
        """None: what the arithmetic takes does not depend on the mapping."""
        del workload
        return np.zeros_like(next(iter(tile.values())), float)

    def transfer_energy(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Bytes times `Memory.picojoules_per_byte` of `outer`."""
        del workload, inner, direction
        return np.asarray(block.nbytes * outer.picojoules_per_byte)
