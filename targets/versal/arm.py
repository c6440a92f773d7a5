"""The Arm core of a Versal device, which runs what the array does not."""

from __future__ import annotations

from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import CostModel, ExecModule
from match_aie.targets.cpu import CPU, CPUModule, float_modules
from match_aie.workload import Workload

#: The core, as `CPU(arch=...)` knows it.
ARCH = "cortex-a72"

#: Clock of the Arm Cortex-A72: ASSUMPTION, 1.4 GHz; speed grades differ.
ARM_MHZ = 1400.0

#: Quantised layers as portable C on one Cortex-A72. ASSUMPTIONS: one 128-bit multiply-accumulate
#: of 8 int16 pairs (SMLAL, SMLAL2) every two cycles, half of it lost to widening and loads; an
#: element in float32 a cycle; 8 bytes a cycle from the second cache.
ARM = Roofline(macs_per_cycle=2.0, steps_per_cycle=0.5, bytes_per_cycle=8.0, overhead=200.0)


class ArmModule(CPUModule):
    """The portable layers of the CPU target on one Arm core."""

    name = "arm"

    def cost_model(self, workload: Workload) -> CostModel:
        """A roofline with the constants of `ARM`."""
        del workload
        return ARM


def arm_modules(core: CPU) -> tuple[ExecModule, ...]:
    """What runs layers on the core: quantised ones as portable C, float ones in its vectors.

    The CPU target's integer kernels for vectors are not among them: projects are run as they are on
    other processors, and integer kernels of 128 bits are made of this one's instructions.
    """
    return (ArmModule(), *float_modules(core.machine))
