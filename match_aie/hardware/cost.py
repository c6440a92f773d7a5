"""What a mapping costs: cycles in named parts that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from match_aie.hardware.mapping import Mapping
from match_aie.workload import Workload


@dataclass(frozen=True)
class Cost:
    """A modelled cost.

    Attributes:
        cycles: of the module's clock, for the whole layer.
        parts: (name, cycles), adding up to `cycles`.
    """

    cycles: float
    parts: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse parts that do not add up."""
        if self.parts and abs(sum(c for _, c in self.parts) - self.cycles) > 1e-6 * self.cycles:
            raise ValueError(f"parts {self.parts} do not add up to {self.cycles} cycles")


class CostModel(Protocol):
    """Prices a mapping of a workload."""

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Modelled cost of running `workload` as `mapping` says."""
