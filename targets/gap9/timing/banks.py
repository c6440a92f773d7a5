"""How much NE16 and the cluster slow each other down at the banks of L1, by who goes first.

GAP9's own interconnect is not published. Two public models are simulated, cycle by cycle, in
`benchmarks/gap9_banks.py`, which has the sources and what of the accesses is assumed; nothing is
fitted. PULP's is what is priced and simulated by default, as the accelerator is of that family and
the C writes the register that says who goes first; layers side by side have to gain with both. The
third is an ASSUMPTION, and the most favourable: NE16 goes first, takes 9 of the 16 banks in four
cycles of five, and a core's access to one of these waits a cycle.

What they take depends on what both do: NE16's mode, and how many accesses a cycle the cluster's
kernel makes, which is counted (`cost_models/pulp_accesses.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from match_aie.workload import Workload

#: Who gets a bank that both ask for: as assumed; NE16, all of its banks at once, as the emitted C
#: asks of PULP's interconnect (`ma_ne16_pmsis.c`), which is the default; or who came first, as in
#: GVSoC's pulp_open.
Banks = Literal["assumed", "priority", "in_turn"]

#: The interconnects that are public.
PUBLIC: tuple[Banks, ...] = ("priority", "in_turn")

#: What is planned for: "any" public one, priced and simulated as the first of them; or one alone.
Rule = Literal["any", Banks]

#: What NE16 computes: it streams other words for each.
Mode = Literal["3x3", "depthwise", "1x1"]
MODES: tuple[Mode, ...] = ("3x3", "depthwise", "1x1")

#: Accesses a cycle of each core for which both models were simulated; between them it is linear.
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)

#: Part of the cycles in which an access waits one, as is assumed: 9 of 16 banks, four of five.
ASSUMED = 9 / 16 * 0.8


@dataclass(frozen=True)
class Slowed:
    """Cycles that a cycle of each takes more while the other works."""

    ne16: float
    cluster: float


#: By model, workers of the cluster and NE16's mode: (NE16, cluster) at each of `RATES`.
SLOWED: Mapping[tuple[Banks, int, Mode], tuple[tuple[float, float], ...]] = MappingProxyType(
    {
        ("priority", 8, "3x3"): (
            (0.0, 0.104),
            (0.003, 0.219),
            (0.008, 0.341),
            (0.009, 0.46),
            (0.009, 0.582),
            (0.009, 0.689),
            (0.009, 0.886),
        ),
        ("priority", 8, "depthwise"): (
            (0.0, 0.109),
            (0.002, 0.22),
            (0.004, 0.337),
            (0.004, 0.447),
            (0.004, 0.558),
            (0.004, 0.668),
            (0.004, 0.827),
        ),
        ("priority", 8, "1x1"): (
            (0.0, 0.145),
            (0.0, 0.289),
            (0.0, 0.435),
            (0.0, 0.574),
            (0.0, 0.699),
            (0.0, 0.804),
            (0.0, 0.982),
        ),
        ("priority", 7, "3x3"): (
            (0.0, 0.103),
            (0.001, 0.215),
            (0.007, 0.329),
            (0.009, 0.442),
            (0.009, 0.564),
            (0.009, 0.666),
            (0.009, 0.864),
        ),
        ("priority", 7, "depthwise"): (
            (0.0, 0.106),
            (0.001, 0.216),
            (0.004, 0.331),
            (0.004, 0.438),
            (0.004, 0.544),
            (0.004, 0.642),
            (0.004, 0.811),
        ),
        ("priority", 7, "1x1"): (
            (0.0, 0.144),
            (0.0, 0.286),
            (0.0, 0.427),
            (0.0, 0.561),
            (0.0, 0.68),
            (0.0, 0.792),
            (0.0, 0.97),
        ),
        ("in_turn", 8, "3x3"): (
            (0.152, 0.016),
            (0.281, 0.032),
            (0.4, 0.047),
            (0.502, 0.061),
            (0.6, 0.075),
            (0.697, 0.088),
            (0.843, 0.11),
        ),
        ("in_turn", 8, "depthwise"): (
            (0.139, 0.014),
            (0.253, 0.028),
            (0.36, 0.042),
            (0.461, 0.055),
            (0.546, 0.068),
            (0.626, 0.08),
            (0.762, 0.102),
        ),
        ("in_turn", 8, "1x1"): (
            (0.11, 0.011),
            (0.207, 0.022),
            (0.3, 0.033),
            (0.376, 0.044),
            (0.455, 0.054),
            (0.537, 0.064),
            (0.653, 0.082),
        ),
        ("in_turn", 7, "3x3"): (
            (0.135, 0.016),
            (0.254, 0.032),
            (0.352, 0.046),
            (0.446, 0.06),
            (0.535, 0.075),
            (0.618, 0.087),
            (0.745, 0.108),
        ),
        ("in_turn", 7, "depthwise"): (
            (0.122, 0.014),
            (0.224, 0.029),
            (0.317, 0.042),
            (0.404, 0.055),
            (0.484, 0.069),
            (0.556, 0.08),
            (0.683, 0.1),
        ),
        ("in_turn", 7, "1x1"): (
            (0.094, 0.011),
            (0.183, 0.022),
            (0.259, 0.032),
            (0.334, 0.043),
            (0.407, 0.053),
            (0.471, 0.063),
            (0.584, 0.08),
        ),
    }
)


def mode_of(workload: Workload) -> Mode:
    """What NE16 computes for a layer."""
    if workload.depthwise:
        return "depthwise"
    return "1x1" if workload.sizes.get("FY", 1) * workload.sizes.get("FX", 1) == 1 else "3x3"


def slowed(banks: Banks, workers: int, mode: Mode, rate: float) -> Slowed:
    """What both wait for each other.

    Args:
        banks: who goes first.
        workers: of the cluster, that compute.
        mode: of NE16.
        rate: accesses to L1 that each of these makes a cycle.
    """
    if banks == "assumed":
        return Slowed(0.0, ASSUMED * rate)
    pairs = ((0.0, 0.0), *SLOWED[banks, workers, mode])
    ne16, cluster = (np.interp(rate, (0.0, *RATES), part) for part in zip(*pairs, strict=True))
    return Slowed(float(ne16), float(cluster))
