"""The sum of two activations, element by element, as a `LayerGraph`.

Tiles take equal runs of the tensors' elements; up to three tiles share a buffer for each input and
one for what they store. Vectors are filled up with whatever lies behind the last element, and what
becomes of it is not let out.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Placed, Request
from match_aie.targets.aie_ml.graph.image import WORD
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.window import ways
from match_aie.targets.aie_ml.kernels.bands import AddCall
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lanes import AddNumbers, AddSpec
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: Tiles that share buffers, and a column: of six streams up into it, each takes two.
TILES = 3


@dataclass(frozen=True)
class SumLayer:
    """y = clip(srs(a * a_factor + b * b_factor + offset)).

    Attributes:
        name: prefix of everything emitted, a C identifier.
        spec: the kernel.
        numbers: of the sum.
        elements: of each tensor.
    """

    name: str
    spec: AddSpec
    numbers: AddNumbers
    elements: int


@dataclass(frozen=True)
class SumCut:
    """How a sum is spread.

    Attributes:
        tiles: that take part.
        firings: of each for one run.
    """

    tiles: int
    firings: int = 1


@dataclass(frozen=True)
class CutSum:
    """A sum with its cut: sizes of everything.

    Attributes:
        layer: the sum.
        cut: how it is spread.
    """

    layer: SumLayer
    cut: SumCut

    def __post_init__(self) -> None:
        """Refuse tiles with nothing to do, and tensors that several tiles cannot share."""
        if (self.cut.tiles - 1) * self.share >= self.layer.elements:
            raise TargetError(f"a cut of layer {self.layer.name} into empty parts")
        if self.cut.tiles > TILES and self.layer.elements % self.grain:
            raise TargetError(f"layer {self.layer.name} has no whole number of words")

    def groups(self, device: Device) -> int:
        """Groups of tiles that share buffers."""
        return -(-self.cut.tiles // min(TILES, device.core_rows))

    @property
    def grain(self) -> int:
        """Elements of a stream's word, of either type."""
        return WORD // min(BYTES[self.layer.spec.a], BYTES[self.layer.spec.dtype])

    @property
    def vectors(self) -> int:
        """Of a firing."""
        lanes = self.cut.tiles * self.cut.firings * self.layer.spec.lanes
        return -(-self.layer.elements // lanes)

    @property
    def chunk(self) -> int:
        """Elements of a firing."""
        return self.vectors * self.layer.spec.lanes

    @property
    def share(self) -> int:
        """Elements of a tile; of the last perhaps fewer."""
        return self.chunk * self.cut.firings

    def part(self, operand: str, first: int, count: int) -> Part:
        """Elements `first` to `first + count` of a tensor, filled up to a whole word."""
        grain, elements = self.grain, self.layer.elements
        if elements % grain:
            return Part(operand, (1, 1, elements), 0, 1, 1, -(-elements // grain) * grain)
        rows = -(-count // grain)
        return Part(operand, (elements // grain, 1, grain), first // grain, rows, 1, grain)


class _Sum:
    """One sum's graph in the making; ways in and out as for windows."""

    def __init__(self, plan: CutSum, device: Device, columns: int) -> None:
        self.plan = plan
        self.assembly = Assembly(plan.layer.name, device, columns)
        most = min(TILES, device.core_rows)
        tiles = plan.cut.tiles
        self.groups = [range(at, min(at + most, tiles)) for at in range(0, tiles, most)]
        self.single = len(self.groups) > ways(device, operands=2)
        layer = plan.layer
        header = f"{layer.name}_kernels.h"
        self.call = AddCall(f"{layer.name}_add", header, layer.spec, layer.numbers, plan.vectors)

    def inputs(self, tiles: range) -> tuple[int, int]:
        """First element that a group's buffers of the inputs hold, and how many."""
        if self.single:
            return 0, self.plan.layer.elements
        first = tiles[0] * self.plan.share
        return first, min(len(tiles) * self.plan.share, self.plan.layer.elements - first)

    def outputs(self, tiles: range) -> tuple[int, int]:
        """First element that leaves a group's buffer, and how many."""
        first = tiles[0] * self.plan.share
        return first, self.plan.layer.elements - first if self.single else self.inputs(tiles)[1]

    def firings(self, tile: int) -> int:
        """Of a tile."""
        left = self.plan.layer.elements - tile * self.plan.share
        return min(self.plan.cut.firings, -(-left // self.plan.chunk))

    def runs(self, tiles: range, held: int, first: int) -> list[Access]:
        """What each tile reads or stores of a buffer that begins with element `first`."""
        plan = self.plan
        return [
            Access(
                (held,),
                (plan.chunk,),
                (tile * plan.share - first,),
                ((0, plan.chunk, self.firings(tile)),) if self.firings(tile) > 1 else (),
            )
            for tile in tiles
        ]

    def requests(self, tiles: range) -> list[Request]:
        """Buffers of both inputs and of the output."""
        plan, spec = self.plan, self.plan.layer.spec
        first, count = self.inputs(tiles)
        ends = [tile * plan.share + self.firings(tile) * plan.chunk for tile in tiles]
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
            Request("a", spec.a, (held,), (whole,), reads, rows),
            Request("b", spec.a, (held,), (whole,), reads, rows),
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
            f"Sum of two tensors of {self.plan.layer.elements} elements on "
            f"{self.plan.cut.tiles} tiles, {self.plan.cut.firings} x {self.plan.chunk} each."
        )

    def connect(self, tiles: range, placed: Placed, before: int | None) -> None:
        """A group's buffers and cores."""
        assembly, spec = self.assembly, self.plan.layer.spec
        a, b, y = placed.buffers
        fresh = before is None or not self.single
        for side, (operand, buffer) in enumerate((("x", a), ("x1", b))):
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
        a, b, y = placed.buffers
        kernel = len(assembly.kernels)
        place = placed.column, placed.row + port
        assembly.kernels.append(
            GraphKernel(self.call, place, (chunk, chunk), chunk, self.firings(tile))
        )
        assembly.connect(("shared", a, port), ("buffer", kernel, 0))
        assembly.connect(("shared", b, port), ("buffer", kernel, 1))
        assembly.connect(("buffer", kernel, 0), ("shared", y, port))


def sum_graph(plan: CutSum, device: Device, columns: int) -> LayerGraph | Infeasible:
    """The graph of a cut sum on at most so many columns, or why there is none."""
    return _Sum(plan, device, columns).build()
