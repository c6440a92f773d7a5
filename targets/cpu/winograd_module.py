"""3x3 convolutions by minimal filtering, beside the direct products: the cheaper one is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from match_aie.cost_models.cores import SharedLayer
from match_aie.cost_models.winograd import WinogradLayer, best_winograd
from match_aie.hardware import (
    CORE,
    Concurrent,
    Constants,
    CostModel,
    ExecModule,
    Loop,
    Mapping,
    OwnArithmetic,
    Packed,
    Pattern,
    Scratch,
    Tiled,
)
from match_aie.targets.cpu.cores import Split, Way, divide
from match_aie.targets.cpu.machine import Dot, Machine
from match_aie.targets.cpu.module import memories
from match_aie.targets.cpu.patterns import REAL_PATTERNS, SUMMED
from match_aie.targets.cpu.winograd import (
    WinogradKernel,
    pack_winograd,
    plan_winograd,
    refuses,
    refuses_constants,
)
from match_aie.workload import Converted, Workload


class WinogradModule(ExecModule, Packed, Scratch, Tiled, OwnArithmetic, Concurrent):
    """F(m x m, 3 x 3) on one core with vectors; `outputs` is m."""

    unit = CORE
    caches = True
    outputs: ClassVar[int]

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine
        self.memories = memories(machine)[1:]

    def patterns(self) -> Sequence[Pattern]:
        """Convolutions."""
        found = [each for each in (*SUMMED, *REAL_PATTERNS) if each.kind == "conv2d"]
        return [self._narrowed(pattern) for pattern in found]

    def _narrowed(self, pattern: Pattern) -> Pattern:
        def check(workload: Workload) -> str | None:
            return pattern.refuses(workload) or refuses(self.machine, workload)

        return replace(pattern, refuses=check)

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer as it is, where its weights and bias leave room for exact sums."""
        reason = refuses_constants(self.outputs, workload, constants)
        return reason or Converted(workload, constants)

    def template(self, workload: Workload) -> str:
        """One for all."""
        del workload
        return "cpu/int8/winograd.c.mako"

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """None: the blocking is the kernel's."""
        del workload
        return ()

    def _dot(self) -> tuple[Dot, int]:
        """How int16 are multiplied, and how many products a lane sums at once."""
        return ("madd", 2) if self.machine.family == "x86-64" else ("plain", 1)

    def _one_core(self, workload: Workload) -> WinogradLayer:
        return best_winograd(self.machine, *self._dot(), self.outputs, workload)

    def cost_model(self, workload: Workload) -> CostModel:
        """The stages; of the slowest part where the layer is divided."""
        whole, split = self._one_core(workload), self.split(workload)
        return SharedLayer(whole, split.share, split.join) if split else whole

    def split(self, workload: Workload) -> Split | None:
        """How the layer is divided over cores: rows of tiles, images or panels of channels."""
        if self.machine.cores == 1:
            return None
        whole, sizes = self._one_core(workload), workload.sizes
        ways = [
            Way("OY", sizes["OY"], self.outputs),
            Way("B", sizes["B"]),
            Way("K", sizes["K"], whole.tile.registers.vectors * self.machine.lanes),
        ]
        least = whole.cost(workload, Mapping((), ())).cycles
        return divide(
            self.machine.cores, ways, least, lambda dim, size: whole.part(workload, dim, size)
        )

    def kernel(self, workload: Workload, mapping: Mapping) -> WinogradKernel:
        """Blocks, panels, and where transformed data and sums lie."""
        del mapping
        tile, split = self._one_core(workload).tile, self.split(workload)
        return plan_winograd(self.machine, workload, *self._dot(), tile, split)

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights transformed, in the order of the kernel."""
        return pack_winograd(self.kernel(workload, Mapping((), ())), workload, constants)

    def scratch_bytes(self, workload: Workload) -> int:
        """Transformed data and sums of a block."""
        return self.kernel(workload, Mapping((), ())).scratch_bytes


class Winograd2Module(WinogradModule):
    """2.25 times fewer products than the direct kernel."""

    name = "cpu_winograd2"
    outputs = 2


class Winograd4Module(WinogradModule):
    """4 times fewer products, for more work around them and less room for sums."""

    name = "cpu_winograd4"
    outputs = 4
