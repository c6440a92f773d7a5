"""From a tile of a layer to NE16's jobs: the 24 registers that each of them is.

The registers and what they hold are those of pulp-nnx (ne16/hal/ne16_task.c) and of GVSoC's model
of the accelerator. `runtime/include/ma_ne16.h` computes the same in emitted code.

A job with stride 1 is a whole tile. The 3x3 modes do not stride over the input: with stride 2 they
compute 3x3 pixels of a convolution of stride 1 and store the four corners, so that every job is
2x2 output pixels. A 1x1 filter of stride 2 needs none of that: it reads every second pixel of every
second row, through the input strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from match_aie.errors import ModelError

#: Output rows and columns, input channels, output channels that the array works on at a time.
PIXELS, INPUTS, OUTPUTS = 3, 16, 32

#: Largest zero point of weights, one of uint8. The register holds its negative in 32 bits, of which
#: 24 are multiplied (pulp-platform/ne16, rtl/accumulator/ne16_accumulator_normquant.sv).
MOST_ZERO = 255


class Mode(IntEnum):
    """What filter a job has; the value is that of register 23."""

    CONV3X3 = 0
    DEPTHWISE = 1
    CONV1X1 = 2


@dataclass(frozen=True)
class Ne16Layer:
    """What all jobs of a layer share.

    Attributes:
        mode: which filter.
        stride: 1 or 2, both ways.
        weight_bits: 2 to 8.
        weight_zero: what a stored weight, unsigned, is where it means 0; None for the middle.
        out_bytes: 1 or 4; 4 stores the int32 sum.
        scale_bits: of the factor per channel, 8, 16 or 32; 0 stores the sum as it is.
        bias: whether an int32 per channel is added before the shift.
        shift: right shift of the scaled sum, 0 to 31.
        relu: store uint8, clipped to 0 .. 255; else int8, clipped to -128 .. 127.
    """

    mode: Mode
    stride: int = 1
    weight_bits: int = 8
    out_bytes: int = 1
    scale_bits: int = 16
    bias: bool = True
    shift: int = 0
    relu: bool = True
    weight_zero: int | None = None

    def __post_init__(self) -> None:
        """Refuse what the registers cannot say."""
        if self.stride not in (1, 2) or not 2 <= self.weight_bits <= 8:
            raise ModelError(f"NE16 has no job for {self}")
        if self.out_bytes not in (1, 4) or self.scale_bits not in (0, 8, 16, 32):
            raise ModelError(f"NE16 has no job for {self}")
        if not 0 <= self.shift <= 31 or (not self.scale_bits and self.out_bytes == 1):
            raise ModelError(f"NE16 has no job for {self}")
        if not 0 <= self.zero <= MOST_ZERO:
            raise ModelError(f"NE16 has no job for {self}")

    @property
    def zero(self) -> int:
        """What a stored weight is where it means 0."""
        return 1 << self.weight_bits - 1 if self.weight_zero is None else self.weight_zero

    @property
    def filter(self) -> int:
        """Rows, and columns, of the filter."""
        return 1 if self.mode is Mode.CONV1X1 else 3

    @property
    def corners(self) -> bool:
        """Whether a job stores the four corners of its 3x3 pixels."""
        return self.stride == 2 and self.filter == 3


@dataclass(frozen=True)
class Ne16Tile:
    """A tile of a layer as it lies in L1, channels innermost.

    Attributes:
        rows: of the output.
        columns: of the output.
        outputs: channels of the output.
        in_rows: of the input that are in L1.
        in_columns: likewise.
        inputs: channels of the input; equal to `outputs` for depthwise.
        top: rows of zeros above the input; those below are what the output's rows still need.
        left: columns of zeros left of it.
        in_line: bytes from line to line of the input; dense where 0, and so are the others.
        in_pixel: bytes from pixel to pixel of the input.
        out_line: bytes from line to line of the output.
        out_pixel: bytes from pixel to pixel of the output.
    """

    rows: int
    columns: int
    outputs: int
    in_rows: int
    in_columns: int
    inputs: int
    top: int = 0
    left: int = 0
    in_line: int = 0
    in_pixel: int = 0
    out_line: int = 0
    out_pixel: int = 0


@dataclass(frozen=True)
class Ne16Addresses:
    """Where the tile's operands start in L1, as the registers hold it."""

    x: int = 0
    weight: int = 0
    scale: int = 0
    bias: int = 0
    y: int = 0


@dataclass(frozen=True)
class _Part:
    """The output pixels of one job: where they start in the tile, how many; zeros around."""

    row: int
    column: int
    rows: int
    columns: int
    top: int
    bottom: int
    left: int
    right: int


