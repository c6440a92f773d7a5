"""A convolution or pool, cut, as a `LayerGraph`.

Output rows are cut into parts, output channels too; a chain of tiles, one after the other in a row
of the array, sums over the input's channels. Up to four chains that read neighbouring rows share
two buffers in memory tiles: one holds the rows of the input that they need, as they lie in the
tensor, and hands every tile its bands in the kernel's order, with halo and padding; the other
gathers what they store and lets it out as rows of the output.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.access import (
    read_x,
    read_y,
    write_x,
    write_y,
    x_dimensions,
    y_dimensions,
)
from match_aie.targets.aie_ml.graph.assembly import Assembly, Placed, Request
from match_aie.targets.aie_ml.graph.calls import Functions
from match_aie.targets.aie_ml.graph.image import CutLayer
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.kernels.block import Access

#: Chains whose results one memory tile gathers beside their input: of six channels into it, one
#: takes the input.
CHAINS = 4


def ways(device: Device, operands: int = 1) -> int:
    """Groups of a layer with so many inputs that have ways in and out of their own."""
    return max(1, min((device.gmio_in or 1) // operands, device.gmio_out or 1))


#: Ports that read one buffer: of six channels out of a memory tile, one takes the output.
READS = 5


@dataclass(frozen=True)
class ChainGroup:
    """Chains that share buffers: all parts of the channels of neighbouring parts of the rows.

    Attributes:
        first: part of the rows.
        count: such parts.
    """

    first: int
    count: int


def groups(plan: CutLayer, device: Device) -> tuple[ChainGroup, ...]:
    """The layer's chains, group by group.

    Where groups hand results on, one of a column's streams down is that of the group behind.
    """
    bands, chains = plan.cut.bands, min(CHAINS, device.core_rows)
    most = max(1, chains // plan.cut.parts)
    if -(-bands // most) > ways(device):
        most = max(1, (chains - 1) // plan.cut.parts)
    return tuple(ChainGroup(first, min(most, bands - first)) for first in range(0, bands, most))


@dataclass(frozen=True)
class _Tile:
    """A core's place in its group: parts of rows and channels, column of its chain."""

    band: int
    part: int
    column: int


@dataclass(frozen=True)
class _Rows:
    """Rows of the input that a group's buffers hold, and of the output.

    Attributes:
        low: first of the input.
        high: how many.
        first: first of the output.
        own: how many the group's chains store, those behind the image's end included.
        kept: how many of the image leave the buffer, those of the groups behind it included.
        more: of these, rows of the groups behind it.
    """

    low: int
    high: int
    first: int
    own: int
    kept: int
    more: int


