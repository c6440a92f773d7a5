"""Norms of rows of bytes: what their template needs, and their numbers as it reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split, over
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import NORMS, ByteNorm, Workload, norm_numbers

#: Rows whose roots and divisions go beside each other: each waits some tens of cycles.
ROWS = 8
#: Vectors of 32-bit lanes that are computed together.
VECTORS = 4


@dataclass(frozen=True)
class NormKernel:
    """What the template of norms of bytes needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        step: a C literal in float64, as the other numbers of `ByteNorm`.
        square: likewise.
        epsilon: likewise.
        rows: whose roots are taken beside each other.
        split: of rows over cores; None for one.
    """

    lanes: int
    step: str
    square: str
    epsilon: str
    rows: int = ROWS
    split: Split | None = None

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


def norm_kernel(machine: Machine, workload: Workload, split: Split | None) -> NormKernel:
    """The kernel of a quantised norm."""
    numbers = ByteNorm.of(workload)
    step, square, epsilon = (
        number.hex() for number in (numbers.step, numbers.square, numbers.epsilon)
    )
    return NormKernel(machine.lanes, step, square, epsilon, split=split)


def pack_norm(machine: Machine, workload: Workload, constants: Constants) -> Constants:
    """Weight and bias in steps of the output, padded to the vectors that are computed together."""
    columns = workload.sizes["K"]
    room = -columns % (VECTORS * machine.lanes)
    found = norm_numbers(workload, constants)
    return {name: np.pad(values, (0, room)) for name, values in found.items()}


def norms(machine: Machine, workload: Workload) -> bool:
    """Whether it is a norm of rows of bytes."""
    return workload.kind in NORMS and machine.lanes > 1
