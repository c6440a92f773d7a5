"""Decisions behind layers that sum no products: whether they are worth vectors, and cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.targets.cpu.cores import Split, Way, bounds, over
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


@dataclass(frozen=True)
class RowsKernel:
    """What the templates of pools and of softmax need beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        whole: whether it is an average over the whole image.
        split: of images, lines or rows over cores; None for one.
    """

    lanes: int
    whole: bool
    split: Split | None = None

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


def in_rows(machine: Machine, workload: Workload) -> bool:
    """Whether it is a pool with as many channels as two vectors have lanes, or a softmax.

    Averages are those of float32; the ones on integers, and fixed point, divide element by element.
    """
    tail = workload.tail
    if workload.fixed_point or tail is None or tail.rounding != "half_even" or machine.lanes == 1:
        return False
    if workload.kind == "softmax":
        return True
    pool = workload.kind in ("avg_pool2d", "max_pool2d")
    return pool and workload.sizes["G"] >= 2 * machine.lanes


def vectorised(machine: Machine, workload: Workload) -> bool:
    """Whether elements are bytes or float32, and lie side by side along the last dimension."""
    if workload.kind not in ("add", "mul", "quantize", "dequantize") or machine.lanes == 1:
        return False
    if workload.fixed_point or workload.output.size == 1:
        return False  # a single element has no loop, whose step would say that it is a stream
    reads = ("float32",) if workload.kind == "quantize" else _BYTES
    writes = ("float32",) if workload.kind == "dequantize" else _BYTES
    if workload.output.dtype not in writes or any(x.dtype not in reads for x in workload.data):
        return False
    # Broadcast along the last dimension, an operand is one value for a whole row.
    return workload.sizes["K"] >= machine.lanes or all(
        operand.shape == workload.output.shape for operand in workload.data
    )