class _Window:
    """One layer's graph in the making.

    With few groups each has its own way in and out. With more than the device has ways, all of the
    input goes to every group, and each group hands its results to the one before it.
    """

    def __init__(self, plan: CutLayer, device: Device, columns: int) -> None:
        self.plan = plan
        self.device = device
        self.assembly = Assembly(plan.layer.name, device, columns)
        self.functions = Functions(plan)
        self.groups = groups(plan, device)
        self.single = len(self.groups) > ways(device)

    def tiles(self, group: ChainGroup) -> list[_Tile]:
        """In the order of chains, each west to east."""
        return [
            _Tile(band, part, column)
            for band in range(group.first, group.first + group.count)
            for part in range(self.plan.cut.parts)
            for column in range(self.plan.cut.length)
        ]

    def rows(self, group: ChainGroup) -> _Rows:
        """What its buffers hold."""
        plan, g = self.plan, self.plan.layer.geometry
        first = group.first * plan.part_rows
        last = group.first + group.count - 1
        low, high = plan.input_rows(group.first, group.count)
        own = (last - group.first) * plan.part_rows + plan.firings_of(last) * plan.band_rows
        end = sum(plan.rows_of(last))
        if not self.single:
            return _Rows(low, high, first, own, end - first, 0)
        return _Rows(0, g.height, first, own, g.out_height - first, g.out_height - end)

    def reads(self, group: ChainGroup) -> tuple[list[Access], dict[_Tile, int]]:
        """Ways out of the input's buffer, and which of them each tile reads."""
        plan, rows = self.plan, self.rows(group)
        found: dict[tuple[int, int], int] = {}
        accesses: list[Access] = []
        of: dict[_Tile, int] = {}
        for tile in sorted(self.tiles(group), key=lambda t: t.column):
            slice_ = tile.part if plan.layer.apart else tile.column
            key = tile.band, slice_ * plan.slice_channels
            if key not in found:
                found[key] = len(accesses)
                accesses.append(read_x(plan, *key, rows.low, rows.high))
            of[tile] = found[key]
        return accesses, of

    def requests(self, group: ChainGroup, reads: list[Access]) -> list[Request]:
        """Buffers of the input, so many that each has few readers, then one of the output."""
        plan, rows = self.plan, self.rows(group)
        size, entry = x_dimensions(plan, rows.high), write_x(plan, rows.high)
        taken = [tuple(reads[at : at + READS]) for at in range(0, len(reads), READS)]
        found = [Request("x", plan.layer.dtype, size, (entry,), some) for some in taken]
        held = rows.own + rows.more
        writes = [
            write_y(
                plan,
                band,
                part * plan.part_channels,
                (band - group.first) * plan.part_rows,
                held,
            )
            for band in range(group.first, group.first + group.count)
            for part in range(plan.cut.parts)
        ]
        if rows.more:
            writes.append(read_y(plan, held, rows.more, rows.own))
        read = read_y(plan, held, rows.kept)
        if plan.layer.results is not None and not self._hands_on(group):
            read = plan.layer.results.read(plan, held, rows.kept)
        size = y_dimensions(plan, held)
        return [*found, Request("y", plan.layer.stored, size, tuple(writes), (read,))]

    def _hands_on(self, group: ChainGroup) -> bool:
        """Whether its results go to the buffer of the group before it."""
        return self.single and group.first > 0

    def build(self) -> LayerGraph | Infeasible:
        """The graph, or why there is none."""
        before: int | None = None
        for group in self.groups:
            reads, of = self.reads(group)
            requests, chains = self.requests(group, reads), group.count * self.plan.cut.parts
            placed = self.assembly.place(chains, self.plan.cut.length, requests)
            if isinstance(placed, Infeasible):
                return placed
            self.connect(group, placed, before)
            self.add_kernels(group, placed, of)
            before = placed.buffers[-1]
        return self.assembly.graph(describe(self.plan))

    def connect(self, group: ChainGroup, placed: Placed, before: int | None) -> None:
        """A group's buffers to the outside, or results to the buffer of the group before."""
        assembly, layer = self.assembly, self.plan.layer
        if before is None or not self.single:
            x = assembly.outside(self.input_part(group), layer.dtype)
            y = assembly.outside(self.output_part(group), layer.stored)
            assembly.connect(("shared", placed.buffers[-1], 0), ("out", y, 0))
        else:
            x = 0
            port = len(assembly.shared[before].writes) - 1
            assembly.connect(("shared", placed.buffers[-1], 0), ("shared", before, port))
        for buffer in placed.buffers[:-1]:
            assembly.connect(("in", x, 0), ("shared", buffer, 0))

    def input_part(self, group: ChainGroup) -> Part:
        """Rows of the input that a group reads, with what the processor adds."""
        plan, rows, g = self.plan, self.rows(group), self.plan.layer.geometry
        top, left, bottom, right = plan.layer.margin
        return Part(
            "x",
            (g.height - top - bottom, g.width - left - right, g.channels),
            rows.low - top,
            rows.high,
            plan.stored_columns,
            plan.stored_channels,
            left,
            plan.layer.fill,
        )

    def output_part(self, group: ChainGroup) -> Part:
        """Rows of the output that leave a group's buffer."""
        g, rows, results = self.plan.layer.geometry, self.rows(group), self.plan.layer.results
        if results is not None:
            return results.part(self.plan, rows.first, rows.kept)
        tensor = g.out_height, g.out_width, g.outputs
        return Part("y", tensor, rows.first, rows.kept, g.out_width, self.plan.left_channels)

    def add_kernels(self, group: ChainGroup, placed: Placed, of: dict[_Tile, int]) -> None:
        """A group's cores, and what they read and store."""
        plan, assembly = self.plan, self.assembly
        for number, tile in enumerate(self.tiles(group)):
            chain, last = number // plan.cut.length, tile.column + 1 == plan.cut.length
            function = self.functions.of(tile.column, plan.firings_of(tile.band))
            kernel = len(assembly.kernels)
            assembly.kernels.append(
                GraphKernel(
                    function.call,
                    (placed.column + tile.column, placed.row + chain),
                    (plan.x_elements,),
                    plan.y_elements if last else None,
                    function.firings,
                    self.functions.values(tile.band, tile.part, tile.column),
                    function.walks,
                )
            )
            buffer, port = divmod(of[tile], READS)
            assembly.connect(("shared", placed.buffers[buffer], port), ("buffer", kernel, 0))
            if tile.column:
                assembly.connect(("cascade", kernel - 1, 0), ("cascade", kernel, 0))
            if last:
                assembly.connect(("buffer", kernel, 0), ("shared", placed.buffers[-1], chain))


def window_graph(plan: CutLayer, device: Device, columns: int) -> LayerGraph | Infeasible:
    """The graph of a cut layer on at most so many columns, or why there is none.

    Raises:
        TargetError: a bias that carries the input's zero point leaves int32.
    """
    return _Window(plan, device, columns).build()


def describe(plan: CutLayer) -> str:
    """A sentence for the head of the source."""
    g, c, layer = plan.layer.geometry, plan.cut, plan.layer
    return (
        f"{layer.kind} {g.filter[0]}x{g.filter[1]}, stride {g.stride[0]}x{g.stride[1]}, of "
        f"{g.height}x{g.width}x{g.channels} into {g.out_height}x{g.out_width}x{g.outputs}: "
        f"{c.bands} x {c.firings} bands of {plan.band_rows} rows, {c.parts} parts of "
        f"{plan.part_channels} channels, cascades of {c.length} tiles."
    )
