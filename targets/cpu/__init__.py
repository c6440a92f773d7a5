"""The host processor: one execution module in portable C."""

from match_aie.targets.cpu.float_module import float_modules
from match_aie.targets.cpu.module import CPUModule
from match_aie.targets.cpu.target import CPU

__all__ = ["CPU", "CPUModule", "float_modules"]
