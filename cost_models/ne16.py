"""NE16, the convolution accelerator of GAP9: cycles of tiles and of their transfers.

The closed form is plinio's (eml-eda/plinio@3d6b5e0, plinio/cost/ne16_latency.py), which MATCH uses
too. Against layers that GVSoC, an independent simulator, timed it is 8 % too high on average.
`ClosedForm` takes its structure with four constants fitted to half of those layers, loads no pixels
that the last tiles do not need, and reads scales as GVSoC does. Two things are added: with stride 2
the 3x3 modes make 2x2 pixels a job, where plinio counts 3x3; and jobs must be programmed, which
costs the controller cycles that hide behind the job before, or do not.

A published form with fitted constants: modelled. None of these layers has stride 2, and no layer
was measured on silicon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.cost_models.ne16_borders import bordered, cut_in_jobs, parts_of
from match_aie.cost_models.ne16_form import (
    DEPTHWISE,
    INPUTS,
    OUTPUTS,
    ClosedForm,
    filter_of,
    strides_by_jobs,
    up,
    zeros_after,
)
from match_aie.cost_models.walk import Controller, Jobs, QueuedWalk
from match_aie.hardware import Array, Block, Call, Loop, Ranges, Repeat, Tile
from match_aie.workload import Workload


@dataclass(frozen=True)
class Programming(Controller):
    """The controller, and what it takes to set up NE16's jobs.

    Attributes:
        program: to set a tile up and start its first job: 24 registers.
        second: of its second job: 24 registers.
        reprogram: of every further job of a tile: six registers.
        part: of a further part of an image whose padding is not 0.
        code: the same as the cluster's, of layers on NE16.
    """

    program: float = 745.0
    second: float = 402.6
    reprogram: float = 197.4
    part: float = 563.4
    code: float = 1020.0


@dataclass(frozen=True)
class Ne16Cost(MchanTransfers):
    """NE16 behind MCHAN: conv2d 3x3 and 1x1, depthwise 3x3, and dense, priced call after call.

    While a tile's last jobs run, the controller stores the tile before, loads the next one, waits
    for it and programs its first job. A tile therefore takes as long as its jobs or as these steps,
    whichever is more.

    Attributes:
        form: cycles of jobs.
        weight_bits: of a weight.
        scale_bits: of a scale.
        job: cycles from trigger to end beside the tiles; fitted with the form.
        controller: what goes on around the jobs.
        waited: see `SharedCostModel`; it holds two jobs.
    """

    form: ClosedForm = ClosedForm()
    weight_bits: int = 8
    scale_bits: int = 16
    job: float = 8.0
    controller: Programming = Programming()
    waited: bool = False

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one tile alone, from the start of its first job to the end of its last.

        `tile` has every dimension of the workload. Where a padded image takes several jobs these
        count as one.
        """
        core = self.controller
        run, jobs = self._jobs(workload, _filled(tile))
        later = np.maximum(core.second, run) + (jobs - 2) * np.maximum(core.reprogram, run)
        return np.asarray(run + np.where(jobs > 1, later, 0.0))

    def call_bounds(self, workload: Workload, tile: Tile) -> tuple[Array, ...]:
        """NE16's jobs; the controller's programming of them."""
        return self._worked(workload, _filled(tile), True)

    def _worked(self, workload: Workload, t: Tile, least: bool) -> tuple[Array, ...]:
        """`call_bounds`, or where that is not the `least`, what tiles take on average."""
        core = self.controller
        if bordered(workload) and not strides_by_jobs(workload):
            return self._bordered_jobs(workload, t, least)
        run, jobs = self._jobs(workload, t)
        if bordered(workload):
            return self._bordered_strides(workload, t, run, least)
        programmed = core.program + np.maximum(jobs - 2, 0) * core.reprogram
        programmed = programmed + np.where(jobs > 1, core.second, 0.0)
        return np.asarray(jobs * run), np.asarray(programmed)

    def _bordered_jobs(self, workload: Workload, t: Tile, least: bool) -> tuple[Array, ...]:
        """`_worked` where borders are jobs apart, where they do not lie between tiles anyway.

        On average of the tiles that cover the image. Rows and columns are cut independently, and
        all that counts is a product of something of the rows and something of the columns.
        """
        core, parts, tiles, seen = self.controller, t["B"] * np.asarray(1.0), [], []
        for axis, dim in enumerate(("OY", "OX")):
            cut, _, steps = cut_in_jobs(workload, axis, t[dim], 3, least)
            # The last tile's zeros, spread over the full ones: their sum is not below it.
            zeros = zeros_after(workload, axis) / np.maximum(1, workload.sizes[dim] // t[dim])
            parts = parts * cut
            tiles.append(steps)
            seen.append(t[dim] + 2 * steps - zeros)
        kind, bits = filter_of(workload), (self.weight_bits, self.scale_bits)
        outputs = t["G"] if kind == "depthwise" else t["K"]
        down, across = tiles
        run = self.form.of_tiles(kind, (down, across), (seen[0], seen[1]), t["C"], outputs, *bits)
        programmed = core.program + (parts - 1) * core.part
        return np.asarray(parts * self.job + t["B"] * run), np.asarray(programmed)

    def _bordered_strides(
        self, workload: Workload, t: Tile, run: Array, least: bool
    ) -> tuple[Array, ...]:
        """`_worked` where a job makes 2x2 pixels and borders are jobs apart.

        On average of the tiles that cover the image. Rows and columns are cut independently, so
        averages of parts, of parts of one job, and of jobs are products of those along both axes.
        """
        core = self.controller
        rows, columns = (
            cut_in_jobs(workload, axis, t[dim], 2, least) for axis, dim in enumerate(("OY", "OX"))
        )
        parts, single, jobs = (
            row * column * t["B"] for row, column in zip(rows, columns, strict=True)
        )
        seconds = parts - single
        later = (jobs - parts - seconds) * core.reprogram
        programmed = core.program + (parts - 1) * core.part + seconds * core.second + later
        return np.asarray(jobs * run), np.asarray(programmed)

    def kernel_energy(self, workload: Workload, tile: Tile) -> Array:
        """NE16's jobs, and the controller's walk and programming; of borders' jobs their share."""
        if self.charges is None:
            return super().kernel_energy(workload, tile)
        jobs, programmed = self._worked(workload, _filled(tile), False)
        walked = programmed + self.controller.visit + self.controller.wait
        return np.asarray(jobs * self.charges.unit + walked * self.charges.core)

    def layer_bounds(self, calls: Array) -> tuple[Array, ...]:
        """NE16 has nothing else to do; the controller walks, and waits for every tile.

        The first walk and the first job's programming count with the first loads (`combine`).
        """
        core = self.controller
        enter, visit = core.walk(calls)
        walked = enter + (calls - 1) * (visit + core.wait)
        alone = np.where(calls > 1, 0.0, core.first)
        return enter - alone, walked - alone - core.program

    def held_cycles(self, workload: Workload, block: Block) -> Array:
        """None: NE16 works while the controller starts transfers."""
        del workload
        return np.zeros(np.shape(block.nbytes))

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """A lower bound: NE16's or the controller's time after the first loads, or the engine's."""
        ahead = self.begun + self.controller.program
        return self.controller.least(compute + self.start, moves[0], exposed[0], ahead)

    def call_price(self, workload: Workload, ranges: Ranges) -> tuple[Jobs, ...]:
        """The jobs of a tile."""
        core = self.controller
        t = _filled({dim: np.asarray(length) for dim, (_, length) in ranges.items()})
        if bordered(workload) and not strides_by_jobs(workload):
            jobs = [self._part(workload, t, part) for part in parts_of(workload, ranges)]
            first, *rest = jobs
            parts = (Jobs(core.program, first), *(Jobs(core.part, run) for run in rest))
            return parts * int(t["B"])
        run, jobs_of_tile = (value.item() for value in self._jobs(workload, t))
        if workload.kind != "dense" and not strides_by_jobs(workload):
            run = self._part(workload, t, (ranges["OY"], ranges["OX"]))
        images = 1 if workload.kind == "dense" else int(t["B"])
        counts = [int(jobs_of_tile) // images]
        if bordered(workload):
            cut = parts_of(workload, ranges)
            counts = [-(-rows // 2) * -(-columns // 2) for (_, rows), (_, columns) in cut]
        found: list[Jobs] = []
        for count in counts:
            found.append(Jobs(core.part if found else core.program, run))
            found += [Jobs(core.second, run)] if count > 1 else []
            found += [Jobs(core.reprogram, run, count - 2)] if count > 2 else []
        return tuple(found) * images

    def free_cycles(self, workload: Workload, tile: Tile) -> float:
        """What the last jobs take after the controller has programmed them."""
        t = _filled(tile)
        jobs = self.call_price(workload, {dim: (0, int(size)) for dim, size in t.items()})
        return QueuedWalk(self.controller).left(jobs)

    def unit_cycles(self, workload: Workload, tile: Tile) -> float:
        """All jobs."""
        t = _filled(tile)
        jobs = self.call_price(workload, {dim: (0, int(size)) for dim, size in t.items()})
        return sum(some.run * some.count for some in jobs)

    def sequence_cycles(self, workload: Workload, calls: Sequence[Call | Repeat]) -> float:
        """NE16 holds two jobs."""
        del workload
        return QueuedWalk(self.controller).cycles(calls)

    def _jobs(self, workload: Workload, t: Tile) -> tuple[Array, Array]:
        """(cycles of a job, jobs of a tile)."""
        if workload.kind == "dense":
            return self._run(workload, t, (np.asarray(1), t["B"])), np.asarray(1)
        if strides_by_jobs(workload):
            run = self._run(workload, t, (np.asarray(3), np.asarray(3)))
            return run, np.asarray(up(t["OY"], 2) * up(t["OX"], 2) * t["B"])
        if bordered(workload):
            zeros: tuple[Array, ...] = (np.asarray(2), np.asarray(2))
        else:
            # The last tile's; spread over the full ones, so that their sum is not below it.
            zeros = tuple(
                zeros_after(workload, axis) / np.maximum(1, workload.sizes[dim] // t[dim])
                for axis, dim in enumerate(("OY", "OX"))
            )
        return self._run(workload, t, (t["OY"], t["OX"]), zeros), np.asarray(t["B"])

    def _run(
        self,
        workload: Workload,
        t: Tile,
        image: tuple[Array, Array],
        zeros: tuple[Array | float, ...] = (0, 0),
    ) -> Array:
        """Cycles of a job on so many rows and columns."""
        kind = filter_of(workload)
        outputs = t["G"] if kind == "depthwise" else t["K"]
        bits = self.weight_bits, self.scale_bits
        below, right = zeros
        cycles = self.form.cycles(kind, image, t["C"], outputs, *bits, zeros=(below, right))
        return np.asarray(self.job + cycles)

    def _part(self, workload: Workload, t: Tile, part: tuple[tuple[int, int], ...]) -> float:
        """Cycles of a job on (first index, length) along rows and columns."""
        rows, columns = (np.asarray(length) for _, length in part)
        zeros = tuple(
            zeros_after(workload, axis) * (sum(piece) == workload.sizes[dim])
            for axis, (dim, piece) in enumerate(zip(("OY", "OX"), part, strict=True))
        )
        return float(self._run(workload, t, (rows, columns), zeros))

    def as_stored(self, workload: Workload, block: Block) -> Block:
        """Weights and factors as they are packed."""
        name = block.operand.name
        if name == "weight":
            one = np.ones_like(block.chunks)
            return replace(block, nbytes=self.packed(workload, block), chunks=one, planes=one)
        if name == "multiplier":
            return replace(block, nbytes=block.nbytes * self.scale_bits // 32)
        if name == "offset" and bordered(workload):
            return replace(block, nbytes=block.nbytes * 9)
        return block

    def packed(self, workload: Workload, block: Block) -> Array:
        """Bytes of a tile of weights as NE16 reads them."""
        operand = block.operand
        taps = int(np.prod(operand.shape[1:-1]))
        channels = operand.shape[-1]
        if filter_of(workload) == "depthwise":
            return np.asarray(up(block.nbytes // taps, DEPTHWISE) * 2 * self.weight_bits * taps)
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


def peak_macs(workload: Workload, weight_bits: int = 8) -> float:
    """Multiply-accumulates a cycle of the array where nothing but products takes time.

    What is left of the closed form without fill, words and tiles: 3x3 outputs of every output
    channel take a cycle for each bit of a weight, for 16 input channels in a 3x3 filter and for
    one in a depthwise filter; with 1x1 filters all bits are worked on at once.
    """
    kind, outputs = filter_of(workload), 3 * 3
    if kind == "conv1x1":
        return float(outputs * INPUTS)
    return outputs * 3 * 3 * (1 if kind == "depthwise" else INPUTS) / weight_bits


def _filled(tile: Tile) -> dict[str, Array]:
    """The tile with all loop dimensions, 1 where it has none."""
    one = np.asarray(1)
    return {d: tile.get(d, one) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
