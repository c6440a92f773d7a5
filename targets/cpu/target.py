"""The CPU target."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.hardware import ExecModule, MatchTarget
from match_aie.targets.cpu.module import CPUModule


class CPU(MatchTarget):
    """Any processor with a C11 compiler, one core."""

    name = "CPU"

    def modules(self) -> Sequence[ExecModule]:
        """The one module, "cpu"."""
        return (CPUModule(),)
