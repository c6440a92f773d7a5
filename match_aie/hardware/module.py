"""One thing on the chip that can run layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from match_aie.hardware.cost import CostModel
from match_aie.hardware.mapping import Loop
from match_aie.hardware.pattern import Pattern
from match_aie.workload import Workload

#: The unit of the chip that runs what no module claims.
CORE = "core"

#: Constants of a layer by operand name.
Constants = MappingOf[str, np.ndarray]


@dataclass(frozen=True)
class Memory:
    """A memory level.

    Attributes:
        name: as users know it.
        bytes: capacity; None where it is not limited.
        bytes_per_cycle: bandwidth towards the level below (inner), in the module's cycles.
    """

    name: str
    bytes: int | None
    bytes_per_cycle: float


class ExecModule(ABC):
    """An execution module: patterns, cost model and template of one compute unit.

    `name` and `memories` (innermost first) are class attributes or set in the constructor.
    `arithmetic` says whose rounding requantisation follows: "model" (what ONNX Runtime computes,
    as `workload.reference` defines it) or "module" (the hardware's own).
    `frequency` in Hz where the module's clock is not the target's: its cycles are then converted.
    `unit` names the unit of the chip that it is, its own name where empty: nothing is handed over
    between modules of one unit. `CORE` is the unit that runs the fallback.
    """

    name: ClassVar[str] = ""
    arithmetic: ClassVar[Literal["model", "module"]] = "model"
    unit: ClassVar[str] = ""
    frequency: float | None = None
    memories: tuple[Memory, ...] = ()

    @abstractmethod
    def patterns(self) -> Sequence[Pattern]:
        """What the module can run, longest first."""

    @abstractmethod
    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the hardware unrolls."""

    @abstractmethod
    def cost_model(self, workload: Workload) -> CostModel:
        """How to price a mapping of `workload`."""

    @abstractmethod
    def template(self, workload: Workload) -> str:
        """Path of the layer template below `templates/`."""

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Constants in the layout the template reads; by default as they are."""
        del workload
        return constants

    def scratch_bytes(self, workload: Workload) -> int:
        """Arena bytes the emitted layer function needs beside its operands; 0 by default."""
        del workload
        return 0

    def in_place(self, workload: Workload) -> tuple[str, ...]:
        """Inputs whose storage the output may take over; none by default."""
        del workload
        return ()
