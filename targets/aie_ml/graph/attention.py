"""Quantised attention as a graph: every tile has heads, or rows of queries of a single one.

A memory tile holds a group's keys and values head by head, in the tiles that kernels read; one
stream brings a head's keys, then its values. Queries and results are those of a product
(`graph.product`). Groups of heads have ways from and to the chip's memory of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.gather import Rectangle, gather
from match_aie.targets.aie_ml.graph.layer import Arrays
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
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.kernels.arithmetic import epilogue
from match_aie.targets.aie_ml.kernels.attention import LANES, PAIR, AttentionCall, WeightsSpec
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lookup import duplicated, table_bytes
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxNumbers
from match_aie.workload import Workload, attention_layers, layer_constants


@dataclass(frozen=True)
class ProductForm:
    """A product's kernel: accumulator tiles of a block, and whether it is unrolled."""

    block: tuple[int, int] = (1, 1)
    flat: bool = True


@dataclass(frozen=True)
class AttentionCut:
    """How attention is spread.

    Attributes:
        heads: matrices of the batch.
        rows: of queries.
        keys: of a head.
        wide: elements of a query, and of a value.
        tiling: the `mmul` shape.
        groups: of heads, with ways to the chip's memory of their own.
        batch_parts: parts of a group's heads.
        row_parts: parts of a head's rows; 1 unless every part of a group is one head, or a memory
            tile takes the results of all tiles of a group.
        forms: of both products' kernels.
        divided: rows whose sums are divided at once.
        summed: tiles at most whose sums for zero points are made together.
        filled: keys that there are at least, with those that mean nothing.
    """

    heads: int
    rows: int
    keys: int
    wide: tuple[int, int]
    tiling: Tiling
    groups: int = 1
    batch_parts: int = 1
    row_parts: int = 1
    forms: tuple[ProductForm, ProductForm] = (ProductForm(), ProductForm())
    divided: int = LANES
    summed: int = 1
    filled: int = 0

    @property
    def m(self) -> int:
        """Rows of a call, padded."""
        return -(-self.rows // (self.tiling.m * self.row_parts)) * self.tiling.m

    @property
    def n(self) -> int:
        """Keys, padded."""
        return -(-max(self.keys, self.filled) // PAIR) * PAIR

    @property
    def w(self) -> int:
        """Elements of queries, keys and values, padded to one number."""
        return -(-max(self.wide) // self.tiling.k) * self.tiling.k

    @property
    def together(self) -> int:
        """Heads of a group."""
        return self.heads // self.groups

    @property
    def firings(self) -> int:
        """Heads that a tile goes through."""
        return self.together // self.batch_parts

    @property
    def parts(self) -> int:
        """Tiles of a group."""
        return self.batch_parts * self.row_parts

    @property
    def tiles(self) -> int:
        """At work."""
        return self.groups * self.parts

    @property
    def gathered(self) -> int:
        """Tiles whose results go to one buffer: those of a group."""
        return self.parts

    @property
    def split(self) -> tuple[int, int, int]:
        """Groups, parts of a group's heads and of a head's rows."""
        return self.groups, self.batch_parts, self.row_parts

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Of both products."""
        return tuple(form.block for form in self.forms)


class AttentionGraph(MatrixGraph):
    """How one layer becomes a graph."""

    cut: AttentionCut

    @cached_property
    def call(self) -> AttentionCall:
        """The function of every tile."""
        layers, known = attention_layers(self.workload), layer_constants(self.constants)
        cut, tail = self.cut, layers[1].tail
        assert tail is not None
        shapes = ((cut.m, cut.w, cut.n), (cut.m, cut.n, cut.w))
        products = [
            self._product(layers[at], known[at], cut.forms[side], shapes[side])
            for side, at in enumerate((0, 2))
        ]
        spec = WeightsSpec(layers[1].operand("x").dtype, layers[1].output.dtype)
        numbers = SoftmaxNumbers(int(known[1]["multiplier"][0]), tail)
        header = f"{self.name}_kernels.h"
        return AttentionCall(
            f"{self.name}_attention",
            header,
            products[0],
            spec,
            cut.keys,
            numbers,
            products[1],
            cut.firings,
            cut.divided,
            cut.summed,
            repeated=table_bytes(self.device),
        )

    def _product(
        self, layer: Workload, known: Arrays, form: ProductForm, shape: tuple[int, int, int]
    ) -> ProductCall:
        end = epilogue(layer, known)
        spec = matrix_spec(layer, end, self.cut.tiling, form.block, shape, flat=form.flat)
        return product_call("product", f"{self.name}_kernels.h", layer, end, spec)

    @cached_property
    def values(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Numbers of that function."""
        layers, known = attention_layers(self.workload), layer_constants(self.constants)
        both = duplicated(known[1]["table"], table_bytes(self.device))
        biases = [epilogue(layers[at], known[at]).bias for at in (0, 2)]
        named = {f"bias{side}": np.int32(bias[0]) for side, bias in enumerate(biases)}
        sizes = {p.name: p.size for p in self.call.parameters}
        found = tuple((n, np.full(sizes[n], v, np.int32)) for n, v in named.items() if n in sizes)
        return (("w", both), ("cd", both), *found)

    def _outside(self, operand: str, group: int, rows: int, columns: int) -> Outside:
        """A group's matrices of a tensor, padded to `rows` x `columns`."""
        together = self.cut.together
        found = self.outside(operand, (rows, columns), group * together, together)
        return replace(found, name=f"{operand}_{group}")

    def _queries(self, kernel: int) -> list[Read]:
        """What leaves a group's buffer of queries; its kernels begin with number `kernel`."""
        cut, t = self.cut, self.cut.tiling
        whole = cut.w, cut.together * cut.m * cut.row_parts
        return [
            (
                Access(whole, (t.k, t.m), (0, first), ((0, t.k, cut.w // t.k), *rows)),
                [kernel + part],
            )
            for part, (first, rows) in enumerate(self._rows(1))
        ]

    def _rows(self, dim: int) -> list[tuple[int, tuple[tuple[int, int, int], ...]]]:
        """First row of each part of a group, and the loops over its tiles of rows."""
        cut, t = self.cut, self.cut.tiling
        high, found = cut.m * cut.row_parts, []
        for part in range(cut.parts):
            batch, row = divmod(part, cut.row_parts)
            first = batch * cut.firings * high + row * cut.m
            if cut.row_parts == 1:
                loops: tuple[tuple[int, int, int], ...] = ((dim, t.m, cut.firings * cut.m // t.m),)
            else:
                loops = ((dim, t.m, cut.m // t.m), (dim, high, cut.firings))
            found.append((first, loops[: 1 if cut.firings == 1 else 2]))
        return found

    def _keys(self, kernel: int) -> tuple[tuple[Access, Access], list[Read]]:
        """How keys and values come into a group's buffer, and what leaves it."""
        cut, t = self.cut, self.cut.tiling
        each = cut.w * cut.n // t.n  # rows of eight elements: keys, or values, of a head
        whole = t.n, 2 * each * cut.together

        def write(rows: int, columns: int, begin: int) -> Access:
            """A matrix row by row into tiles [rows/8][columns/8][8][8]."""
            across, down = columns // t.n, rows // t.k
            order = ((1, t.k, across), (1, 1, t.k), (1, across * t.k, down))
            heads = ((1, 2 * each, cut.together),) if cut.together > 1 else ()
            return Access(whole, (t.n, 1), (0, begin), (*order, *heads))

        own = 2 * each * cut.firings
        reads: list[Read] = []
        for batch in range(cut.batch_parts):
            first = kernel + batch * cut.row_parts
            parts = range(first, first + cut.row_parts)
            reads.append((Access(whole, (t.n, own), (0, batch * own)), parts))
        return (write(cut.w, cut.n, 0), write(cut.n, cut.w, each)), reads

    def _group(
        self, group: int, first: int, most: tuple[int, int]
    ) -> tuple[list[Shared], list[Connection]]:
        """A group's buffers, numbered from `first`, and all that they are connected with."""
        cut, kernel = self.cut, group * self.cut.parts
        x, x1 = self.workload.operand("x"), self.workload.operand("x1")
        writes, keys = self._keys(kernel)
        queries = self._queries(kernel)
        rows = queries[0][0].buffer
        whole = Access(rows, rows, (0, 0))
        sides = (
            (f"q{group}_", x.dtype, (whole,), queries),
            (f"kv{group}_", x1.dtype, writes, keys),
        )
        buffers: list[Shared] = []
        joined: list[Connection] = []
        for side, (name, dtype, into, reads) in enumerate(sides):
            at = first + len(buffers)
            made = self.served(
                name, dtype, 3 * group + side, into, reads, most[0], side=side, first=at
            )
            buffers += made[0]
            joined += made[1]
        outputs, more = self._outputs(group, first + len(buffers), most[1])
        end = End("shared", first + len(buffers) + len(outputs) - 1)
        out = Connection(end, End("outside", 3 * cut.groups + group))
        return [*buffers, *outputs], [*joined, *more, out]

    def _outputs(self, group: int, first: int, most: int) -> tuple[list[Shared], list[Connection]]:
        """Where a group's results are gathered."""
        cut, t = self.cut, self.cut.tiling
        own = cut.m * cut.firings
        if cut.parts <= most:
            return self._gathered(group, first)
        order = ((0, t.n, cut.w // t.n), (2, t.m, own // t.m))
        parts = [
            Rectangle(
                End("buffer", group * cut.parts + part),
                part,
                0,
                1,
                1,
                (t.n, 1, t.m),
                order,
                self.place(group * cut.parts + part)[0],
            )
            for part in range(cut.parts)
        ]
        size = (cut.w, 1, own * cut.parts)
        found, joined = gather(parts, size, own, own, most, self.workload.output.dtype, first=first)
        found[-1] = replace(found[-1], reads=(Access(size, size, (0, 0, 0)),))
        return [replace(each, name=f"{each.name}_{group}") for each in found], joined

    def _gathered(self, group: int, first: int) -> tuple[list[Shared], list[Connection]]:
        """All of a group's results in one memory tile, wherever a tile's rows lie."""
        cut, t = self.cut, self.cut.tiling
        size = cut.w, cut.together * cut.m * cut.row_parts
        writes = tuple(
            Access(size, (t.n, t.m), (0, begin), ((0, t.n, cut.w // t.n), *rows))
            for begin, rows in self._rows(1)
        )
        near = self.place(group * cut.parts + cut.parts // 2)[0]
        read = (Access(size, size, (0, 0)),)
        joined = [
            Connection(End("buffer", group * cut.parts + part), End("shared", first, part))
            for part in range(cut.parts)
        ]
        dtype = self.workload.output.dtype
        return [Shared(f"y0_{group}", dtype, size, writes, read, column=near)], joined

    @property
    def graph(self) -> LayerGraph:
        """All of it.

        Raises:
            TargetError: the device has no memory tiles.
        """
        cut, mem = self.cut, self.device.architecture.mem
        if mem is None:
            raise TargetError(f"{self.device.name} has no memory tiles for keys and values")
        sizes = cut.m * cut.w, cut.w * cut.n
        kernels = tuple(
            GraphKernel(
                self.call,
                self.place(tile),
                sizes,
                cut.m * cut.w,
                1,
                self.values,
                walks=True,
            )
            for tile in range(cut.tiles)
        )
        buffers: list[Shared] = []
        joined: list[Connection] = []
        for group in range(cut.groups):
            more, links = self._group(group, len(buffers), (mem.dma.mm2s, mem.dma.s2mm))
            buffers += more
            joined += links
        high = cut.m * cut.row_parts
        shapes = (("x", high, cut.w), ("x1", cut.w, cut.n), ("x2", cut.n, cut.w))
        return LayerGraph(
            self.name,
            f"Attention of {cut.heads} heads, {cut.rows} queries by {cut.keys} keys of "
            f"{cut.wide[0]} elements on {cut.tiles} tiles",
            tuple(self._outside(o, g, *size) for g in range(cut.groups) for o, *size in shapes),
            tuple(self._outside("y", g, high, cut.w) for g in range(cut.groups)),
            tuple(copied(buffer, self.device) for buffer in buffers),
            kernels,
            tuple(joined),
            self.columns,
        )
