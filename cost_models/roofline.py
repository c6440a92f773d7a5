"""The roofline: a layer takes as long as its arithmetic or its memory traffic, whichever is more.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009. Cycles here are modelled, not measured: every constant
is the caller's assumption about a machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Cost, Mapping, Mode, Tile
from match_aie.workload import Workload


@dataclass(frozen=True)
class Roofline(MemoryTransfers):
    """The default for a new target, with one memory (`cost`) or nested ones (tile by tile).

    With one memory every operand crosses it once, at `bytes_per_cycle`. With nested memories the
    kernel works at the rates below, and transfers cost what the module's `Memory` facts say;
    `mode` "pipelined" makes it a roofline with exposed first loads and last store, "max" the
    roofline itself.

    Attributes:
        macs_per_cycle: multiply-accumulates per cycle of kinds that multiply and sum.
        steps_per_cycle: innermost statements per cycle of all other kinds.
        bytes_per_cycle: traffic of the memory that holds the operands, where there is only one.
        overhead: cycles of a call (of the kernel, on each tile) before its first operation.
        mode: how kernels and transfers overlap, where memories are nested.
    """

    macs_per_cycle: float
    steps_per_cycle: float
    bytes_per_cycle: float
    overhead: float = 0.0
    mode: Mode = "pipelined"

    def __post_init__(self) -> None:
        """Refuse rates that are not positive, and time given back."""
        rates = (self.macs_per_cycle, self.steps_per_cycle, self.bytes_per_cycle)
        if not all(rate > 0 for rate in rates):
            raise ValueError(f"{self}: rates must be positive")
        if not self.overhead >= 0:
            raise ValueError(f"{self}: overhead may not be negative")
        if self.mode not in get_args(Mode):
            raise ValueError(f"{self}: mode is one of {get_args(Mode)}")

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Operations of the tile / rate + overhead; `tile` has every dimension of the workload."""
        operations: Array = np.asarray(1.0)
        for dim, _ in workload.dims:
            operations = operations * tile[dim]
        return np.asarray(self.overhead + operations / self._rate(workload))

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """max(operations / rate, bytes / bandwidth) + overhead, in cycles.

        The parts are `compute`, `memory` (what the traffic adds beyond the arithmetic it hides
        behind) and `overhead`. An untiled mapping moves every operand once, so `mapping` does not
        enter: for modules with a single memory.
        """
        del mapping
        compute = workload.steps / self._rate(workload)
        traffic = sum(operand.nbytes for operand in workload.operands) / self.bytes_per_cycle
        stall = max(0.0, traffic - compute)
        parts = (("compute", compute), ("memory", stall), ("overhead", self.overhead))
        return Cost(sum(cycles for _, cycles in parts), parts)

    def _rate(self, workload: Workload) -> float:
        return self.macs_per_cycle if workload.macs else self.steps_per_cycle
