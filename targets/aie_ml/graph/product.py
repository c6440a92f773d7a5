"""A product of two activations as a graph: every tile has rows of a and columns of b, K whole.

Matrices of a batch lie below each other in memory tiles. A tile works on one matrix after the
other, or on a part of the rows of a single one; a firing takes its rows of a and its columns of b.
What lacks to whole tiles of the kernel is added by the processor as zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.gather import Rectangle, channels_of, gather, handed_on
from match_aie.targets.aie_ml.graph.matrices import (
    MatrixGraph,
    Read,
    copied,
    matrix_spec,
    product_call,
)
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Shared,
)
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


@dataclass(frozen=True)
class ProductCut:
    """How a product is spread.

    Attributes:
        batch: matrices of the batch.
        sizes: rows, reduction and columns of a product.
        tiling: the `mmul` shape.
        batch_parts: parts of the batch, which they divide.
        row_parts: parts of a matrix's rows; 1 unless every part of the batch is one matrix.
        column_parts: of its columns.
        block: accumulator tiles (rows, columns) that divide a call.
        flat: whether the reduction is unrolled.
    """

    batch: int
    sizes: tuple[int, int, int]
    tiling: Tiling
    batch_parts: int
    row_parts: int
    column_parts: int
    block: tuple[int, int] = (1, 1)
    flat: bool = True

    @property
    def call(self) -> tuple[int, int, int]:
        """Rows, reduction and columns of a firing, padded."""
        t, (m, k, n) = self.tiling, self.sizes
        rows = -(-m // (t.m * self.row_parts)) * t.m
        columns = -(-n // (t.n * self.column_parts)) * t.n
        return rows, -(-k // t.k) * t.k, columns

    @property
    def padded(self) -> tuple[int, int, int]:
        """Rows, reduction and columns of a product, padded."""
        rows, reduction, columns = self.call
        return rows * self.row_parts, reduction, columns * self.column_parts

    @property
    def firings(self) -> int:
        """Of a tile for one run."""
        return self.batch // self.batch_parts

    @property
    def parts(self) -> int:
        """Parts of the rows of all matrices."""
        return self.batch_parts * self.row_parts

    @property
    def tiles(self) -> int:
        """At work."""
        return self.parts * self.column_parts

    @property
    def gathered(self) -> int:
        """Tiles whose results go to one buffer: all."""
        return self.tiles

    @property
    def split(self) -> tuple[int, int, int]:
        """Parts of the batch, of rows and of columns."""
        return self.batch_parts, self.row_parts, self.column_parts

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Of its only product."""
        return (self.block,)


