"""Layers that compute rows by themselves, as a `LayerGraph`: sums, tables.

A row is what a kernel computes together: a vector of elements where there is nothing between them.
Tiles take equal runs of rows; up to three or four tiles share a buffer for each input and one for
what they store. What lies behind a tensor's last element is computed too, and not let out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.local import Demand
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Placed, Request
from match_aie.targets.aie_ml.graph.image import WORD
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.window import ways
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lookup import (
    TABLES,
    TableCall,
    duplicated,
    entries_of,
    table_bytes,
)
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.schedule.rows import RowCall, row_schedule

#: Streams up into a column, and results that one memory tile takes.
STREAMS, RESULTS = 6, 4


@dataclass(frozen=True, eq=False)
class RowLayer:
    """Rows of tensors of one shape, by one function.

    Attributes:
        name: prefix of everything emitted, a C identifier.
        call: the function.
        elements: of each tensor.
        values: of the function's parameters.
        real: elements of a row in the tensors, where they are fewer than the function's; the
            processor fills them up. 0 where rows follow each other.
        fill: with what.
        dim: loop dimension that counts rows; "" where it is the longest one.
    """

    name: str
    call: RowCall
    elements: int
    values: tuple[tuple[str, np.ndarray], ...] = ()
    real: int = 0
    fill: int = 0
    dim: str = ""

    @property
    def held(self) -> int:
        """Elements of a tensor as tiles see it."""
        return self.elements // self.real * self.call.width if self.real else self.elements

    def on(self, device: Device) -> RowLayer:
        """The same with its table as the device's cores read it.

        Raises:
            TargetError: no public header says how they read tables.
        """
        call, tables = self.call, [name for name, _ in self.values if name in TABLES]
        if not tables or not isinstance(call, TableCall):
            return self
        repeated = table_bytes(device)
        if repeated == call.repeated:
            return self
        values = tuple(
            (name, duplicated(entries_of(value, call.repeated), repeated))
            if name in tables
            else (name, value)
            for name, value in self.values
        )
        return replace(self, call=replace(call, repeated=repeated), values=values)

    @property
    def together(self) -> int:
        """Tiles that share buffers."""
        return min(STREAMS // len(self.call.reads), RESULTS)

    def column(self, device: Device) -> int:
        """Tiles of a column that share buffers: its memory tiles send them rows, and results on."""
        mem, found = device.architecture.mem, min(self.together, device.core_rows)
        if mem is None:
            return found
        return max(1, min(found, (mem.dma.mm2s * device.mem_rows - 1) // len(self.call.reads)))


@dataclass(frozen=True)
class RowCut:
    """How rows are spread.

    Attributes:
        tiles: that take part.
        firings: of each for one run.
    """

    tiles: int
    firings: int = 1


@dataclass(frozen=True)
class CutRows:
    """A layer with its cut: sizes of everything.

    Attributes:
        layer: the layer.
        cut: how it is spread.
    """

    layer: RowLayer
    cut: RowCut

    def __post_init__(self) -> None:
        """Refuse tiles with nothing to do, and tensors that several tiles cannot share."""
        if (self.cut.tiles - 1) * self.share >= self.layer.held:
            raise TargetError(f"a cut of layer {self.layer.name} into empty parts")
        if self.cut.tiles > self.layer.together and self.layer.held % self.grain:
            raise TargetError(f"layer {self.layer.name} has no whole number of words")

    def column(self, device: Device) -> int:
        """Tiles that share buffers."""
        return self.layer.column(device)

    def groups(self, device: Device) -> int:
        """Groups of tiles that share buffers."""
        return -(-self.cut.tiles // self.column(device))

    @property
    def call(self) -> RowCall:
        """The function of a firing."""
        return replace(self.layer.call, rows=self.rows)

    @property
    def grain(self) -> int:
        """Elements of a stream's word, of either type."""
        spec = self.layer.call.spec
        return WORD // min(BYTES[spec.a], BYTES[spec.dtype])

    @property
    def rows(self) -> int:
        """Of a firing."""
        at_once = self.cut.tiles * self.cut.firings * self.layer.call.width
        return -(-self.layer.held // at_once)

    @property
    def chunk(self) -> int:
        """Elements of a firing."""
        return self.rows * self.layer.call.width

    @property
    def share(self) -> int:
        """Elements of a tile; of the last perhaps fewer."""
        return self.chunk * self.cut.firings

    def firings(self, tile: int) -> int:
        """Of a tile: of the last one, or of a single one, perhaps fewer than the cut's."""
        left = self.layer.held - tile * self.share
        return min(self.cut.firings, -(-left // self.chunk))

    def part(self, operand: str, first: int, count: int) -> Part:
        """Elements `first` to `first + count` of a tensor, filled up to whole words or rows.

        What rows of inputs are filled with is a number of their type, which results may not have.
        """
        layer, grain, elements = self.layer, self.grain, self.layer.elements
        if layer.real:
            tensor, wide = (elements // layer.real, 1, layer.real), layer.call.width
            at, rows = first // wide, count // wide
            if operand == "y":
                return Part(operand, tensor, at, rows, 1, wide)
            return Part(operand, tensor, at, rows, 1, wide, fill=layer.fill, minded=True)
        if elements % grain:
            return Part(operand, (1, 1, elements), 0, 1, 1, -(-elements // grain) * grain)
        rows = -(-count // grain)
        return Part(operand, (elements // grain, 1, grain), first // grain, rows, 1, grain)


def row_demand(call: RowCall, chunk: int, device: Device) -> Demand:
    """Bytes of a tile's buffers.

    Args:
        call: its function.
        chunk: elements of each tensor in a call.
        device: the array.
    """
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    sizes = {p.name: p.size * BYTES[p.c_type] for p in call.parameters}
    own = sizes.pop("w", 0)
    read, stored = (chunk * BYTES[dtype] for dtype in (call.spec.a, call.spec.dtype))
    fixed = stack + call.stack_bytes + sum(sizes.values())
    return Demand(read, own, (len(call.reads) - 1) * read, stored, fixed)


def row_cycles(call: RowCall, demand: Demand, device: Device) -> int:
    """Modelled cycles of a call, with what its buffers' banks cost; a start is not in them."""
    return row_schedule(call, device.architecture).body + demand.stall(device)


class _Rows:
    """One layer's graph in the making; ways in and out as for windows."""

    def __init__(self, plan: CutRows, device: Device, columns: int) -> None:
        self.plan = plan = replace(plan, layer=plan.layer.on(device))
        self.assembly = Assembly(plan.layer.name, device, columns)
        most, tiles = plan.column(device), plan.cut.tiles
        self.groups = [range(at, min(at + most, tiles)) for at in range(0, tiles, most)]
        self.single = len(self.groups) > ways(device, operands=len(plan.layer.call.reads))
        self.call = plan.call

    def inputs(self, tiles: range) -> tuple[int, int]:
        """First element that a group's buffers of the inputs hold, and how many."""
        if self.single:
            return 0, self.plan.layer.held
        first = tiles[0] * self.plan.share
        return first, min(len(tiles) * self.plan.share, self.plan.layer.held - first)

    def outputs(self, tiles: range) -> tuple[int, int]:
        """First element that leaves a group's buffer, and how many."""
        first = tiles[0] * self.plan.share
        return first, self.plan.layer.held - first if self.single else self.inputs(tiles)[1]

    def runs(self, tiles: range, held: int, first: int) -> list[Access]:
        """What each tile reads or stores of a buffer that begins with element `first`."""
        plan = self.plan
        return [
            Access(
                (held,),
                (plan.chunk,),
                (tile * plan.share - first,),
                ((0, plan.chunk, plan.firings(tile)),) if plan.firings(tile) > 1 else (),
            )
            for tile in tiles
        ]

    def requests(self, tiles: range) -> list[Request]:
        """Buffers of all inputs and of the output."""
        plan, spec = self.plan, self.call.spec
        first, count = self.inputs(tiles)
        ends = [tile * plan.share + plan.firings(tile) * plan.chunk for tile in tiles]
        held = max(plan.part("x", first, count).elements, ends[-1] - first)
        brought = plan.part("x", first, count).elements
        whole = Access((held,), (brought,), (0,))
        rows = brought if brought < held else None  # the last call's lanes beyond the tensor
        reads = tuple(self.runs(tiles, held, first))
        begin, kept = self.outputs(tiles)
        own = ends[-1] - begin
        left = plan.part("y", begin, kept).elements
        more = max(0, left - own) if self.single else 0
        size = max(own + more, left)
        writes = self.runs(tiles, size, begin)
        if more:
            writes.append(Access((size,), (more,), (own,)))
        return [
            *(Request(name, spec.a, (held,), (whole,), reads, rows) for name in self.call.reads),
            Request("y", spec.dtype, (size,), tuple(writes), (Access((size,), (left,), (0,)),)),
        ]

    def build(self) -> LayerGraph | Infeasible:
        """The graph, or why there is none."""
        before: int | None = None
        for tiles in self.groups:
            placed = self.assembly.place(len(tiles), 1, self.requests(tiles))
            if isinstance(placed, Infeasible):
                return placed
            self.connect(tiles, placed, before)
            before = placed.buffers[-1]
        return self.assembly.graph(
            f"Rows of {self.call.width} of {self.plan.layer.elements} elements on "
            f"{self.plan.cut.tiles} tiles, {self.plan.cut.firings} x {self.plan.chunk} each."
        )

    def connect(self, tiles: range, placed: Placed, before: int | None) -> None:
        """A group's buffers and cores."""
        assembly, spec = self.assembly, self.call.spec
        *ins, y = placed.buffers
        fresh = before is None or not self.single
        for side, (operand, buffer) in enumerate(zip(self.call.reads, ins, strict=True)):
            part = self.plan.part(operand, *self.inputs(tiles))
            way = assembly.outside(part, spec.a) if fresh else side
            assembly.connect(("in", way, 0), ("shared", buffer, 0))
        if before is None or not self.single:
            out = assembly.outside(self.plan.part("y", *self.outputs(tiles)), spec.dtype)
            assembly.connect(("shared", y, 0), ("out", out, 0))
        else:
            port = len(assembly.shared[before].writes) - 1
            assembly.connect(("shared", y, 0), ("shared", before, port))
        for port, tile in enumerate(tiles):
            self.add_kernel(tile, port, placed)

    def add_kernel(self, tile: int, port: int, placed: Placed) -> None:
        """One core, and what it reads and stores."""
        assembly, chunk = self.assembly, self.plan.chunk
        *ins, y = placed.buffers
        kernel = len(assembly.kernels)
        place = placed.column, placed.row + port
        assembly.kernels.append(
            GraphKernel(
                self.call,
                place,
                (chunk,) * len(ins),
                chunk,
                self.plan.firings(tile),
                self.plan.layer.values,
            )
        )
        for at, buffer in enumerate(ins):
            assembly.connect(("shared", buffer, port), ("buffer", kernel, at))
        assembly.connect(("buffer", kernel, 0), ("shared", y, port))


def row_graph(plan: CutRows, device: Device, columns: int) -> LayerGraph | Infeasible:
    """The graph of cut rows on at most so many columns, or why there is none."""
    return _Rows(plan, device, columns).build()
