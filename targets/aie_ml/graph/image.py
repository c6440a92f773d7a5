"""Image layers and how they are cut: rows over tiles and time, channels over tiles and cascades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal, Protocol

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.plan import Part
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Operation, Position
from match_aie.targets.aie_ml.kernels.window import Geometry, Walk, filled

ImageKind = Literal["conv", "depthwise", "average", "max"]


class Results(Protocol):
    """How a buffer of results leaves its memory tile, where that is not row by row as stored."""

    def read(self, plan: CutLayer, rows: int, kept: int) -> Access:
        """The tensor's elements in their order, of so many rows of a buffer that holds `rows`."""

    def part(self, plan: CutLayer, first: int, kept: int) -> Part:
        """What that is of the tensor, where the buffer's first row is the layer's row `first`."""


_OPERATIONS: dict[ImageKind, Operation] = {
    "conv": "mmul",
    "depthwise": "multiply",
    "average": "sum",
}

#: Bytes of a stream's word, of which every transfer is a whole number.
WORD = 4


@dataclass(frozen=True, eq=False)
class ImageLayer:
    """One convolution or pool over an image [H, W, C], in the arithmetic of its kernel.

    Attributes:
        name: prefix of everything emitted, a C identifier.
        kind: "conv", "depthwise" (one output channel for each of the input), "average", "max".
        geometry: of the whole image.
        dtype: of the input's elements.
        zero_point: of the input; padding means it.
        stored: element type of the output.
        epilogue: requantisation; None for a maximum.
        weight: [N, FY, FX, C], or [N, FY, FX, 1] for "depthwise"; None for pools.
        margin: rows and columns (top, left, bottom, right) of `geometry` that the processor adds
            to the tensor, with `fill`: padding that memory tiles, which pad with 0, cannot add.
        fill: their value.
        results: how they leave; None where row by row, as the geometry has them.
    """

    name: str
    kind: ImageKind
    geometry: Geometry
    dtype: str
    zero_point: int
    stored: str
    epilogue: Epilogue | None = None
    weight: np.ndarray | None = None
    margin: tuple[int, int, int, int] = (0, 0, 0, 0)
    fill: int = 0
    results: Results | None = None

    def __post_init__(self) -> None:
        """Refuse layers whose parts do not belong together."""
        weighted = self.kind in ("conv", "depthwise")
        if (self.weight is not None) != weighted or (self.epilogue is None) != (self.kind == "max"):
            raise TargetError(f"layer {self.name} is no {self.kind}")
        if self.apart and self.geometry.channels != self.geometry.outputs:
            raise TargetError(f"layer {self.name} keeps channels apart, and changes their number")

    @property
    def apart(self) -> bool:
        """Whether every output channel reads one input channel."""
        return self.kind != "conv"

    @property
    def bordered(self) -> bool:
        """Whether results at the border start from other biases: padding is 0 there."""
        padded = any(self.geometry.padding)
        return self.weight is not None and bool(self.zero_point) and padded

    @cached_property
    def multiplied(self) -> str:
        """Element type of what the input is multiplied with; int8 ones where no weight is."""
        return "int8" if self.weight is None else str(self.weight.dtype)

    @cached_property
    def picked(self) -> tuple[int, int]:
        """Rows and columns between those that are read at all: the stride of one-tap filters."""
        g = self.geometry
        rows, columns = (s if f == 1 else 1 for s, f in zip(g.stride, g.filter, strict=True))
        return rows, columns

    @cached_property
    def window(self) -> Geometry:
        """The geometry on the rows and columns that are picked."""
        g = self.geometry
        stride = (
            1 if self.picked[0] > 1 else g.stride[0],
            1 if self.picked[1] > 1 else g.stride[1],
        )
        return replace(g, stride=stride)


@dataclass(frozen=True)
class ImageCut:
    """How an image layer is spread over tiles and time.

    Attributes:
        tiling: `mmul` shape; (m, 1, n) lanes where channels stay apart.
        rows: tiles of a block of accumulators, along pixels.
        columns: likewise along output channels.
        bands: parts of the output's rows, on different tiles.
        firings: bands of such a part that a tile works on one after the other.
        parts: of the output's channels, on different tiles.
        length: tiles of a cascade, over which input channels are cut.
    """

    tiling: Tiling
    rows: int
    columns: int
    bands: int = 1
    firings: int = 1
    parts: int = 1
    length: int = 1


#: Output rows of a firing and of a tile, output channels and input channels of a tile.
CutSizes = tuple[int, int, int, int]


