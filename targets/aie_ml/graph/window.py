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

#: Ports that read one buffer: of six channels out of a memory tile, one takes the output.
READS = 5


@dataclass(frozen=True)
class Group:
    """Chains that share buffers: all parts of the channels of neighbouring parts of the rows.

    Attributes:
        first: part of the rows.
        count: such parts.
    """

    first: int
    count: int


def groups(plan: CutLayer, device: Device) -> tuple[Group, ...]:
    """The layer's chains, group by group."""
    most = max(1, min(CHAINS, device.core_rows) // plan.cut.parts)
    bands = plan.cut.bands
    return tuple(Group(first, min(most, bands - first)) for first in range(0, bands, most))


@dataclass(frozen=True)
class _Tile:
    """A core's place in its group: parts of rows and channels, column of its chain."""

    band: int
    part: int
    column: int


def _tiles(plan: CutLayer, group: Group) -> list[_Tile]:
    return [
        _Tile(band, part, column)
        for band in range(group.first, group.first + group.count)
        for part in range(plan.cut.parts)
        for column in range(plan.cut.length)
    ]


def _reads(plan: CutLayer, group: Group) -> tuple[list[Access], dict[_Tile, int]]:
    """Ways out of the input's buffer, and which of them each tile reads."""
    low, rows = plan.input_rows(group.first, group.count)
    found: dict[tuple[int, int], int] = {}
    accesses: list[Access] = []
    of: dict[_Tile, int] = {}
    for tile in sorted(_tiles(plan, group), key=lambda t: t.column):
        slice_ = tile.part if plan.layer.apart else tile.column
        key = tile.band, slice_ * plan.slice_channels
        if key not in found:
            found[key] = len(accesses)
            accesses.append(read_x(plan, *key, low, rows))
        of[tile] = found[key]
    return accesses, of


def _requests(plan: CutLayer, group: Group, reads: list[Access]) -> list[Request]:
    """Buffers of the input, so many that each has few readers, then one of the output."""
    layer = plan.layer
    _, rows = plan.input_rows(group.first, group.count)
    taken = [reads[at : at + READS] for at in range(0, len(reads), READS)]
    size = x_dimensions(plan, rows)
    found = [Request("x", layer.dtype, size, (write_x(plan, rows),), tuple(some)) for some in taken]
    bands = range(group.first, group.first + group.count)
    starts = {band: (band - group.first) * plan.part_rows for band in bands}
    last = bands[-1]
    held = starts[last] + plan.firings_of(last) * plan.band_rows
    writes = tuple(
        write_y(plan, band, part * plan.part_channels, starts[band], held)
        for band in bands
        for part in range(plan.cut.parts)
    )
    kept = starts[last] + plan.rows_of(last)[1]
    read = read_y(plan, held, kept)
    return [*found, Request("y", layer.stored, y_dimensions(plan, held), writes, (read,))]


def _input_part(plan: CutLayer, group: Group) -> Part:
    """Rows of the input that a group reads, with what the processor adds."""
    layer, g = plan.layer, plan.layer.geometry
    top, left, bottom, right = layer.margin
    low, rows = plan.input_rows(group.first, group.count)
    return Part(
        "x",
        (g.height - top - bottom, g.width - left - right, g.channels),
        low - top,
        rows,
        plan.stored_columns,
        plan.stored_channels,
        left,
        layer.fill,
    )


def _output_part(plan: CutLayer, group: Group) -> Part:
    g, last = plan.layer.geometry, group.first + group.count - 1
    first = group.first * plan.part_rows
    return Part(
        "y",
        (g.out_height, g.out_width, g.outputs),
        first,
        sum(plan.rows_of(last)) - first,
        g.out_width,
        plan.left_channels,
    )


def window_graph(plan: CutLayer, device: Device, columns: int) -> LayerGraph | Infeasible:
    """The graph of a cut layer on at most so many columns, or why there is none.

    Raises:
        TargetError: a bias that carries the input's zero point leaves int32.
    """
    assembly = Assembly(plan.layer.name, device, columns)
    functions = Functions(plan)
    for group in groups(plan, device):
        reads, of = _reads(plan, group)
        requests = _requests(plan, group, reads)
        chains = group.count * plan.cut.parts
        placed = assembly.place(chains, plan.cut.length, requests)
        if isinstance(placed, Infeasible):
            return placed
        _connect_outside(assembly, plan, group, placed)
        _add_kernels(assembly, plan, group, placed, of, functions)
    return assembly.graph(describe(plan))


def _connect_outside(assembly: Assembly, plan: CutLayer, group: Group, placed: Placed) -> None:
    x = assembly.outside(_input_part(plan, group), plan.layer.dtype)
    for buffer in placed.buffers[:-1]:
        assembly.connect(("in", x, 0), ("shared", buffer, 0))
    y = assembly.outside(_output_part(plan, group), plan.layer.stored)
    assembly.connect(("shared", placed.buffers[-1], 0), ("out", y, 0))


def _add_kernels(
    assembly: Assembly,
    plan: CutLayer,
    group: Group,
    placed: Placed,
    of: dict[_Tile, int],
    functions: Functions,
) -> None:
    length = plan.cut.length
    for number, tile in enumerate(_tiles(plan, group)):
        chain = number // length
        last = tile.column + 1 == length
        function = functions.of(tile.column, plan.firings_of(tile.band))
        kernel = len(assembly.kernels)
        assembly.kernels.append(
            GraphKernel(
                function.call,
                (placed.column + tile.column, placed.row + chain),
                (plan.x_elements,),
                plan.y_elements if last else None,
                function.firings,
                functions.values(tile.band, tile.part, tile.column),
                function.walks,
            )
        )
        buffer, port = divmod(of[tile], READS)
        assembly.connect(("shared", placed.buffers[buffer], port), ("buffer", kernel, 0))
        if tile.column:
            assembly.connect(("cascade", kernel - 1, 0), ("cascade", kernel, 0))
        if last:
            assembly.connect(("buffer", kernel, 0), ("shared", placed.buffers[-1], chain))


def describe(plan: CutLayer) -> str:
    """A sentence for the head of the source."""
    g, c, layer = plan.layer.geometry, plan.cut, plan.layer
    return (
        f"{layer.kind} {g.filter[0]}x{g.filter[1]}, stride {g.stride[0]}x{g.stride[1]}, of "
        f"{g.height}x{g.width}x{g.channels} into {g.out_height}x{g.out_width}x{g.outputs}: "
        f"{c.bands} x {c.firings} bands of {plan.band_rows} rows, {c.parts} parts of "
        f"{plan.part_channels} channels, cascades of {c.length} tiles."
    )