class ProductGraph(MatrixGraph):
    """How one product becomes a graph."""

    cut: ProductCut

    @cached_property
    def end(self) -> Epilogue:
        """The requantisation."""
        return epilogue(self.workload, self.constants)

    @cached_property
    def spec(self) -> KernelSpec:
        """The kernel of every tile."""
        cut = self.cut
        return matrix_spec(self.workload, self.end, cut.tiling, cut.block, cut.call, flat=cut.flat)

    @property
    def call(self) -> ProductCall:
        """The function of every tile."""
        name = self.name
        header = f"{name}_kernels.h"
        return product_call(f"{name}_product", header, self.workload, self.end, self.spec)

    @property
    def kernels(self) -> tuple[GraphKernel, ...]:
        """By part of the rows, then of the columns."""
        cut, s, call = self.cut, self.spec, self.call
        bias = np.full(s.n, int(self.end.bias[0]), np.int32)
        values = tuple((p.name, bias) for p in call.parameters)
        sizes = s.m * s.k, s.k * s.n
        return tuple(
            GraphKernel(call, self.place(tile), sizes, s.m * s.n, cut.firings, values)
            for tile in range(cut.tiles)
        )

    def _reads(self) -> tuple[list[Read], list[Read]]:
        """What leaves the buffers of a and of b, each with the kernels that it goes to."""
        cut, t = self.cut, self.cut.tiling
        (m, k, n), (rows, reduction, columns) = cut.call, cut.padded
        held = (reduction, cut.batch * rows), (columns, cut.batch * reduction)
        own = m * cut.firings
        a: list[Read] = []
        for part in range(cut.parts):
            order = ((0, t.k, k // t.k), (1, t.m, own // t.m))
            to = [part * cut.column_parts + column for column in range(cut.column_parts)]
            a.append((Access(held[0], (t.k, t.m), (0, part * own), order), to))
        b: list[Read] = []
        for batch in range(cut.batch_parts):
            for column in range(cut.column_parts):
                order = ((0, t.n, n // t.n), (1, t.k, cut.firings * k // t.k))
                begin = column * n, batch * cut.firings * k
                parts = range(batch * cut.row_parts, (batch + 1) * cut.row_parts)
                to = [part * cut.column_parts + column for part in parts]
                b.append((Access(held[1], (t.n, t.k), begin, order), to))
        return a, b

    def _inputs(self, most: int) -> tuple[list[Shared], list[Connection]]:
        """Copies of both operands, each for as many reads as a memory tile has channels."""
        buffers: list[Shared] = []
        joined: list[Connection] = []
        pairs = zip(self.workload.inputs, self._reads(), strict=True)
        for side, (operand, reads) in enumerate(pairs):
            whole = reads[0][0].buffer
            into, first = (Access(whole, whole, (0, 0)),), len(buffers)
            made = self.served(
                "ab"[side], operand.dtype, side, into, reads, most, side=side, first=first
            )
            buffers += made[0]
            joined += made[1]
        return buffers, joined

    def _results(self) -> list[Rectangle]:
        cut, t = self.cut, self.cut.tiling
        m, _, n = cut.call
        order = ((0, t.n, n // t.n), (2, t.m, m * cut.firings // t.m))
        return [
            Rectangle(
                End("buffer", part * cut.column_parts + column),
                part,
                column,
                1,
                1,
                (t.n, 1, t.m),
                order,
                self.place(part * cut.column_parts + column)[0],
            )
            for part in range(cut.parts)
            for column in range(cut.column_parts)
        ]

    def _outputs(self, most: int, first: int) -> tuple[list[Shared], list[Connection]]:
        """Where the results are gathered."""
        cut = self.cut
        own, grid = cut.call[0] * cut.firings, (cut.call[2], cut.column_parts)
        size = (*grid, cut.batch * cut.padded[0])
        return gather(
            self._results(), size, own, own, most, self.workload.output.dtype, first=first
        )

    @property
    def handed(self) -> float:
        """Cycles in which memory tiles hand on until the last one has all results."""
        return handed_on(*self._outputs(channels_of(self.device).s2mm, 0), self.device)

    @property
    def graph(self) -> LayerGraph:
        """All of it."""
        cut, channels = self.cut, channels_of(self.device)
        n, (rows, reduction, columns) = cut.call[2], cut.padded
        inputs, joined = self._inputs(channels.mm2s)
        grid = n, cut.column_parts, cut.batch * rows
        outputs, more = self._outputs(channels.s2mm, len(inputs))
        outputs[-1] = replace(outputs[-1], reads=(Access(grid, grid, (0, 0, 0)),))
        end = End("shared", len(inputs) + len(outputs) - 1)
        size = cut.sizes
        return LayerGraph(
            self.name,
            f"{cut.batch} products of x [{size[0]}, {size[1]}] and x1 [{size[1]}, {size[2]}] on "
            f"{cut.tiles} tiles",
            (
                self.outside("x", (rows, reduction), 0, cut.batch),
                self.outside("x1", (reduction, columns), 0, cut.batch),
            ),
            (self.outside("y", (rows, columns), 0, cut.batch),),
            tuple(copied(buffer, self.device) for buffer in (*inputs, *outputs)),
            self.kernels,
            (*joined, *more, Connection(end, End("outside", 2))),
            self.columns,
        )
