"""Decisions behind elementwise layers: whether the innermost loop is worth vectors."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

_BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class ElementwiseKernel:
    """What the template of elementwise layers needs beside the layer: 32-bit lanes of a vector."""

    lanes: int


def vectorised(machine: Machine, workload: Workload) -> bool:
    """Whether elements are bytes or float32, and lie side by side along the last dimension."""
    if workload.kind not in ("add", "mul", "quantize", "dequantize") or machine.lanes == 1:
        return False
    if workload.fixed_point or workload.output.size == 1:
        return False  # a single element has no loop, whose step would say that it is a stream
    if workload.fixed_point:
        return False
    reads = ("float32",) if workload.kind == "quantize" else _BYTES
    writes = ("float32",) if workload.kind == "dequantize" else _BYTES
    if workload.output.dtype not in writes or any(x.dtype not in reads for x in workload.inputs):
        return False
    # Broadcast along the last dimension, an operand is one value for a whole row.
    return workload.sizes["K"] >= machine.lanes or all(
        operand.shape == workload.output.shape for operand in workload.inputs
    )
