"""How much NE16 and the cluster slow each other down at the banks of L1, by who goes first.

GAP9's own interconnect is not published. Two public models are simulated, cycle by cycle, in
`benchmarks/gap9_banks.py`, which has the sources and what of the accesses is assumed; nothing is
fitted. PULP's is the default: the accelerator is of that family, and the C writes the register that
says who goes first. The third is an ASSUMPTION, and the most favourable: NE16 goes first, takes 9
of the 16 banks in four cycles of five, and a core's access to one of these waits a cycle: 6 loads
in the 14 instructions of PULP-NN's inner loop (arXiv:1908.11263) times 9/16 times 0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

#: Who gets a bank that both ask for: as assumed; NE16, all of its banks at once, as the emitted C
#: asks of PULP's interconnect (`ma_ne16_pmsis.c`), which is the default; or who came first, as in
#: GVSoC's pulp_open.
Banks = Literal["assumed", "priority", "in_turn"]


@dataclass(frozen=True)
class Slowed:
    """Cycles that a cycle of each takes more while the other works."""

    ne16: float
    cluster: float


#: By model, and workers of the cluster.
SLOWED: Mapping[tuple[Banks, int], Slowed] = MappingProxyType(
    {
        ("assumed", 8): Slowed(0.0, 0.19),
        ("assumed", 7): Slowed(0.0, 0.19),
        ("priority", 8): Slowed(0.004, 0.527),
        ("priority", 7): Slowed(0.004, 0.515),
        ("in_turn", 8): Slowed(0.474, 0.057),
        ("in_turn", 7): Slowed(0.421, 0.057),
    }
)
