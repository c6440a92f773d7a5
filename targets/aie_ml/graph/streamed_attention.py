"""Quantised attention as a graph whose keys and values go by: heads too long for a tile.

Groups of columns take heads one after the other. A memory tile of a group holds a head's keys and
values, part by part, and sends all of them to all tiles of the group, three times for every block
of queries, while the next head comes. Another one holds the head's queries, of which each column
gets a stream; tiles of a column take their blocks in turn. Results of a column are gathered in a
memory tile of it. So the chip's memory is read and written once for every element.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.matrices import matrix_spec, product_call, scalar
from match_aie.targets.aie_ml.graph.plan import (
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Part,
    Shared,
)
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.graph.timed_graph import Parts
from match_aie.targets.aie_ml.kernels.arithmetic import epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.lookup import duplicated, table_bytes
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxNumbers
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.kernels.streamed_attention import (
    WEIGHTS,
    PartsSpec,
    StreamedAttention,
)
from match_aie.workload import Workload, attention_layers, layer_constants


def refuses_streams(workload: Workload) -> str | None:
    """Why attention whose keys and values go by has no kernel; None where it has one."""
    for operand, what in zip(workload.inputs, ("queries", "keys", "values"), strict=True):
        if operand.zero_point:
            return f"its {what} have a zero point, which attention in parts does not correct"
    _, softmax, _ = attention_layers(workload)
    tail = softmax.tail
    assert tail is not None
    if not tail.zero_point == tail.lo == tail.hi - 255:
        return "its weights have a zero point that is not their least value"
    return None


@dataclass(frozen=True, eq=False)
class StreamedGraph:
    """How one layer becomes a graph; `graph` gives it.

    Attributes:
        name: prefix of everything emitted.
        cut: how it is spread.
        device: that has as many columns and rows.
        workload: in the arithmetic of the kernels.
        constants: by operand name.
    """

    name: str
    cut: StreamedCut
    device: Device
    workload: Workload
    constants: Arrays

    @cached_property
    def call(self) -> StreamedAttention:
        """The function of every tile.

        Raises:
            TargetError: `refuses_streams` says why there is none, or blocks do not fit each other.
        """
        reason = refuses_streams(self.workload)
        if reason is not None:
            raise TargetError(f"attention {self.name}: {reason}")
        layers, known = attention_layers(self.workload), layer_constants(self.constants)
        cut, header = self.cut, f"{self.name}_kernels.h"
        end, form = epilogue(layers[0], known[0]), cut.forms[0]
        shape = cut.block, cut.w, cut.part
        spec = matrix_spec(layers[0], end, cut.tiling, form.block, shape, flat=form.flat)
        scores = product_call("product", header, layers[0], end, spec)
        tail = layers[1].tail
        assert tail is not None
        tail = replace(tail, zero_point=0, lo=0, hi=tail.hi - tail.lo)
        values, start = self._values(layers[2], known[2])
        return StreamedAttention(
            f"{self.name}_attention",
            header,
            scores,
            values,
            PartsSpec(layers[1].operand("x").dtype, WEIGHTS),
            **cut.parted,
            numbers=SoftmaxNumbers(int(known[1]["multiplier"][0]), tail),
            start=start,
            repeated=table_bytes(self.device),
        )

    def _values(self, layer: Workload, known: Arrays) -> tuple[LayerCall, int]:
        """The second product, and what its sums begin with."""
        cut, end, form = self.cut, epilogue(layer, known), self.cut.forms[1]
        spec = KernelSpec(
            WEIGHTS,
            layer.operand("x1").dtype,
            cut.tiling,
            *form.block,
            cut.block,
            cut.part,
            cut.w,
            end.requantise,
            bias=False,
            resumes=True,
            flat=form.flat,
        )
        numbers = end.shift, scalar(end.multiplier), scalar(end.addend)
        return LayerCall("values", f"{self.name}_kernels.h", spec, *numbers), int(end.bias[0])

    def _numbers(self, turn: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of the tile whose turn this is."""
        layers, known = attention_layers(self.workload), layer_constants(self.constants)
        both = duplicated(known[1]["table"], table_bytes(self.device))
        bias = epilogue(layers[0], known[0]).bias
        sizes = {p.name: p.size for p in self.call.parameters}
        found = [("w", both), ("cd", both), ("turn", np.array([turn], np.int32))]
        if "bias0" in sizes:
            found.append(("bias0", np.full(sizes["bias0"], bias[0], np.int32)))
        return tuple(found)

    def dtype(self, name: str) -> str:
        """Element type of a tensor on its way."""
        return self.workload.operand(name).dtype

    #: What its description ends with.
    how = ""

    @property
    def value_keys(self) -> int:
        """Keys of a tile of values."""
        return self.cut.tiling.k

    @property
    def query_copies(self) -> int:
        """Heads whose queries a memory tile holds."""
        return 2

    @property
    def result_copies(self) -> int:
        """Heads whose results a memory tile holds: one where it lacks descriptors for two.

        A text has a descriptor for each block of each tile, and for each time that keys go by.
        """
        if self.device.dispatch_us is None:  # the vendor's tool says what moves
            return 2
        cut, most = self.cut, self.device.architecture.descriptors["mem"]
        keys = cut.copies * (cut.w // cut.tiling.k + 1 + cut.rounds * cut.blocks)
        queries = 2 * self.query_copies if cut.columns == 1 else 0
        return 2 if keys + queries + 2 * (cut.high * cut.blocks + 1) <= most else 1

    # ------------------------------------------------------------ outside

    @cached_property
    def inputs(self) -> tuple[Outside, ...]:
        """Queries, keys and values of each group, its heads one after the other."""
        cut = self.cut
        deep, long = cut.column_rows * cut.columns, cut.part * cut.parts
        sizes = (("x", deep, cut.w), ("x1", cut.w, long), ("x2", long, cut.w))
        found = []
        for group in range(cut.groups):
            for name, rows, columns in sizes:
                operand = self.workload.operand(name)
                tensor = cut.heads, operand.shape[1], operand.shape[2]
                part = Part(name, tensor, group * cut.together, cut.together, rows, columns)
                found.append(Outside(f"{name}_{group}", operand.dtype, part.elements, part))
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[Outside, ...]:
        """Rows of each column of each group."""
        cut = self.cut
        dtype = self.dtype("y")
        places = itertools.product(range(cut.groups), range(cut.columns))
        made = ((f"y_{at[0]}_{at[1]}", self._leaving(*at)) for at in places)
        return tuple(Outside(name, dtype, each.elements, blocks=each) for name, each in made)

    def _leaving(self, group: int, column: int) -> Blocks:
        """Rows of a column; of the last one those that the layer has."""
        cut = self.cut
        return Blocks(
            "y",
            (cut.heads * cut.rows, cut.wide[1]),
            self._left(column),
            cut.w,
            row=group * cut.together * cut.rows + column * cut.column_rows,
            row_step=cut.rows,
            passes=cut.together,
        )

    def _left(self, column: int) -> int:
        """Rows of a head that a group's column makes and the layer has."""
        return min(self.cut.column_rows, self.cut.rows - column * self.cut.column_rows)

    # ------------------------------------------------------------ memory tiles

    def _parts(self, group: int) -> Shared:
        """Keys of a head part by part as tiles of a product, then its values."""
        cut, t = self.cut, self.cut.tiling
        each = cut.w * cut.part // t.n  # rows of eight elements: keys, or values, of a part
        across, down = cut.part // t.n, cut.w // t.k
        whole = t.n, 2 * each * cut.parts
        order = ((1, t.k, across), (1, each, cut.parts), (1, 1, t.k), (1, across * t.k, down))
        keys = Access(whole, (t.n, 1), (0, 0), order)
        k, long = self.value_keys, cut.part * cut.parts
        rows = ((1, k, cut.w // t.n), (1, 1, k), (1, k * cut.w // t.n, long // k))
        values = Access(whole, (t.n, 1), (0, each * cut.parts), rows)
        both = ((1, each * cut.parts, 2), (1, each, cut.parts))
        read = Access(whole, (t.n, each), (0, 0), both, repeats=cut.rounds * cut.blocks)
        dtype = self.dtype("x1")
        column = group * cut.columns
        sizes = whole, (keys, values), (read,)
        return Shared(f"kv{group}", dtype, *sizes, cut.copies, column, cut.together)

    def _queries(self, group: int) -> Shared:
        """Queries of a head, read column by column: a block of each of its tiles, and again."""
        cut, t = self.cut, self.cut.tiling
        whole = cut.w, cut.column_rows * cut.columns
        reads = tuple(
            Access(
                whole,
                (t.k, t.m),
                (0, column * cut.column_rows),
                ((0, t.k, cut.w // t.k), (1, t.m, cut.column_rows // t.m)),
            )
            for column in range(cut.columns)
        )
        dtype = self.dtype("x")
        write = (Access(whole, whole, (0, 0)),)
        column = (group + 1) * cut.columns - 1
        return Shared(
            f"q{group}", dtype, whole, write, reads, self.query_copies, column, cut.together
        )

    def _results(self, group: int, column: int) -> Shared:
        """Results of a head that a column makes: blocks of its tiles in turn."""
        cut, t = self.cut, self.cut.tiling
        whole = cut.w, cut.column_rows
        loops = (
            (0, t.n, cut.w // t.n),
            (1, t.m, cut.block // t.m),
            (1, cut.block * cut.high, cut.blocks),
        )
        writes = tuple(
            Access(whole, (t.n, t.m), (0, tile * cut.block), loops) for tile in range(cut.high)
        )
        read = (Access(whole, (cut.w, self._left(column)), (0, 0)),)
        dtype = self.dtype("y")
        place = group * cut.columns + column
        name, copies = f"y{group}_{column}", self.result_copies
        return Shared(name, dtype, whole, writes, read, copies, place, cut.together)

    def _wire(self, group: int, made: Parts) -> None:
        """A group's buffers, and all that they are connected with."""
        cut = self.cut
        first = group * cut.columns * cut.high
        kernels = range(first, first + cut.columns * cut.high)
        parts, queries = made.add(self._parts(group)), made.add(self._queries(group))
        made.join(End("outside", 3 * group), End("shared", queries))
        for port in range(2):
            made.join(End("outside", 3 * group + 1 + port), End("shared", parts, port))
        for kernel in kernels:
            column = (kernel - first) // cut.high
            made.join(End("shared", queries, column), End("buffer", kernel, 0))
        for kernel in kernels:
            made.join(End("shared", parts), End("buffer", kernel, 1))
        for column in range(cut.columns):
            results = made.add(self._results(group, column))
            for tile in range(cut.high):
                kernel = first + column * cut.high + tile
                made.join(End("buffer", kernel), End("shared", results, tile))
            way = 3 * cut.groups + group * cut.columns + column
            made.join(End("shared", results), End("outside", way))

    @property
    def graph(self) -> LayerGraph:
        """All of it."""
        cut, call = self.cut, self.call
        kernels = tuple(
            GraphKernel(
                call,
                divmod(tile, cut.high),
                (call.piece, call.held),
                cut.block * cut.w,
                1,
                self._numbers(tile % cut.high),
                walks=True,
                single=True,
            )
            for tile in range(cut.tiles)
        )
        made = Parts()
        for group in range(cut.groups):
            self._wire(group, made)
        return LayerGraph(
            self.name,
            f"Attention of {cut.heads} heads, {cut.rows} queries by {cut.keys} keys of "
            f"{cut.wide[0]} elements, blocks of {cut.block} by {cut.part} on {cut.tiles} tiles"
            f"{self.how}",
            self.inputs,
            self.outputs,
            tuple(made.shared),
            kernels,
            tuple(made.joined),
            cut.groups * cut.columns,
        )