def tile_registers(
    layer: Ne16Layer, tile: Ne16Tile, at: Ne16Addresses = Ne16Addresses()
) -> list[tuple[int, ...]]:
    """The registers of every job of a tile, in order; 24 unsigned 32-bit words each.

    Raises:
        ModelError: the tile needs more than two rows or columns of zeros on a side, or an odd
            number of output bytes per pixel with stride 2.
    """
    if layer.corners and tile.outputs * layer.out_bytes % 2:
        raise ModelError(f"NE16 with stride 2 stores even numbers of bytes per pixel, not {tile}")
    return [_registers(layer, tile, part, at) for part in _parts(layer, tile)]


def _parts(layer: Ne16Layer, tile: Ne16Tile) -> Iterator[_Part]:
    step = 2 if layer.corners else max(tile.rows, tile.columns)
    for row in range(0, tile.rows, step):
        for column in range(0, tile.columns, step):
            rows, columns = min(step, tile.rows - row), min(step, tile.columns - column)
            top = max(0, tile.top - layer.stride * row)
            left = max(0, tile.left - layer.stride * column)
            last_row = layer.stride * (row + rows - 1) + layer.filter
            last_column = layer.stride * (column + columns - 1) + layer.filter
            bottom = max(0, last_row - tile.top - tile.in_rows)
            right = max(0, last_column - tile.left - tile.in_columns)
            if max(top, bottom, left, right) > 2:
                raise ModelError(f"NE16 pads with up to two zeros on a side: {tile}")
            yield _Part(row, column, rows, columns, top, bottom, left, right)


def _registers(layer: Ne16Layer, tile: Ne16Tile, part: _Part, at: Ne16Addresses) -> tuple[int, ...]:
    step = layer.stride if layer.mode is Mode.CONV1X1 else 1
    pixel = tile.in_pixel or tile.inputs
    row = tile.in_line or tile.in_columns * pixel
    first_row = layer.stride * part.row - tile.top
    first_column = layer.stride * part.column - tile.left
    out_pixel = tile.out_pixel or tile.outputs * layer.out_bytes
    out_row = tile.out_line or tile.columns * out_pixel
    half = 1 if layer.corners else 0
    blocks = -(-tile.inputs // INPUTS)
    rows = 2 * part.rows - 1 if layer.corners else part.rows
    columns = 2 * part.columns - 1 if layer.corners else part.columns
    per_job = INPUTS if layer.mode is Mode.DEPTHWISE else OUTPUTS
    around = layer.filter - 1
    words = (
        at.weight,
        at.x + first_row * row + first_column * pixel,
        at.y + part.row * out_row + part.column * out_pixel,
        at.scale,
        0,
        at.bias,
        *(pixel * step, row * step, 0),
        *(32, out_pixel >> half, out_row >> half),
        *_weight_strides(layer, blocks),
        _halves(_rest(tile.outputs, per_job), _rest(tile.inputs, INPUTS)),
        _halves(_rest(rows, PIXELS), _rest(columns, PIXELS)),
        _halves(
            _rest(rows, PIXELS) + around - part.bottom, _rest(columns, PIXELS) + around - part.right
        ),
        _halves(-(-tile.outputs // per_job), blocks),
        _halves(-(-rows // PIXELS), -(-columns // PIXELS)),
        part.top << 28 | part.right << 24 | part.bottom << 20 | part.left << 16,
        -layer.zero,
        0,
        configuration(layer),
    )
    return tuple(word & 0xFFFFFFFF for word in words)


def configuration(layer: Ne16Layer) -> int:
    """Register 23."""
    norm = {0: 0, 8: 0, 16: 1, 32: 2}[layer.scale_bits]
    return (
        layer.weight_bits - 1
        | (layer.scale_bits > 0) << 4
        | layer.mode << 5
        | layer.corners << 8
        | norm << 12
        | 1 << 15
        | layer.shift << 16
        | (2 if layer.out_bytes == 4 else 0) << 21
        | (not layer.relu) << 23
        | (layer.bias and layer.scale_bits > 0) << 25
    )


def _weight_strides(layer: Ne16Layer, blocks: int) -> tuple[int, int, int]:
    if layer.mode is Mode.CONV1X1:
        return 2 * layer.weight_bits, 2 * layer.weight_bits * blocks, 0
    if layer.mode is Mode.DEPTHWISE:
        return 18, 0, 0
    return 18, 18 * layer.weight_bits * blocks, 0


def _rest(size: int, step: int) -> int:
    """Size of the last of the pieces of `step`."""
    return (size - 1) % step + 1


def _halves(high: int, low: int) -> int:
    return high << 16 | low
