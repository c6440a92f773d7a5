"""Kernels in the manner of PULP-NN on a cluster of RISC-V cores with Xpulp: cycles of a tile.

Modelled, not measured; the kernels are those of `targets/gap9/runtime/kernels`. Loops are counted
in closed form, vectorised over tiles: the busiest core's share, a mean window instead of every
window. Where numbers come from:

- register blocking of 2 pixels x 4 channels, 6 loads and 8 dot products for 32 products: PULP-NN
  (A. Garofalo et al., arXiv:1908.11263);
- a cycle an instruction, a stall after a load that is used at once: CV32E40P (RI5CY) user manual;
  a division takes as many as its divisor has leading zeros, and 2 (GVSoC's public rv32m.hpp);
- a float32 operation 2 cycles where the next one needs it, a division 15: assumptions;
- 16 banks of L1 that serve one access a cycle each (GVSoC, pulp-open): accesses fall on banks at
  random, so one meets each other core's with probability rate / banks and waits in half the cases;
- loops over words, elements, columns: the instructions that a compiler for Xpulp leaves of them,
  with its hardware loops and accesses that advance addresses;
- what the kernels do once, per unit, row and block is counted in them, compiled by GCC 12 for
  rv32imc with an instruction in the place of each of Xpulp's builtins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.cost_models.pulp_accesses import access_rate
from match_aie.cost_models.pulp_half import half_bytes, half_cycles, is_half
from match_aie.cost_models.pulp_plain import InstructionSet, plain_cycles
from match_aie.cost_models.pulp_real import real_cycles
from match_aie.cost_models.pulp_rows import (
    CHANNEL,
    DIVIDE,
    DIVISION,
    ENTER_BY,
    FLOAT,
    FLOAT_DIVISION,
    PART,
    STALL,
    Workers,
    element_cycles,
    finish,
    up,
)
from match_aie.cost_models.pulp_short_floats import short_float_bytes, short_float_cycles
from match_aie.cost_models.pulp_strips import strip_cycles
from match_aie.cost_models.pulp_windows import gathered, inside, is_direct
from match_aie.cost_models.walk import BlockingWalk, Controller, Jobs
from match_aie.hardware import Array, Block, Call, Loop, Ranges, Repeat, Tile
from match_aie.workload import RECURRENT, Workload, short_float, whole_image

#: Cycles of the controller to fill a kernel's argument, by kind, and of all others: counted as in
#: `walk.Controller`. What has not been counted is taken as an addition.
_CALLS = {
    "conv2d": 220.0,
    "dense": 170.2,
    "avg_pool2d": 241.6,
    "max_pool2d": 241.6,
    "permute": 108.4,
    "quantize": 256.0,
    "softmax": 165.0,
}
_CALL = 422.2


@dataclass(frozen=True)
class PulpNN(MchanTransfers):
    """A cluster of `cores` behind a shared scratchpad.

    Attributes:
        cores: that share the outputs of a tile; a power of two, or one less.
        banks: of the scratchpad, a word wide.
        call: cycles of fork and barrier (GVSoC, warm); filling the kernel's argument is `_CALLS`.
        controller: which walks over the tiles.
        instruction_set: of the cores; "rv32imc" as `pulp_plain` counts it.
        waited: see `SharedCostModel`.
    """

    cores: int = 8
    banks: int = 16
    call: float = 32.0
    controller: Controller = Controller()
    instruction_set: InstructionSet = "xpulp"
    waited: bool = True

    @property
    def _shared(self) -> Workers:
        return Workers(self.cores, self.banks)

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call; `tile` has every dimension of the workload."""
        start = _CALLS.get(workload.kind, _CALL)
        return np.asarray(self.call + start + self._kernel(workload, _filled(tile)))

    def call_bounds(self, workload: Workload, tile: Tile) -> tuple[Array, ...]:
        """The controller waits for each call; of that, it needs to start it."""
        start = np.asarray(_CALLS.get(workload.kind, _CALL))
        return self.kernel_cycles(workload, tile), start

    def free_cycles(self, workload: Workload, tile: Tile) -> float:
        """The kernel, once it was started; of a recurrent layer the last step's."""
        steps = workload.sizes["OY"] if workload.kind in RECURRENT else 1
        return self.unit_cycles(workload, tile) / steps

    def unit_cycles(self, workload: Workload, tile: Tile) -> float:
        """The kernel, from its start on."""
        cycles, start = self.call_bounds(workload, tile)
        return float(cycles) - float(start)

    def kernel_energy(self, workload: Workload, tile: Tile) -> Array:
        """All cores for as long as the kernel works, and the controller's walk and start."""
        if self.charges is None:
            return super().kernel_energy(workload, tile)
        start = _CALLS.get(workload.kind, _CALL)
        cycles = self.kernel_cycles(workload, tile) - start
        walked = start + self.controller.visit + self.controller.wait
        return np.asarray(cycles * self.charges.unit + walked * self.charges.core)

    def layer_bounds(self, calls: Array) -> tuple[Array, ...]:
        """Its walk; the one to the first tile counts with the first loads (`combine`)."""
        enter, visit = self.controller.walk(calls)
        walked = enter + (calls - 1) * visit - np.where(calls > 1, 0.0, self.controller.first)
        return walked, np.zeros_like(walked)

    def held_cycles(self, workload: Workload, block: Block) -> Array:
        """It starts each transfer, and notices its end."""
        moved = self.as_stored(workload, block)
        held = self.start_cycles(moved) + self.controller.wait
        return np.asarray(np.where(moved.nbytes > 0, held, 0.0))

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """A lower bound: the controller's time after the first loads, or the engine's."""
        loads = np.maximum(exposed[0], 0.0)
        return self.controller.least(compute + self.start, moves[0], loads, self.begun)

    def as_stored(self, workload: Workload, block: Block) -> Block:
        """Weights beside 16-bit inputs, or of half precision: two bytes each, whole words a row."""
        short = short_float(workload) is not None
        if block.operand.name != "weight" or not (short or is_half(workload)):
            return block
        stored = short_float_bytes if short else half_bytes
        return replace(block, nbytes=stored(block.operand, block.nbytes))

    def access_rate(self, workload: Workload) -> float:
        """Accesses to the scratchpad that each core makes a cycle, in a layer's kernel."""
        tile = _filled({dim: np.asarray(size) for dim, size in workload.dims})
        return access_rate(workload, float(self._kernel(workload, tile)), self.instruction_set)

    def call_price(self, workload: Workload, ranges: Ranges) -> tuple[Jobs, ...]:
        """One job, which the controller starts."""
        tile = {dim: np.asarray(length) for dim, (_, length) in ranges.items()}
        return (Jobs(0.0, float(self.kernel_cycles(workload, tile))),)

    def sequence_cycles(self, workload: Workload, calls: Sequence[Call | Repeat]) -> float:
        """Call after call."""
        del workload
        return BlockingWalk(self.controller).cycles(calls)

    def _kernel(self, workload: Workload, t: Tile) -> Array:
        if self.instruction_set == "rv32imc":
            return plain_cycles(workload, t, self.cores)
        if short_float(workload) is not None:
            return short_float_cycles(self._shared, workload, t, _mean_inside(workload))
        if workload.real is not None and workload.kind not in RECURRENT:
            seen = (1.0, 1.0)
            if workload.window is not None:
                # The busiest core is one whose rows lie inside.
                rows, columns = (inside(workload, axis) for axis in (0, 1))
                seen = float(max(rows)), float(np.mean(columns))
            return real_cycles(self._shared, workload, t, seen)
        if is_half(workload):
            return half_cycles(self._shared, workload, t, _mean_inside(workload))
        if workload.depthwise:
            return strip_cycles(self._shared, workload, t)
        if workload.kind == "conv2d":
            return self._conv2d(workload, t)
        if workload.kind == "dense":
            return self._dense(workload, t)
        if workload.kind in ("max_pool2d", "avg_pool2d"):
            return self._pool(workload, t)
        return element_cycles(self._shared, workload, t)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What tiles should be multiples of: the register block, and a row for every core."""
        d = workload.sizes
        if workload.kind in ("conv2d", "dense"):
            channel = "G" if workload.depthwise else "K"
            return (Loop(channel, min(4, d[channel])),)
        if workload.kind in ("max_pool2d", "avg_pool2d"):
            return (Loop("G", min(4, d["G"])),)
        return ()

    def _conv2d(self, workload: Workload, t: Tile) -> Array:
        """Gather two windows, then blocks of 2 x 4 sums."""
        d = workload.sizes
        taps = d["FY"] * d["FX"] * d["C"]
        words = -(-taps // 4)
        direct = is_direct(workload)
        pixels = t["B"] * t["OY"] * t["OX"]
        units, blocks = self._shared.divided(
            up(pixels, 2),
            up(t["K"], 4),
            np.asarray(16 if direct else 6 * words + 64),
            np.asarray(14 * words + 80),
        )
        mine = np.minimum(2 * units, pixels)
        channels = np.minimum(4 * blocks, t["K"])
        fours, ones = channels // 4, channels % 4
        both, single = (
            fours * self._block(words, p, 4, workload) + ones * self._block(words, p, 1, workload)
            for p in (2, 1)
        )
        gather = np.asarray(0.0) if direct else gathered(self._shared, workload, t, units)
        place = 3 * DIVISION + 10
        return np.asarray(
            ENTER_BY["conv2d"]
            + DIVIDE
            + place
            + units * (100 + gather)
            + mine // 2 * both
            + mine % 2 * single
        )

    def _block(self, words: int, pixels: int, channels: int, workload: Workload) -> float:
        """Sums of `pixels` windows with `channels` rows of weights, and their storing.

        A step of four inputs is one load per window and row of weights and a dot product per sum;
        before it addresses, zeros and the loop are set up (25 + channels + sums), after it every
        sum is requantised, and 5 are the loop over blocks.
        """
        sums = pixels * channels
        stall = STALL if channels == 1 else 0.0
        inner = self._shared.busy(pixels + channels + sums + stall, pixels + channels)
        wide = workload.output.dtype == "int32"
        after = (1.0 if wide else CHANNEL) * channels + finish(workload) * sums
        return 25 + channels + sums + words * inner + after + 5

    def _dense(self, workload: Workload, t: Tile) -> Array:
        """Channels over cores; four rows of weights at a time with the inputs' words."""
        words, part = workload.sizes["C"] // 4, workload.sizes["C"] % 4
        wide = workload.output.dtype == "int32"
        store = finish(workload) + (0 if wide else CHANNEL)
        mine = up(t["K"], self.cores)
        cycles = np.asarray(22.0)
        for k, count in ((4, mine // 4), (1, mine % 4)):
            inner = self._shared.busy(1 + 2 * k + (STALL if k == 1 else 0), 1 + k)
            rest = 8 + 5 * part + 2 * k if part else 0
            cycles = cycles + count * (10 + 2 * k + words * inner + rest + k * store)
        return np.asarray(ENTER_BY["dense"] + PART + t["B"] * cycles)

    def _pool(self, workload: Workload, t: Tile) -> Array:
        """Four channels at a time, position by position, over a mean window."""
        d = workload.sizes
        rows, columns = (float(np.mean(inside(workload, axis))) for axis in (0, 1))
        plan, position, end, channel = self._pool_steps(workload)
        units, blocks = self._shared.divided(
            t["B"] * t["OY"] * t["OX"],
            up(t["G"], 4),
            np.asarray(64),
            np.asarray(plan * d["FY"] * d["FX"] + 64),
        )
        channels = np.minimum(4 * blocks, t["G"])
        block = 12 + end + 8 * rows + position * rows * columns
        rest = channels % 4
        work = up(channels, 4) * block + channels * channel + 4 * rest * rows * columns
        return np.asarray(ENTER_BY["pool"] + DIVIDE + units * (5 * DIVISION + 31 + work))

    def _pool_steps(self, workload: Workload) -> tuple[int, float, float, float]:
        """(kernel's own weight, cycles per position, per block, per channel at the end)."""
        tail = workload.tail
        if workload.kind == "max_pool2d":
            return 3, self._shared.busy(2 + STALL, 1), 4.0, 0.0
        sum_ = self._shared.busy(5 + STALL, 1)
        if workload.fixed_point or tail is None:
            return 6, sum_, 8.0, finish(workload) + 4
        if tail.rounding == "half_away":
            return 6, sum_, 8.0, 14 + DIVISION
        if whole_image(workload):
            return 6, sum_, 8.0, FLOAT_DIVISION + 8 * FLOAT + 8
        real = 4 * (8 + STALL + 3 * FLOAT)
        return 48, real, 8.0, 2 * FLOAT_DIVISION + 8 * FLOAT + 8


def _filled(tile: Tile) -> dict[str, Array]:
    """The tile with all loop dimensions, 1 where it has none."""
    one = np.asarray(1)
    return {d: tile.get(d, one) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}


def _mean_inside(workload: Workload) -> tuple[float, float]:
    """Filter rows, and columns, of a window that lie in the image, on average."""
    if workload.window is None:
        return 1.0, 1.0
    down, across = (float(np.mean(inside(workload, axis))) for axis in (0, 1))
    return down, across
