"""NE16, the convolution accelerator of GAP9: cycles of tiles and of their transfers.

The closed form is plinio's (eml-eda/plinio@3d6b5e0, plinio/cost/ne16_latency.py), which MATCH uses
too. Against measured layers it is 8 % too high on average. `ClosedForm` takes its structure with
four constants fitted to half of those layers, loads no pixels that the last tiles do not need, and
reads scales as GVSoC does. Two things are added: with stride 2 the 3x3 modes make 2x2 pixels a
job, where plinio counts 3x3; and jobs must be programmed, which costs the controller 578 cycles
(measured) that hide behind the job before, or do not.

A published form with fitted constants: modelled. No layer with stride 2 has been measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.hardware import Array, Block, Direction, Loop, Memory, Tile
from match_aie.workload import Workload

Filter = Literal["conv3x3", "depthwise", "conv1x1"]

#: Input channels, and output channels, that the array works on at a time (pulp-nnx).
INPUTS, OUTPUTS, DEPTHWISE = 16, 32, 16


@dataclass(frozen=True)
class ClosedForm:
    """Cycles beside those of words moved, fitted to the even rows of `ne16_cycles.csv`.

    In brackets what plinio has. A pass works through 16 input channels of a tile of 3x3 pixels. It
    loads a word for each input pixel: 25 for plinio, here only those that the tile's outputs need.

    Attributes:
        conv3x3: of a pass: load 6, offset 6, start 6, index 2 (20).
        depthwise: likewise; offset 6 and one a channel (36).
        conv1x1: likewise; load 10 and 9 words, offset 6, start 6, index 2 (33).
        tile: of a tile, beside its passes: scale 9, bias 8, store 4 and 9 words (30).
    """

    conv3x3: float = 14.2
    depthwise: float = 25.2
    conv1x1: float = 31.0
    tile: float = 8.6

    def cycles(
        self,
        kind: Filter,
        image: tuple[Array, Array],
        inputs: Array,
        outputs: Array,
        weight_bits: int = 8,
        scale_bits: int = 16,
    ) -> Array:
        """Cycles of one job; arguments broadcast.

        Args:
            kind: of filter.
            image: rows and columns of the output that are computed.
            inputs: channels; not used if depthwise.
            outputs: channels.
            weight_bits: of a weight.
            scale_bits: of a scale; 0 without scales and biases.
        """
        rows, columns = image
        block = DEPTHWISE if kind == "depthwise" else OUTPUTS
        passes = np.asarray(1) if kind == "depthwise" else _up(inputs, INPUTS)
        fill = {"conv3x3": self.conv3x3, "depthwise": self.depthwise, "conv1x1": self.conv1x1}[kind]
        down, across, blocks = _up(rows, 3), _up(columns, 3), _up(outputs, block)
        # Tiles of 3x3 outputs see 5x5 inputs, the last ones less: rows + 2 for every tile down.
        words = 0 if kind == "conv1x1" else (rows + 2 * down) * (columns + 2 * across)
        weights = outputs * (1 if kind == "conv1x1" else weight_bits)
        cycles = passes * (blocks * (fill * down * across + words) + down * across * weights)
        tiles = down * across * (blocks * self.tile)
        if scale_bits:
            # GVSoC reads scales of 32 channels for all but the last block, depthwise ones too.
            read = (blocks - 1) * OUTPUTS + outputs - (blocks - 1) * block
            tiles = tiles + down * across * (_up(read * scale_bits, 32) + 4 * blocks)
        return np.asarray(cycles + tiles)


@dataclass(frozen=True)
class Ne16Cost(MchanTransfers):
    """A `TileCostModel` of NE16 behind MCHAN: conv2d 3x3 and 1x1, depthwise 3x3, and dense.

    Attributes:
        form: cycles of jobs.
        weight_bits: of a weight.
        scale_bits: of a scale.
        job: cycles from trigger to end beside the tiles; fitted with the form.
        program: cycles of the controller to program and start a tile's first job (measured).
        reprogram: of every further job of a tile, which writes six of 24 registers (in
            proportion; modelled).
    """

    form: ClosedForm = ClosedForm()
    weight_bits: int = 8
    scale_bits: int = 16
    job: float = 8.0
    program: float = 578.0
    reprogram: float = 578.0 * 8 / 26

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one tile: its jobs, each at least as long as programming the next takes.

        `tile` has every dimension of the workload. Images of a batch follow each other.
        """
        one = np.asarray(1)
        t = {dim: tile.get(dim, one) for dim in ("B", "G", "K", "C", "OY", "OX")}
        kind = filter_of(workload)
        outputs = t["G"] if kind == "depthwise" else t["K"]
        rows, columns, jobs = t["OY"], t["OX"], one
        if strides_by_jobs(workload):
            jobs = _up(rows, 2) * _up(columns, 2)
            rows = columns = np.asarray(3)
        run = self.job + self.form.cycles(
            kind, (rows, columns), t["C"], outputs, self.weight_bits, self.scale_bits
        )
        # Two slots, so two whole programmings; the first is charged to the tile's store.
        later = np.maximum(self.program, run) + (jobs - 2) * np.maximum(self.reprogram, run)
        total = t["B"] * (run + np.where(jobs > 1, later, 0.0))
        return np.asarray(np.maximum(total, self.program))

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """As MCHAN's, of packed weights; an output's store is charged the tile's programming.

        The controller waits for a tile's inputs, then programs its job, while the job before runs:
        programming hides where transfers hide, and adds to them where they do not.
        """
        nbytes, chunks = block.nbytes, block.chunks
        name = block.operand.name
        if name == "weight":
            nbytes, chunks = self.packed(workload, block), np.ones_like(chunks)
        elif name == "multiplier":
            nbytes = nbytes * self.scale_bits // 32
        cycles = self.moved_cycles(nbytes, chunks, direction)
        return np.asarray(cycles + (self.program if direction == "store" else 0.0))

    def packed(self, workload: Workload, block: Block) -> Array:
        """Bytes of a tile of weights as NE16 reads them."""
        operand = block.operand
        taps = int(np.prod(operand.shape[1:-1]))
        channels = operand.shape[-1]
        if filter_of(workload) == "depthwise":
            return np.asarray(_up(block.nbytes // taps, DEPTHWISE) * 2 * self.weight_bits * taps)
        rows = block.nbytes // (taps * channels)
        return np.asarray(rows * (-(-channels // INPUTS) * 2 * self.weight_bits * taps))

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the array does at a time, or a job where that is less: outputs, rows, columns."""
        sizes = workload.sizes
        pixels = 2 if strides_by_jobs(workload) else 3
        depthwise = filter_of(workload) == "depthwise"
        wanted = {"G": DEPTHWISE} if depthwise else {"K": OUTPUTS}
        if workload.kind == "conv2d":
            wanted |= {"OY": pixels, "OX": pixels}
        return tuple(Loop(dim, min(size, sizes[dim])) for dim, size in wanted.items())


def filter_of(workload: Workload) -> Filter:
    """Which of NE16's filters a workload is."""
    if workload.depthwise:
        return "depthwise"
    return "conv3x3" if workload.sizes["FY"] == 3 else "conv1x1"


def strides_by_jobs(workload: Workload) -> bool:
    """Whether the stride is 2 and NE16 makes 2x2 pixels a job; a 1x1 filter strides by itself."""
    window = workload.window
    return window is not None and window.stride == (2, 2) and filter_of(workload) != "conv1x1"


def _up(a: Array, b: int) -> Array:
    return np.asarray(-(-a // b))
