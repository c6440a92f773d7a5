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
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.cost_models.walk import Controller, Jobs, QueuedWalk
from match_aie.hardware import Array, Block, Call, Direction, Loop, Memory, Repeat, Tile
from match_aie.hardware.sequence import Ranges
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
class Programming(Controller):
    """The controller, and what it takes to set up NE16's jobs.

    Attributes:
        start: of starting a transfer (measured with GVSoC).
        program: to program and start the first two jobs of a tile: 24 registers (measured).
        reprogram: of every further job of a tile: six registers (in proportion; modelled).
    """

    start: float = 16.0
    program: float = 578.0
    reprogram: float = 578.0 * 8 / 26


@dataclass(frozen=True)
class Ne16Cost(MchanTransfers):
    """A `TileCostModel` of NE16 behind MCHAN: conv2d 3x3 and 1x1, depthwise 3x3, and dense.

    While a tile's last jobs run, the controller stores the tile before, loads the next one, waits
    for it and programs its first job. A tile therefore takes as long as its jobs or as these steps,
    whichever is more. `kernel_cycles` does not know the mapping: it takes what a nest of such tiles
    in the better order moves.

    Attributes:
        form: cycles of jobs.
        weight_bits: of a weight.
        scale_bits: of a scale.
        job: cycles from trigger to end beside the tiles; fitted with the form.
        controller: what goes on around the jobs.
    """

    form: ClosedForm = ClosedForm()
    weight_bits: int = 8
    scale_bits: int = 16
    job: float = 8.0
    controller: Programming = Programming()

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one tile, with what of the next tile's preparation does not hide behind it.

        `tile` has every dimension of the workload.
        """
        t = _filled(tile)
        run, jobs = self._jobs(workload, t)
        alone, again = self._first(run, jobs), self._period(workload, t, run, jobs)
        calls = _calls(workload, t)
        alone = alone + np.where(calls > 1, self._entered(workload, t), 0.0)
        return np.asarray((alone + (calls - 1) * again) / calls)

    def _entered(self, workload: Workload, t: Tile) -> Array:
        """Cycles that a layer of several tiles takes to its first one, beyond one of one tile.

        The walk to the first tile hides behind its loads, as far as these take so long.
        """
        core = self.controller
        walked = np.maximum(0.0, core.visit - sum(self._loads(workload, t)))
        return np.asarray(core.layer - core.one_tile + walked)

    def _first(self, run: Array, jobs: Array) -> Array:
        """Cycles of a layer's first tile from the start of its first job to the end of its last."""
        core = self.controller
        later = np.maximum(core.program, run) + (jobs - 2) * np.maximum(core.reprogram, run)
        return np.asarray(run + np.where(jobs > 1, later, 0.0))

    def _period(self, workload: Workload, t: Tile, run: Array, jobs: Array) -> Array:
        """Cycles from tile to tile, averaged over the better order of channels and pixels.

        The inner one of image and weights moves with every tile, the other one once a round.
        """
        sizes, depthwise = workload.sizes, filter_of(workload) == "depthwise"
        deep = _up(np.asarray(sizes["G"] * sizes["K"]), t["G"] * t["K"])
        rounds = _calls(workload, t) // deep
        image, weights = self._loads(workload, t)
        both, one, other = (
            self._after(run, jobs, self._preparation(workload, t, *what))
            for what in ((image + weights, 4), (image, 1), (weights, 3))
        )
        pixels_inside = np.where(deep > 1, one + (both - one) / rounds, one)
        if depthwise:
            return np.asarray(pixels_inside)
        channels_inside = np.where(rounds > 1, other + (both - other) / deep, other)
        return np.asarray(np.where(deep > 1, np.minimum(pixels_inside, channels_inside), one))

    def _after(self, run: Array, jobs: Array, prepared: Array) -> Array:
        """Cycles from tile to tile: two jobs of the tile before may run while one is prepared."""
        core = self.controller
        one = prepared + core.program
        two = one + core.program
        three = np.maximum(two, np.maximum(one, 2 * run) + run) + core.reprogram
        many = three + (jobs - 3) * np.maximum(core.reprogram, run)
        programmed = np.select([jobs < 2, jobs < 3], [one, two], many)
        return np.asarray(np.maximum(jobs * run, programmed))

    def _jobs(self, workload: Workload, t: Tile) -> tuple[Array, Array]:
        """(cycles of a job, jobs of a tile)."""
        kind = filter_of(workload)
        outputs = t["G"] if kind == "depthwise" else t["K"]
        if workload.kind == "dense":
            image, jobs = (np.asarray(1), t["B"]), np.asarray(1)
        elif strides_by_jobs(workload):
            image, jobs = (np.asarray(3), np.asarray(3)), _up(t["OY"], 2) * _up(t["OX"], 2)
        else:
            image, jobs = (t["OY"], t["OX"]), np.asarray(1)
        bits = self.weight_bits, self.scale_bits
        run = self.job + self.form.cycles(kind, image, t["C"], outputs, *bits)
        if bordered(workload) and not strides_by_jobs(workload):
            # As if every tile had all borders: nine jobs, whose edges are tiles of one row.
            inner = tuple(np.maximum(n - 2, 1) for n in image)
            lines = (np.asarray(1), inner[1]), (inner[0], np.asarray(1))
            parts = [inner, *lines, *lines, *[(np.asarray(1), np.asarray(1))] * 4]
            each = (self.form.cycles(kind, part, t["C"], outputs, *bits) for part in parts)
            run = sum(
                (np.maximum(self.job + one, self.controller.program) for one in each), np.zeros(1)
            ).reshape(np.shape(run))
        return run, jobs if workload.kind == "dense" else jobs * t["B"]

    def _loads(self, workload: Workload, t: Tile) -> tuple[Array, Array]:
        """Cycles to load a tile of the image, and of the weights."""
        whole = np.asarray(1)
        return (
            self.moved_cycles(_image(workload, t), whole, "load"),
            self.moved_cycles(self._weights(workload, t), whole, "load"),
        )

    def _preparation(self, workload: Workload, t: Tile, loads: Array, count: int) -> Array:
        """Cycles from the end of the tile before to the programming of the next one's first job.

        The output is stored and `count` operands are loaded, while the controller starts these
        transfers and walks on.
        """
        sizes, core = workload.sizes, self.controller
        outputs, pixels = t["G"] * t["K"], t["B"] * t["OY"] * t["OX"]
        stored = pixels * outputs * (4 if workload.output.dtype == "int32" else 1)
        # The first of a layer's tiles is stored while the third one is loaded.
        share = np.maximum(0, 1 - 1 / np.maximum(1, _calls(workload, t) - 1))
        moving = loads + share * self.moved_cycles(stored, np.asarray(1), "store")
        # Where channels and columns are both cut, every row is a transfer of its own.
        planes = (outputs < sizes["G"] * sizes["K"]) & (t["OX"] < sizes["OX"])
        started = np.where(planes, t["OY"], 1) + count
        walked = core.visit + started * core.start
        return np.asarray(np.maximum(moving, walked) + (count + 2) * core.wait)

    def _weights(self, workload: Workload, t: Tile) -> Array:
        """Bytes of a tile's packed weights, factors and offsets."""
        channels, taps = workload.operand("weight").shape[-1], t["FY"] * t["FX"]
        if filter_of(workload) == "depthwise":
            rows, width = _up(t["G"], DEPTHWISE), DEPTHWISE
        else:
            rows, width = t["K"], -(-channels // INPUTS) * INPUTS
        constants = t["G"] * t["K"] * (4 + self.scale_bits // 8)
        return np.asarray(rows * width * taps * self.weight_bits // 8 + constants)

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """As MCHAN's, of weights and factors as they are packed."""
        nbytes, chunks = block.nbytes, block.chunks
        name = block.operand.name
        if name == "weight":
            nbytes, chunks = self.packed(workload, block), np.ones_like(chunks)
        elif name == "multiplier":
            nbytes = nbytes * self.scale_bits // 32
        elif name == "offset" and bordered(workload):
            nbytes = nbytes * 9
        return self.moved_cycles(nbytes, chunks, direction)

    def as_stored(self, workload: Workload, block: Block) -> Block:
        """Weights and factors as they are packed."""
        name = block.operand.name
        if name == "weight":
            one = np.asarray(1)
            return replace(block, nbytes=self.packed(workload, block), chunks=one, planes=one)
        if name == "multiplier":
            return replace(block, nbytes=block.nbytes * self.scale_bits // 32)
        if name == "offset" and bordered(workload):
            return replace(block, nbytes=block.nbytes * 9)
        return block

    def sequence_cycles(self, workload: Workload, calls: Sequence[Call | Repeat]) -> float:
        """NE16 holds two jobs."""
        del workload
        return QueuedWalk(self.controller).cycles(calls)

    def call_price(self, workload: Workload, ranges: Ranges) -> tuple[Jobs, ...]:
        """The jobs of a tile."""
        core, kind = self.controller, filter_of(workload)
        t = {dim: np.asarray(length) for dim, (_, length) in ranges.items()}
        t = _filled(t)
        if bordered(workload) and not strides_by_jobs(workload):
            return self._bordered_jobs(workload, ranges, t)
        run, jobs = self._jobs(workload, t)
        count = int(jobs)
        found = (Jobs(core.program, float(run), min(2, count)),)
        if count > 2:
            found += (Jobs(core.reprogram, float(run), count - 2),)
        return found

    def _bordered_jobs(self, workload, ranges, t):
        core, kind = self.controller, filter_of(workload)
        outputs = t["G"] if kind == "depthwise" else t["K"]
        bands = []
        for axis, dim in enumerate(("OY", "OX")):
            size = workload.sizes[dim]
            window = workload.window
            start, length = ranges[dim]
            low = 1 if window.padding[axis] else 0
            seen = (size - 1) * window.stride[axis] + workload.sizes["FY"] - window.padding[axis]
            high = size - 1 if seen > workload.operand("x").shape[1 + axis] else size
            edges = [start, *(min(max(e, start), start + length) for e in (low, high)), start + length]
            bands.append([b - a for a, b in zip(edges, edges[1:]) if b > a])
        found = []
        for r in bands[0]:
            for c in bands[1]:
                run = self.job + self.form.cycles(kind, (np.asarray(r), np.asarray(c)), t["C"], outputs, self.weight_bits, self.scale_bits)
                found.append(Jobs(core.program, float(run)))
        return tuple(found) * int(t["B"])

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """Pipelined; before the first tile and after the last one nothing overlaps."""
        alone = self.controller.one_tile + self.controller.program
        return np.asarray(super().combine(compute, moves, exposed) + alone)

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


def bordered(workload: Workload) -> bool:
    """Whether padding means another value than 0, which takes a job for every border."""
    window = workload.window
    return window is not None and any(window.padding) and workload.operand("x").zero_point != 0


def _filled(tile: Tile) -> dict[str, Array]:
    """The tile with all loop dimensions, 1 where it has none."""
    one = np.asarray(1)
    return {d: tile.get(d, one) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}


def _calls(workload: Workload, t: Tile) -> Array:
    """Tiles of this size that cover the layer."""
    found = np.asarray(1)
    for dim, size in workload.dims:
        found = found * _up(np.asarray(size), t[dim])
    return found


def _image(workload: Workload, t: Tile) -> Array:
    """Bytes of a tile's input."""
    channels = t["G"] * t["C"]
    if workload.window is None:
        return np.asarray(t["B"] * channels)
    (down, across), (_, rows, columns, _) = workload.window.stride, workload.operand("x").shape
    seen = np.minimum((t["OY"] - 1) * down + t["FY"], rows)
    return np.asarray(
        t["B"] * seen * np.minimum((t["OX"] - 1) * across + t["FX"], columns) * channels
    )


def _up(a: Array, b: Array | int) -> Array:
    return np.asarray(-(-a // b))