def sizes_of(layer: ImageLayer, cut: ImageCut) -> CutSizes:
    """Channels are padded to whole blocks of accumulators, and to whole `mmul` steps."""
    g, t = layer.geometry, cut.tiling
    band = -(-g.out_height // (cut.bands * cut.firings))
    channels = filled(-(-g.outputs // cut.parts), t.n * cut.columns)
    summed = channels if layer.apart else filled(-(-g.channels // cut.length), t.k)
    return band, band * cut.firings, channels, summed


def has_empty_parts(layer: ImageLayer, cut: ImageCut, sizes: CutSizes) -> bool:
    """Whether some tiles of a cut with these sizes would have nothing to do."""
    g, (_, rows, channels, summed) = layer.geometry, sizes
    return (
        (cut.bands - 1) * rows >= g.out_height
        or (cut.parts - 1) * channels >= g.outputs
        or (cut.length - 1) * summed >= g.channels
    )


@dataclass(frozen=True, eq=False)
class CutLayer:
    """A layer with its cut: sizes of everything.

    Attributes:
        layer: the layer.
        cut: how it is spread.
    """

    layer: ImageLayer
    cut: ImageCut

    def __post_init__(self) -> None:
        """Refuse cuts with empty parts, and bands that are no whole blocks of accumulators."""
        if has_empty_parts(self.layer, self.cut, self.sizes):
            raise TargetError(f"a cut of layer {self.layer.name} into empty parts")
        if self.layer.apart and self.cut.length > 1:
            raise TargetError("channels that stay apart are not summed over a cascade")
        if self.band_rows * self.walk.tiles_per_row % self.cut.rows:
            raise TargetError(f"bands of layer {self.layer.name} are no whole blocks")

    @cached_property
    def sizes(self) -> CutSizes:
        """Of its parts."""
        return sizes_of(self.layer, self.cut)

    @property
    def band_rows(self) -> int:
        """Output rows of a firing."""
        return self.sizes[0]

    @property
    def part_rows(self) -> int:
        """Output rows of a tile; of the last part perhaps fewer."""
        return self.sizes[1]

    @property
    def part_channels(self) -> int:
        """Output channels of a tile, padded to whole blocks of accumulators."""
        return self.sizes[2]

    @property
    def slice_channels(self) -> int:
        """Input channels of a tile, padded to whole `mmul` steps."""
        return self.sizes[3]

    def rows_of(self, part: int) -> tuple[int, int]:
        """First output row of a part, and how many."""
        first = part * self.part_rows
        return first, min(self.part_rows, self.layer.geometry.out_height - first)

    def firings_of(self, part: int) -> int:
        """Bands of a part."""
        return -(-self.rows_of(part)[1] // self.band_rows)

    @property
    def lead(self) -> int:
        """Columns read before the padding, so that reading begins at a whole stride."""
        w = self.layer.window
        return -w.padding[1] % w.stride[1]

    @cached_property
    def walk(self) -> Walk:
        """How a kernel goes over one band."""
        w, c = self.layer.window, self.cut
        reach = (w.filter[0] - 1) * w.dilation[0] + 1
        _, left, _, right = w.padding
        width = w.width if self.layer.picked[1] == 1 else self.layer.geometry.out_width
        if self.layer.picked[1] > 1:
            left = right = 0
        band = Geometry(
            self.slice_channels,
            (self.band_rows - 1) * w.stride[0] + reach,
            width,
            self.part_channels,
            w.filter,
            w.stride,
            w.dilation,
            (0, left, 0, right),
        )
        return Walk(band, c.tiling, c.rows, c.columns, self.layer.apart, self.lead)

    def position(self, column: int) -> Position:
        """Place in the cascade of a chain's tile."""
        if self.cut.length == 1:
            return "only"
        if column == 0:
            return "first"
        return "last" if column == self.cut.length - 1 else "middle"

    def kernel(self, column: int = 0) -> KernelSpec:
        """The kernel of a chain's tile, for one band.

        Raises:
            TargetError: no such kernel exists; a maximum has another one.
        """
        position = self.position(column)
        if position not in self._kernels:
            self._kernels[position] = self._kernel(position)
        return self._kernels[position]

    @cached_property
    def _kernels(self) -> dict[Position, KernelSpec]:
        """Those that have been asked for."""
        return {}

    def _kernel(self, position: Position) -> KernelSpec:
        layer, c, walk = self.layer, self.cut, self.walk
        if layer.epilogue is None:
            raise TargetError("a maximum pool has no such kernel")
        starts = layer.weight is not None and position in ("only", "first")
        return KernelSpec(
            layer.dtype,
            layer.multiplied,
            c.tiling,
            c.rows,
            c.columns,
            walk.m,
            walk.k,
            walk.n,
            layer.epilogue.requantise,
            position,
            bias=starts,
            operation=_OPERATIONS[layer.kind],
            gathered=True,
            border_bias=starts and layer.bordered,
        )

    @property
    def stored_channels(self) -> int:
        """Input channels as they lie in a memory tile: a whole number of words."""
        return filled(self.layer.geometry.channels, WORD // BYTES[self.layer.dtype])

    @property
    def stored_columns(self) -> int:
        """Input columns likewise: a whole number of strides."""
        g = self.layer.geometry
        return filled(g.width, self.layer.window.stride[1])

    @property
    def left_channels(self) -> int:
        """Output channels as they leave: a whole number of words."""
        return filled(self.layer.geometry.outputs, WORD // BYTES[self.layer.stored])

    def input_rows(self, part: int, count: int = 1) -> tuple[int, int]:
        """Rows of the input that `count` parts from `part` on read, inside the image."""
        g = self.layer.geometry
        first = self.rows_of(part)[0] * g.stride[0] - g.padding[0]
        last_row = sum(self.rows_of(part + count - 1)) - 1
        last = last_row * g.stride[0] - g.padding[0] + (g.filter[0] - 1) * g.dilation[0] + 1
        low, high = min(max(first, 0), g.height - 1), min(max(last, 1), g.height)
        return low, max(high - low, 1)

    @property
    def x_elements(self) -> int:
        """Of a kernel's input buffer."""
        return prod(self.walk.shape)

    @property
    def y_elements(self) -> int:
        """Of a kernel's output buffer."""
        return self.walk.m * self.walk.n
