"""Decisions behind elementwise layers: whether the innermost loop is worth vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.targets.cpu.cores import Split, Way, bounds
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

_BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class ElementwiseKernel:
    """What the template of elementwise layers needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        parts: for as many cores.
    """

    lanes: int
    parts: int = 1

    def split(self, sizes: Sequence[int]) -> tuple[int, Split | None]:
        """(which of the loops of `sizes`, outermost first, is divided, where); None for one core.

        The innermost one is divided where it is alone; its parts begin with whole vectors.
        """
        if self.parts == 1:
            return 0, None
        at = max(range(max(1, len(sizes) - 1)), key=lambda index: sizes[index])
        grain = 2 * self.lanes if len(sizes) == 1 else 1
        ends = bounds(Way("", sizes[at], grain), self.parts)
        return at, Split("", ends, 1.0 / self.parts, 0.0)


def vectorised(machine: Machine, workload: Workload) -> bool:
    """Whether elements are bytes or float32, and lie side by side along the last dimension."""
    if workload.kind not in ("add", "mul", "quantize", "dequantize") or machine.lanes == 1:
        return False
    if workload.fixed_point or workload.output.size == 1:
        return False  # a single element has no loop, whose step would say that it is a stream
    reads = ("float32",) if workload.kind == "quantize" else _BYTES
    writes = ("float32",) if workload.kind == "dequantize" else _BYTES
    if workload.output.dtype not in writes or any(x.dtype not in reads for x in workload.inputs):
        return False
    # Broadcast along the last dimension, an operand is one value for a whole row.
    return workload.sizes["K"] >= machine.lanes or all(
        operand.shape == workload.output.shape for operand in workload.inputs
    )
