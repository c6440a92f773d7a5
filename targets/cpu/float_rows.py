"""What the templates of row-wise and recurrent float32 layers read."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.float_kernel import literal
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload


@dataclass(frozen=True)
class RowKernel:
    """Numbers of a row-wise layer.

    Attributes:
        epsilon: of a layer norm, a C literal.
    """

    epsilon: str = ""


def row_kernel(workload: Workload, machine: Machine) -> RowKernel:
    """The numbers of `workload`."""
    del machine
    if workload.kind == "layer_norm":
        return RowKernel(literal(workload.parameter("epsilon")))
    return RowKernel()
