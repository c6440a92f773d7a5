"""A systolic array of 16x16 behind two scratchpads, beside a core. All figures are ASSUMED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil, prod

import numpy as np

from match_aie import hardware as hw
from match_aie.cost_models.walked import WalkedTransfers
from match_aie.simulation import Jobs, KernelTime, ScratchpadSimulator, TransferTime
from match_aie.targets.cpu import CPUModule
from match_aie.workload import Workload

#: Rows (input channels) and columns (output channels) of the array.
SIDE = 16
#: Bytes a cycle of the DMA, and its cycles to start a transfer.
DMA_BYTES, DMA_START = 16.0, 20.0
#: A memory in which every tile is there twice: the next one moves while one is worked on.
scratchpad = partial(hw.Memory, bytes_per_cycle=32.0, double_buffered=None, alignment=SIDE)


def refuses(workload: Workload) -> str | None:
    """Why the array cannot run a layer."""
    tensors = (*workload.data, workload.output)
    wide = [o for o in workload.operands if o.dtype not in ("int8", "uint8")]
    if any(o.name not in ("bias", "scale") for o in wide):
        return f"the array multiplies 8-bit integers, and {wide[0].name} is {wide[0].dtype}"
    if workload.sizes["G"] > 1 and (workload.sizes["K"], workload.sizes["C"]) != (1, 1):
        return "the array has no groups but depthwise layers of one output an input"
    if {len(o.shape) for o in tensors} not in ({2}, {4}):
        return "the array takes images and rows"
    if workload.kind == "add" and len({o.shape for o in tensors}) > 1:
        return "the array adds tensors of one shape"
    return None


class Cost(WalkedTransfers):
    """Weights are loaded into the array, then pixels stream through, one a cycle."""

    layer, visit, start, program, wait = 50.0, 20.0, 20.0, 10.0, 4.0  # of the controller

    def kernel_cycles(self, workload: Workload, tile: hw.Tile) -> hw.Array:
        """The array's rows, then all pixels: for every filter tap of every block of channels."""
        pixels = prod(tile.get(dim, 1) for dim in ("B", "OY", "OX"))
        if workload.kind == "add":
            return np.asarray(self.start + 2 * pixels * -(-tile["K"] // SIDE))
        across = ("G",) if workload.depthwise else ("K", "C")
        blocks = prod(-(-tile[dim] // SIDE) for dim in across)
        taps = prod(tile.get(dim, 1) for dim in ("FY", "FX"))
        return np.asarray(self.start + blocks * taps * (SIDE + pixels))


class SystolicArray(hw.ExecModule):
    """Convolutions, dense layers and sums in the model's own arithmetic."""

    name = "array"
    memories = (
        scratchpad("activations", 65536, operands=("x", "x1", "y", "sums")),
        scratchpad("weights", 32768, operands=("weight", "bias", "scale")),
        hw.Memory("DRAM", None, DMA_BYTES, transfer_cycles=DMA_START),
    )

    def patterns(self) -> Sequence[hw.Pattern]:
        """What the array runs; `refuses` says the rest."""
        return (
            *hw.weighted("conv2d", "conv2d", "nn.conv2d", refuses),
            *hw.weighted("dense", "dense", "matmul", refuses),
            *hw.binary("add", "add", "add", refuses),
        )

    def spatial(self, workload: Workload) -> Sequence[hw.Loop]:
        """Output channels across, input channels down; of depthwise layers the diagonal."""
        dims = {"add": ("K",)}.get(workload.kind, ("G",) if workload.depthwise else ("K", "C"))
        return [hw.Loop(dim, min(SIDE, workload.sizes[dim])) for dim in dims]

    def cost_model(self, workload: Workload) -> Cost:
        """One for all layers."""
        return Cost()

    def template(self, workload: Workload) -> str:
        """One for all layers."""
        return "systolic:templates/array.c.mako"

    def layouts(self, workload: Workload) -> Mapping[str, hw.Blocked]:
        """Weights as the array takes them: a row of outputs for every input of a block."""
        if workload.depthwise:
            return {"weight": hw.Blocked("G FY FX g", G=SIDE)}
        order = "K C FY FX c k" if workload.kind == "conv2d" else "K C c k"
        return {} if workload.kind == "add" else {"weight": hw.Blocked(order, K=SIDE, C=SIDE)}

    def tiled_reductions(self, workload: Workload) -> tuple[str, ...]:
        """Input channels may be summed part by part, into `sums` of the activation memory."""
        return () if workload.depthwise or workload.kind == "add" else ("C",)

    def constrain(self, workload: Workload, tile: hw.Tile) -> hw.Array:
        """A job is one image."""
        return np.asarray((tile["B"] == 1) | (len(workload.output.shape) == 2))


class Timing:
    """What `ScratchpadSimulator` asks: cycles of the only clock."""

    frequency_hz, offload, wait, dma_channels = 500e6, 0.0, 4.0, 1

    def walk(self, tiles: hw.TileProgram) -> tuple[float, float]:
        """Of the controller before a layer, and around each call."""
        return 50.0, 20.0

    def kernel(self, module: str, workload: Workload, visit: hw.Visit) -> KernelTime:
        """Job after job: a block of weights each, which pixels pass; the controller waits."""
        size = {**dict.fromkeys(workload.sizes, 1), **{d: n for d, (_, n) in visit.ranges.items()}}
        pixels = size["B"] * size["OY"] * size["OX"]
        if workload.kind == "add":
            return KernelTime("array", (Jobs(20.0, 2.0 * pixels * ceil(size["K"] / SIDE)),))
        jobs = ceil(size["G"] * size["K"] / SIDE) * ceil(size["C"] / SIDE) * size["FY"] * size["FX"]
        return KernelTime("array", (Jobs(20.0, float(SIDE + pixels) * jobs),))

    def transfer(self, region: hw.Region, *, store: bool) -> TransferTime:
        """Piece by piece, each a whole number of words."""
        nbytes, counts = region.lines
        return TransferTime(10.0, DMA_START + prod(counts) * ceil(nbytes / DMA_BYTES))

    def fetch(self, nbytes: int) -> TransferTime:
        """Nothing lies behind DRAM."""
        return TransferTime(0.0, 0.0)


class Systolic(hw.MatchTarget):
    """A systolic array of 16x16 behind two scratchpads, beside a core."""

    name = "Systolic"

    def modules(self) -> Sequence[hw.ExecModule]:
        """The array, then the core with the portable layers of the CPU target."""
        return SystolicArray(), CPUModule()

    def runtime(self) -> hw.Runtime:
        """The walk over tiles, the array's header, and emulations of both."""
        files = hw.runtime_files("match_aie.targets.common", hw.SCRATCHPAD_FILES)
        own = ("include/systolic.h", "emulation/ma_chip.h", "emulation/systolic.c")
        files |= hw.runtime_files("systolic", own)
        return hw.Runtime(files, ("systolic.h",), entry="ma_network")

    def simulator(self) -> hw.NetworkSimulator:
        """The tiles that emitted code moves, in the cycles of `Timing`."""
        return ScratchpadSimulator(Timing())
