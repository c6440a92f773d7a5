"""Convolutions and average pools as gathered kernels: layouts, tables of addresses, border biases.

An image lies in a tile's memory as [C/c][H'][s][W'/s][c]: blocks of c channels, rows with their
halo, columns split by phase of the horizontal stride s, so that neighbouring outputs read
neighbouring pixels for any stride. Rows of the kernel are output pixels, `tiling.m` of one image
row to a tile; steps are (channel block, filter row, filter column), or taps alone where channels
stay apart. The output is [N/n][M/m][m][n], which is the same layout with a stride of 1 and no halo,
rows padded to whole tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.kernels.layout import padded, tiled


@dataclass(frozen=True)
class Geometry:
    """A window that slides over one image.

    Attributes:
        channels: of the input.
        height: rows of the input.
        width: columns of the input.
        outputs: channels of the output; equal to `channels` where they stay apart.
        filter: rows and columns of the window.
        stride: of the window, by row and column.
        dilation: of its taps.
        padding: top, left, bottom, right.
    """

    channels: int
    height: int
    width: int
    outputs: int
    filter: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        """Refuse a window that fits nowhere."""
        if min(self.out_height, self.out_width, self.channels, self.outputs) < 1:
            raise TargetError(f"a window of {self.filter} has no place on the image")

    @cached_property
    def out_height(self) -> int:
        """Rows of the output."""
        top, _, bottom, _ = self.padding
        reach = (self.filter[0] - 1) * self.dilation[0] + 1
        return (self.height + top + bottom - reach) // self.stride[0] + 1

    @cached_property
    def out_width(self) -> int:
        """Columns of the output."""
        _, left, _, right = self.padding
        reach = (self.filter[1] - 1) * self.dilation[1] + 1
        return (self.width + left + right - reach) // self.stride[1] + 1


def filled(size: int, step: int) -> int:
    """`size`, filled up to a multiple of `step`."""
    return -(-size // step) * step


@dataclass(frozen=True)
class Walk:
    """How a kernel goes over a window's outputs.

    Attributes:
        geometry: the window.
        tiling: the `mmul` shape, or (m, 1, n) lanes where channels stay apart.
        rows: tiles of a block along the pixels.
        columns: tiles of a block along the channels.
        apart: channels stay apart: depthwise convolution, pooling.
        lead: columns read before the padding, so that memory is read from a whole stride on.
    """

    geometry: Geometry
    tiling: Tiling
    rows: int
    columns: int = 1
    apart: bool = False
    lead: int = 0

    @cached_property
    def tiles_per_row(self) -> int:
        """Tiles of pixels in a row of the output."""
        return -(-self.geometry.out_width // self.tiling.m)

    @cached_property
    def m(self) -> int:
        """Rows of the kernel: output pixels, rows of the image padded to tiles, to whole blocks."""
        return filled(self.geometry.out_height * self.tiles_per_row, self.rows) * self.tiling.m

    @property
    def taps(self) -> int:
        """Taps of the window."""
        return self.geometry.filter[0] * self.geometry.filter[1]

    @cached_property
    def k(self) -> int:
        """Columns of the kernel: padded channels times taps, or taps alone."""
        return (
            self.taps if self.apart else filled(self.geometry.channels, self.tiling.k) * self.taps
        )

    @cached_property
    def n(self) -> int:
        """Output channels padded to whole blocks."""
        return filled(self.geometry.outputs, self.tiling.n * self.columns)

    @cached_property
    def shape(self) -> tuple[int, int, int, int, int]:
        """The input as read: channel blocks, rows, phases, columns of a phase, lanes."""
        g, lanes = self.geometry, self.tiling.n if self.apart else self.tiling.k
        blocks = self.n // lanes if self.apart else -(-g.channels // lanes)
        high = (g.out_height - 1) * g.stride[0] + (g.filter[0] - 1) * g.dilation[0] + 1
        pixels = self.tiles_per_row * self.tiling.m
        wide = self.lead + (pixels - 1) * g.stride[1] + (g.filter[1] - 1) * g.dilation[1] + 1
        return blocks, high, g.stride[1], -(-wide // g.stride[1]), lanes

    @property
    def block_pitch(self) -> int:
        """Elements from one channel block of the input to the next: a call's `x_n_step`."""
        _, high, phases, columns, lanes = self.shape
        return high * phases * columns * lanes


def origins(walk: Walk) -> np.ndarray:
    """Element where each tile of output pixels begins, int32 [M/m]; tiles that pad M repeat 0."""
    _, _, phases, columns, lanes = walk.shape
    table = np.zeros(walk.m // walk.tiling.m, dtype=np.int32)
    for tile in range(walk.geometry.out_height * walk.tiles_per_row):
        row, across = divmod(tile, walk.tiles_per_row)
        pixel = row * walk.geometry.stride[0] * phases * columns + across * walk.tiling.m
        table[tile] = pixel * lanes
    return table


def offsets(walk: Walk) -> np.ndarray:
    """Elements from a tile's origin to what each step reads, int32 [K steps]."""
    g = walk.geometry
    _, _, phases, columns, lanes = walk.shape
    table = []
    for block in range(walk.k // walk.tiling.k // walk.taps):
        for fy in range(g.filter[0]):
            for fx in range(g.filter[1]):
                along, phase = divmod(fx * g.dilation[1] + walk.lead, phases)
                row = fy * g.dilation[0] * phases + phase
                table.append(block * walk.block_pitch + (row * columns + along) * lanes)
    return np.array(table, dtype=np.int32)


def pack_filter(w: np.ndarray, walk: Walk) -> np.ndarray:
    """Weights [N, FY, FX, C] as the kernel reads them; [N, FY, FX, 1] where channels stay apart."""
    t = walk.tiling
    if walk.apart:
        taps = np.pad(w.reshape(len(w), -1), ((0, walk.n - len(w)), (0, 0)))
        lanes = taps.reshape(-1, t.n, walk.k).transpose(0, 2, 1)[:, :, None, :]
        repeated = np.broadcast_to(lanes, (walk.n // t.n, walk.k, t.m, t.n))
        return np.ascontiguousarray(repeated).reshape(-1)
    parts = np.pad(w, ((0, 0), (0, 0), (0, 0), (0, -w.shape[3] % t.k)))
    blocks = parts.reshape(*w.shape[:3], -1, t.k).transpose(3, 1, 2, 4, 0)
    matrix = np.ascontiguousarray(blocks).reshape(-1, len(w))
    return tiled(padded(matrix, walk.k, walk.n), t.k, t.n)


def taps_inside(g: Geometry, axis: int) -> np.ndarray:
    """Whether each output's taps fall on the image, by rows (0) or columns (1): [outputs, taps]."""
    outputs, size = ((g.out_height, g.height), (g.out_width, g.width))[axis]
    at = np.arange(outputs)[:, None] * g.stride[axis]
    at = at + np.arange(g.filter[axis])[None, :] * g.dilation[axis] - g.padding[axis]
    return np.asarray((at >= 0) & (at < size))
