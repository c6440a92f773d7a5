"""How an image layer's data goes into and out of memory tiles: descriptors of every port."""

from __future__ import annotations

from match_aie.targets.aie_ml.graph.image import CutLayer
from match_aie.targets.aie_ml.kernels.block import Access


def x_dimensions(plan: CutLayer, rows: int) -> tuple[int, int, int]:
    """The input's buffer: channels, columns of one phase of the stride, rows by phase."""
    phases = plan.layer.window.stride[1]
    return plan.stored_channels, plan.stored_columns // phases, rows * phases


def write_x(plan: CutLayer, rows: int) -> Access:
    """Row-major pixels into `x_dimensions`: columns are told apart by phase on the way in."""
    dimensions = x_dimensions(plan, rows)
    channels, columns, lines = dimensions
    phases = plan.layer.window.stride[1]
    if phases == 1:
        return Access(dimensions, dimensions, (0, 0, 0))
    loops = ((2, 1, phases), (1, 1, columns), (2, phases, lines // phases))
    return Access(dimensions, (channels, 1, 1), (0, 0, 0), loops)


def read_x(plan: CutLayer, part: int, channel: int, low: int, rows: int) -> Access:
    """The bands of one part of the output rows, each as the kernel reads it.

    Args:
        plan: the layer.
        part: of the output rows.
        channel: first one.
        low: row of the input where the buffer begins.
        rows: that it holds.
    """
    layer, walk = plan.layer, plan.walk
    g, (pick_rows, pick_columns) = layer.geometry, layer.picked
    blocks, high, phases, columns, lanes = walk.shape
    dimensions = x_dimensions(plan, rows)
    first = part * plan.part_rows * g.stride[0] - g.padding[0] - low
    left = -(g.padding[1] + walk.lead) // phases
    tile = [lanes, columns, high * phases]
    loops: list[tuple[int, int, int]] = []
    if pick_columns > 1:
        tile[1:] = 1, phases
        loops += [(1, pick_columns, columns), (2, phases * pick_rows, high)]
    elif pick_rows > 1:
        tile[2] = phases
        loops.append((2, phases * pick_rows, high))
    loops += [
        (0, lanes, blocks),
        (2, plan.band_rows * g.stride[0] * phases, plan.firings_of(part)),
    ]
    kept = tuple(loop for loop in loops if loop[2] > 1)
    return Access(dimensions, tuple(tile), (channel, left, first * phases), kept, dimensions)


def y_dimensions(plan: CutLayer, rows: int) -> tuple[int, int, int]:
    """The output's buffer: channels, columns and rows, all as kernels store them."""
    pixels = plan.walk.tiles_per_row * plan.cut.tiling.m
    return plan.cut.parts * plan.part_channels, pixels, rows


def write_y(plan: CutLayer, part: int, channel: int, row: int, rows: int) -> Access:
    """What a tile stores, band after band, [N/n][rows][columns][n] each.

    Args:
        plan: the layer.
        part: of the output rows.
        channel: first one.
        row: of the buffer where the part begins.
        rows: of the buffer.
    """
    n = plan.cut.tiling.n
    dimensions = y_dimensions(plan, rows)
    loops = ((0, n, plan.part_channels // n), (2, plan.band_rows, plan.firings_of(part)))
    kept = tuple(loop for loop in loops if loop[2] > 1)
    return Access(dimensions, (n, dimensions[1], plan.band_rows), (channel, 0, row), kept)


def read_y(plan: CutLayer, rows: int, kept: int, first: int = 0) -> Access:
    """So many rows of the buffer, row-major, without padding of columns and channels."""
    tile = plan.left_channels, plan.layer.geometry.out_width, kept
    return Access(y_dimensions(plan, rows), tile, (0, 0, first))
