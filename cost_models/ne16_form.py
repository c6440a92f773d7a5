"""The closed form of NE16's cycles, and what of a layer it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from match_aie.hardware import Array
from match_aie.workload import Workload

Filter = Literal["conv3x3", "depthwise", "conv1x1"]

#: Input channels, and output channels, that the array works on at a time (pulp-nnx).
INPUTS, OUTPUTS, DEPTHWISE = 16, 32, 16


@dataclass(frozen=True)
class ClosedForm:
    """Cycles beside those of words moved, fitted to the even rows of `ne16_cycles.csv`.

    In brackets what plinio has. A pass works through 16 input channels of a tile of 3x3 pixels. It
    loads a word for each input pixel: 25 for plinio, here only those of the image that the tile's
    outputs need.

    Attributes:
        conv3x3: of a pass: load 6, offset 6, start 6, index 2 (20).
        depthwise: likewise; offset 6 and one a channel (36).
        conv1x1: likewise; load 10 and 9 words, offset 6, start 6, index 2 (33).
        tile: of a tile, beside its passes: scale 9, bias 8, store 4 and 9 words (30).
    """

    conv3x3: float = 17.4
    depthwise: float = 29.2
    conv1x1: float = 31.1
    tile: float = 7.9

    def cycles(
        self,
        kind: Filter,
        image: tuple[Array, Array],
        inputs: Array,
        outputs: Array,
        weight_bits: int = 8,
        scale_bits: int = 16,
        zeros: tuple[Array | float, Array | float] = (0, 0),
    ) -> Array:
        """Cycles of one job; arguments broadcast.

        Args:
            kind: of filter.
            image: rows and columns of the output that are computed.
            inputs: channels; not used if depthwise.
            outputs: channels.
            weight_bits: of a weight.
            scale_bits: of a scale; 0 without scales and biases.
            zeros: rows below the image and columns right of it that the last tiles do not load.
        """
        rows, columns = image
        down, across = up(rows, 3), up(columns, 3)
        # Tiles of 3x3 outputs see 5x5 inputs, the last ones less: rows + 2 for every tile down.
        seen = rows + 2 * down - zeros[0], columns + 2 * across - zeros[1]
        return self.of_tiles(kind, (down, across), seen, inputs, outputs, weight_bits, scale_bits)

    def of_tiles(
        self,
        kind: Filter,
        tiles: tuple[Array, Array],
        seen: tuple[Array, Array],
        inputs: Array,
        outputs: Array,
        weight_bits: int = 8,
        scale_bits: int = 16,
    ) -> Array:
        """`cycles` from what a job's image takes, or what those of several do on average.

        Args:
            kind: as there, like the rest.
            tiles: of 3x3 outputs, down and across.
            seen: rows and columns of the input that tiles load, of each tile its own.
            inputs: channels.
            outputs: channels.
            weight_bits: of a weight.
            scale_bits: of a scale.
        """
        block = DEPTHWISE if kind == "depthwise" else OUTPUTS
        passes = np.asarray(1) if kind == "depthwise" else up(inputs, INPUTS)
        fill = {"conv3x3": self.conv3x3, "depthwise": self.depthwise, "conv1x1": self.conv1x1}[kind]
        (down, across), blocks = tiles, up(outputs, block)
        words = 0 if kind == "conv1x1" else seen[0] * seen[1]
        weights = outputs * (1 if kind == "conv1x1" else weight_bits)
        cycles = passes * (blocks * (fill * down * across + words) + down * across * weights)
        stored = down * across * (blocks * self.tile)
        if scale_bits:
            # GVSoC reads scales of 32 channels for all but the last block, depthwise ones too.
            read = (blocks - 1) * OUTPUTS + outputs - (blocks - 1) * block
            stored = stored + down * across * (up(read * scale_bits, 32) + 4 * blocks)
        return np.asarray(cycles + stored)


def filter_of(workload: Workload) -> Filter:
    """Which of NE16's filters a workload is."""
    if workload.depthwise:
        return "depthwise"
    return "conv3x3" if workload.sizes["FY"] == 3 else "conv1x1"


def strides_by_jobs(workload: Workload) -> bool:
    """Whether the stride is 2 and NE16 makes 2x2 pixels a job; a 1x1 filter strides by itself."""
    window = workload.window
    return window is not None and window.stride == (2, 2) and filter_of(workload) != "conv1x1"


def zeros_after(workload: Workload, axis: int) -> int:
    """Rows (0) or columns (1) of zeros after the image that the last outputs see; at most two."""
    window, dim = workload.window, ("OY", "OX")[axis]
    if window is None:
        return 0
    sizes, size = workload.sizes, workload.operand("x").shape[1 + axis]
    seen = (sizes[dim] - 1) * window.stride[axis] + sizes["FY"] - window.padding[axis]
    return max(0, seen - size)


def up(a: Array, b: Array | int) -> Array:
    """How many of `b` cover `a`."""
    return np.asarray(-(-a // b))
