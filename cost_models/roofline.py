"""The roofline: a layer takes as long as its arithmetic or its memory traffic, whichever is more.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009. Cycles here are modelled, not measured: every constant
is the caller's assumption about a machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.hardware import Cost, Mapping
from match_aie.workload import Workload


@dataclass(frozen=True)
class Roofline:
    """Prices a layer whose operands each cross the memory once.

    Attributes:
        macs_per_cycle: multiply-accumulates per cycle of kinds that multiply and sum.
        steps_per_cycle: innermost statements per cycle of all other kinds.
        bytes_per_cycle: traffic of the memory that holds the operands.
        overhead: cycles of a call before its first operation.
    """

    macs_per_cycle: float
    steps_per_cycle: float
    bytes_per_cycle: float
    overhead: float = 0.0

    def __post_init__(self) -> None:
        """Refuse rates that are not positive."""
        if min(self.macs_per_cycle, self.steps_per_cycle, self.bytes_per_cycle) <= 0:
            raise ValueError(f"{self}: rates must be positive")

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """max(operations / rate, bytes / bandwidth) + overhead, in cycles.

        The parts are `compute`, `memory` (what the traffic adds beyond the arithmetic it hides
        behind) and `overhead`. An untiled mapping moves every operand once, so `mapping` does not
        enter; a model of tiles replaces this one where layers are tiled.
        """
        del mapping
        if workload.macs:
            compute = workload.macs / self.macs_per_cycle
        else:
            compute = workload.steps / self.steps_per_cycle
        traffic = sum(operand.nbytes for operand in workload.operands) / self.bytes_per_cycle
        stall = max(0.0, traffic - compute)
        parts = (("compute", compute), ("memory", stall), ("overhead", self.overhead))
        return Cost(sum(cycles for _, cycles in parts), parts)
