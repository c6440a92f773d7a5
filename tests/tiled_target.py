"""A chip with an accelerator behind a scratchpad, for tests: importable in every process."""

from collections.abc import Sequence

from match_aie.cost_models.pulp import PulpCluster
from match_aie.hardware import (
    Any,
    ChipCosts,
    Const,
    ExecModule,
    Loop,
    MatchTarget,
    Memory,
    Op,
    Pattern,
    Scratch,
)
from match_aie.targets.cpu import CPUModule
from match_aie.workload import Workload


def real(operand: Any | Const) -> Op:
    return Op("dequantize", operand)


CONVOLUTION = Op("nn.conv2d", real(Any("x")), real(Const("weight")))
BIASED = Op("quantize", Op("add", CONVOLUTION, real(Const("bias"))))


class Cluster(ExecModule, Scratch):
    """Convolutions with tiles in a scratchpad of `kilobytes`."""

    name = "cluster"

    def __init__(self, kilobytes: int = 32, cores: int = 8):
        self.model = PulpCluster(cores=cores)
        self.memories = (
            Memory("L1", kilobytes * 1024, 64.0, double_buffered=None),
            Memory("L2", None, 8.0, transfer_cycles=100.0, chunk_cycles=2.0),
        )

    def patterns(self) -> Sequence[Pattern]:
        return [Pattern("conv2d_bias", "conv2d", BIASED)]

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        return self.model.spatial(workload)

    def cost_model(self, workload: Workload) -> PulpCluster:
        return self.model

    def template(self, workload: Workload) -> str:
        return "cpu/conv2d.c.mako"

    def scratch_bytes(self, workload: Workload) -> int:
        return CPUModule().scratch_bytes(workload)


class Chip(MatchTarget, ChipCosts):
    """A cluster beside a core."""

    name = "chip"

    def __init__(self, kilobytes: int = 32, cores: int = 8):
        self.units = (Cluster(kilobytes, cores), CPUModule())

    def modules(self) -> Sequence[ExecModule]:
        return self.units
