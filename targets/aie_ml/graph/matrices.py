"""What graphs of layers whose operands are all activations have in common: products, attention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import Connection, End, LayerGraph, Outside, Part, Shared
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec
from match_aie.workload import Workload

#: What leaves a buffer, and the kernels that it goes to.
Read = tuple[Access, Sequence[int]]


@dataclass(frozen=True, eq=False)
class MatrixGraph(ABC):
    """How one layer becomes a graph; `graph` gives it.

    Attributes:
        name: prefix of everything emitted.
        cut: how it is spread.
        device: with as many rows of cores as a column uses.
        workload: in the arithmetic of the kernels.
        constants: by operand name.
    """

    name: str
    cut: Any
    device: Device
    workload: Workload
    constants: Arrays

    @property
    @abstractmethod
    def graph(self) -> LayerGraph:
        """All of it."""

    def place(self, kernel: int) -> tuple[int, int]:
        """Column and row of a kernel's core."""
        return divmod(kernel, self.device.core_rows)

    @property
    def columns(self) -> int:
        """Of the array."""
        return self.place(self.cut.tiles - 1)[0] + 1

    def outside(self, operand: str, shape: tuple[int, int], first: int, many: int) -> Outside:
        """`many` matrices of a tensor, from number `first` on, padded to `shape`."""
        found = next(o for o in self.workload.operands if o.name == operand)
        tensor = self.workload.sizes["B"], found.shape[1], found.shape[2]
        part = Part(operand, tensor, first, many, *shape)
        return Outside(operand, found.dtype, part.elements, part)

    def served(
        self,
        name: str,
        dtype: str,
        outside: int,
        writes: tuple[Access, ...],
        reads: Sequence[Read],
        most: int,
        *,
        side: int,
        first: int,
    ) -> tuple[list[Shared], list[Connection]]:
        """Copies of an operand, each for as many reads as a memory tile has channels.

        Args:
            name: of the buffers, before their number.
            dtype: of the elements.
            outside: the first of the ways in, one for each of `writes`.
            writes: how it comes in.
            reads: how it leaves.
            most: channels out of a memory tile.
            side: input of the kernels.
            first: number of the first of these buffers.
        """
        buffers: list[Shared] = []
        joined: list[Connection] = []
        for begin in range(0, len(reads), most):
            some, index = reads[begin : begin + most], first + len(buffers)
            near = self.place(some[len(some) // 2][1][0])[0]
            leaving, label = tuple(access for access, _ in some), f"{name}{begin // most}"
            size = writes[0].buffer
            buffers.append(Shared(label, dtype, size, writes, leaving, column=near))
            joined += [
                Connection(End("outside", outside + port), End("shared", index, port))
                for port in range(len(writes))
            ]
            joined += [
                Connection(End("shared", index, port), End("buffer", kernel, side))
                for port, (_, to) in enumerate(some)
                for kernel in to
            ]
        return buffers, joined


def copied(buffer: Shared, device: Device) -> Shared:
    """The buffer twice, where a memory tile holds that: one run writes, another is read."""
    mem = device.architecture.mem
    size = 2 * prod(buffer.dimensions) * BYTES[buffer.dtype]
    return replace(buffer, copies=2 if mem is None or size <= mem.bytes else 1)


def matrix_spec(
    layer: Workload,
    end: Epilogue,
    tiling: Tiling,
    block: tuple[int, int],
    shape: tuple[int, int, int],
    *,
    flat: bool,
) -> KernelSpec:
    """The kernel of a product: which sums it corrects depends on the workload only.

    Args:
        layer: the product.
        end: its requantisation.
        tiling: the `mmul` shape.
        block: accumulator tiles, rows and columns.
        shape: rows, reduction and columns of a call.
        flat: whether the reduction is unrolled.
    """
    x, x1 = layer.inputs
    points = x.zero_point != 0 or x1.zero_point != 0
    return KernelSpec(
        x.dtype,
        x1.dtype,
        tiling,
        *block,
        *shape,
        end.requantise,
        bias=points or end.requantise.form == "shift",
        row_bias=points,
        flat=flat,
    )


def product_call(
    symbol: str, header: str, layer: Workload, end: Epilogue, spec: KernelSpec
) -> ProductCall:
    """The function of a product with these numbers."""
    x, x1 = layer.inputs
    constant = layer.sizes["C"] * x.zero_point * x1.zero_point
    joins = int(end.bias[0]) if spec.row_bias else 0
    return ProductCall(
        symbol,
        header,
        spec,
        end.shift,
        scalar(end.multiplier),
        scalar(end.addend),
        x.zero_point,
        x1.zero_point,
        constant + joins,
    )


def scalar(number: np.ndarray | int | None) -> int:
    """A number of all columns; 0 where each has its own, or none."""
    return number if isinstance(number, int) else 0
