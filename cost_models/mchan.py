"""Transfers by MCHAN, the DMA engine of PULP clusters, between L2 and L1.

D. Rossi et al., "Ultra-low-latency lightweight DMA for tightly coupled multi-core clusters", CF
2014. Constants: cycles measured with GVSoC's model of GAP9 (25 + bytes / 8 for a transfer that a
core starts and waits for, of which 16 are programming; 8-byte lines 37 cycles in 512 more; stores
above 1 KiB a cycle in 256 bytes more). The GAP9 paper charges 27 cycles a contiguous chunk
(arXiv:2410.08855), which that model does not show for lines of 16 bytes and more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.cost_models.walk import Controller, Move
from match_aie.hardware import Array, Block, Charges, Direction, Memory, Mode
from match_aie.workload import Workload


@dataclass(frozen=True)
class MchanTransfers(MemoryTransfers):
    """Inherit, and add kernels. `Memory` facts do not enter: the constants are here.

    Attributes:
        start: cycles of the controller's code to start a transfer (see `walk.Controller`).
        plane: more, of each further plane of one.
        alone: cycles of a transfer that a core starts and waits for, beside its bytes, polling
            not counted.
        bytes_per_cycle: that the engine moves, at least a cycle a line.
        short_line: bytes below which a line stalls the engine.
        short_line_stall: cycles of such a stall.
        store_burst: bytes above which a store stalls the engine.
        store_stall_bytes: bytes per cycle of stall in such a store.
        mode: how kernels and transfers overlap.
        charges: picojoules; none where None.
        controller: which starts transfers and waits for them.
        loads: transfers before the first call, at least (`of`).
    """

    start: float = 180.4
    plane: float = 289.6
    alone: float = 20.0
    bytes_per_cycle: float = 8.0
    short_line: float = 16.0
    short_line_stall: float = 37.0 / 512.0
    store_burst: float = 1024.0
    store_stall_bytes: float = 256.0
    mode: Mode = "pipelined"
    charges: Charges | None = None
    controller: Controller = Controller()
    loads: int = 0

    def of(self, workload: Workload) -> Self:
        """The model of one layer. Each input has a first tile, unless that may lie in padding."""
        padded = workload.window is not None and any(workload.window.padding)
        return replace(self, loads=len(workload.operands) - 1 - padded)

    @property
    def begun(self) -> float:
        """Cycles of the controller at the begin of a layer, for its first transfers, at least."""
        return self.loads * (self.start + self.controller.wait)

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """The engine's: a cycle for every 8 bytes begun of every line, and stalls."""
        del outer, inner
        moved = self.as_stored(workload, block)
        return self.engine_cycles(moved.nbytes, moved.chunks, direction)

    def transfer_price(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Move:
        """A command for every plane; polling for the end is the controller's wait."""
        del outer, inner
        moved = self.as_stored(workload, block)
        engine = float(self.engine_cycles(moved.nbytes, moved.chunks, direction))
        return Move(float(self.start_cycles(moved)), engine)

    def start_cycles(self, moved: Block) -> Array:
        """Of the core, to start a block's transfer: a command for every plane."""
        return np.asarray(self.start + (moved.planes - 1) * self.plane)

    def ahead_cycles(self) -> tuple[float, float]:
        """A command, and the wait for it."""
        return self.start, self.controller.wait

    def as_stored(self, workload: Workload, block: Block) -> Block:
        """What really moves for a block: the operand as it lies in memory."""
        del workload
        return block

    def engine_cycles(self, nbytes: Array, chunks: Array, direction: Direction) -> Array:
        """Cycles of the engine for `nbytes` in `chunks` equal lines; 0 bytes take none."""
        line = nbytes / np.maximum(chunks, 1)
        cycles = chunks * np.ceil(line / self.bytes_per_cycle)
        stalls = (line < self.short_line) & (chunks > 1)
        cycles = cycles + np.where(stalls, chunks * self.short_line_stall, 0.0)
        if direction == "store":
            long = nbytes > self.store_burst
            cycles = cycles + np.where(long, nbytes / self.store_stall_bytes, 0.0)
        return np.asarray(np.where(nbytes > 0, cycles, 0.0))

    def transfer_energy(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """The bytes as they are stored, and the core that starts their transfer."""
        if self.charges is None:
            return super().transfer_energy(workload, block, outer, inner, direction)
        moved = self.as_stored(workload, block)
        start = self.start_cycles(moved) * self.charges.core
        energy = moved.nbytes * self.charges.byte + start
        return np.asarray(np.where(moved.nbytes > 0, energy, 0.0))

    def alone_cycles(self, nbytes: Array, chunks: Array, direction: Direction) -> Array:
        """Cycles of a transfer that a core starts and waits for; 0 bytes take none."""
        moved = self.alone + self.engine_cycles(nbytes, chunks, direction)
        return np.asarray(np.where(nbytes > 0, moved, 0.0))
