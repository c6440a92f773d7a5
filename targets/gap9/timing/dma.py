"""Simulated cycles of a transfer between L2 and L1 by the cluster's DMA engine (MCHAN v7).

Calibrated on all rows of `dma_cycles.csv`, which GVSoC, an independent simulator, timed: a
transfer that the core starts and then polls for. The engine moves 8 bytes a cycle, at least a cycle
a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal


@dataclass(frozen=True)
class DmaTiming:
    """Cycles of the parts of a transfer.

    Attributes:
        program: of the core, to start one transfer.
        start: of the engine, from the last programming cycle to the first bytes.
        bytes_per_cycle: that the engine moves.
        first_poll: until a core that started a transfer looks for its end the first time.
        poll: between one look and the next (stores take 25, 33, 57, 153, ... cycles: 1 modulo 8).
        load_least: total of a load, however short: reads of L2 take that long.
        second_dimension: more, of programming a transfer of several lines.
        short_line: bytes below which a line stalls the engine.
        short_line_stall: cycles of such a stall, on average (one case, 8-byte lines).
        store_burst: bytes above which stores to L2 stall the engine.
        store_stall_bytes: bytes per cycle of stall in such a store.
        cold: more, of a program's first transfer, whose instructions are not cached.
    """

    program: float = 16.0
    start: float = 4.0
    bytes_per_cycle: int = 8
    first_poll: float = 9.0
    poll: float = 8.0
    load_least: float = 35.0
    second_dimension: float = 2.0
    short_line: int = 16
    short_line_stall: float = 37.0 / 512.0
    store_burst: int = 1024
    store_stall_bytes: float = 256.0
    cold: float = 26.0


TIMING = DmaTiming()


@dataclass(frozen=True)
class Transfer:
    """A block that moves: `planes` of `lines` of `line_bytes`, contiguous where all are 1."""

    direction: Literal["load", "store"]
    line_bytes: int
    lines: int = 1
    planes: int = 1

    @property
    def nbytes(self) -> int:
        """All bytes."""
        return self.line_bytes * self.lines * self.planes


def engine_cycles(transfer: Transfer, timing: DmaTiming = TIMING) -> float:
    """Cycles that the engine is busy with `transfer`."""
    lines = transfer.lines * transfer.planes
    cycles = float(lines * -(-transfer.line_bytes // timing.bytes_per_cycle))
    if lines > 1 and transfer.line_bytes < timing.short_line:
        cycles += lines * timing.short_line_stall
    if transfer.direction == "store" and transfer.nbytes > timing.store_burst:
        cycles += transfer.nbytes / timing.store_stall_bytes
    return cycles


def program_cycles(transfer: Transfer, timing: DmaTiming = TIMING) -> float:
    """Cycles that the core takes to start `transfer`: a plane is one two-dimensional transfer."""
    second = timing.second_dimension if transfer.lines > 1 else 0.0
    return transfer.planes * (timing.program + second)


def transfer_cycles(transfer: Transfer, timing: DmaTiming = TIMING, cold: bool = False) -> float:
    """Cycles of a core that starts `transfer`, alone on the engine, and waits for its end.

    Args:
        transfer: what moves.
        timing: constants.
        cold: whether it is the first transfer of a program.
    """
    waiting = timing.start + engine_cycles(transfer, timing) - timing.first_poll
    polls = max(0, ceil(waiting / timing.poll))
    total = program_cycles(transfer, timing) + timing.first_poll + polls * timing.poll
    if transfer.direction == "load":
        total = max(total, timing.load_least)
    return total + (timing.cold if cold else 0.0)
