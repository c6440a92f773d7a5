"""${name}: a vector unit behind a scratchpad, a DMA that works while it does, and a core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod

import numpy as np

from match_aie import hardware as hw
from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.simulation import Jobs, KernelTime, ScratchpadSimulator, TransferTime
from match_aie.workload import Workload

#: ASSUMPTION, as all numbers here: products a cycle. Put in your chip's, each with its source.
LANES = 16
#: Cycles of a kernel call beside its products, and of one output beside its own.
CALL, OUTPUT = 60.0, 4.0
#: Bytes a cycle of the DMA, and its cycles to start a transfer.
DMA_BYTES, DMA_START = 8.0, 20.0


def refuses(workload: Workload) -> str | None:
    """Why the vector unit cannot run a layer, in a sentence for users; None where it can."""
    for operand in (workload.operand(name) for name in ("x", "weight", "y")):
        if operand.dtype not in ("int8", "uint8"):
            return f"it multiplies 8-bit integers, and {operand.name} is {operand.dtype}"
    if workload.sizes["G"] > 1:
        return "it has no groups"
    return None


class Cost(MemoryTransfers):
    """Sums of products, ${"`"}LANES${"`"} at a time; transfers as the memories say, hidden behind kernels."""

    def kernel_cycles(self, workload: Workload, tile: hw.Tile) -> hw.Array:
        """Of one call; an array for every dimension of the tiles that are tried."""
        outputs = prod(tile.get(dim, 1) for dim in ("B", "K", "OY", "OX"))
        taps = prod(tile.get(dim, 1) for dim in ("FY", "FX"))
        return np.asarray(CALL + outputs * (OUTPUT + taps * -(-tile["C"] // LANES)))


class VectorUnit(hw.ExecModule):
    """Convolutions and dense layers."""

    name = "vector_unit"

    def __init__(self, scratchpad: int) -> None:
        """Memories stand innermost first; every tile is there twice."""
        self.memories = (
            hw.Memory("scratchpad", scratchpad, 32.0, double_buffered=None, alignment=16),
            hw.Memory("DRAM", None, DMA_BYTES, transfer_cycles=DMA_START),
        )

    def patterns(self) -> Sequence[hw.Pattern]:
        """What it can run; ${"`"}refuses${"`"} says the rest."""
        return (
            *hw.weighted("conv2d", "conv2d", "nn.conv2d", refuses),
            *hw.weighted("dense", "dense", "matmul", refuses),
        )

    def spatial(self, workload: Workload) -> Sequence[hw.Loop]:
        """What it does at once."""
        return [hw.Loop("C", min(LANES, workload.sizes["C"]))]

    def cost_model(self, workload: Workload) -> Cost:
        """One for all layers."""
        return Cost()

    def template(self, workload: Workload) -> str:
        """The C of a layer, in this package."""
        return "${package}:templates/layer.c.mako"


class Timing:
    """What the simulator asks; it may share no number with ${"`"}Cost${"`"} that the chip does not have."""

    frequency_hz, offload, wait, dma_channels = 400e6, 0.0, 4.0, 1

    def walk(self, tiles: hw.TileProgram) -> tuple[float, float]:
        """Cycles of the controller before a layer, and around each call."""
        return 40.0, 20.0

    def kernel(self, module: str, workload: Workload, visit: hw.Visit) -> KernelTime:
        """A call on the tile of a visit; the controller waits for it."""
        size = {**dict.fromkeys(workload.sizes, 1), **{d: n for d, (_, n) in visit.ranges.items()}}
        outputs = prod(size.get(dim, 1) for dim in ("B", "K", "OY", "OX"))
        taps = prod(size.get(dim, 1) for dim in ("FY", "FX"))
        return KernelTime("vectors", (Jobs(20.0, outputs * (4.0 + taps * ceil(size["C"] / 16))),))

    def transfer(self, region: hw.Region, *, store: bool) -> TransferTime:
        """Cycles of the controller to start a transfer, and of the DMA, piece by piece."""
        nbytes, counts = region.lines
        return TransferTime(10.0, DMA_START + prod(counts) * ceil(nbytes / DMA_BYTES))

    def fetch(self, nbytes: int) -> TransferTime:
        """Nothing lies behind DRAM."""
        return TransferTime(0.0, 0.0)


class ${cls}(hw.MatchTarget):
    """A vector unit behind a scratchpad, beside a core."""

    name = "${name}"

    def __init__(self, scratchpad: int = 64 * 1024) -> None:
        """${"`"}scratchpad${"`"} in bytes: a small one tries tiles that a large one never has."""
        self._scratchpad = scratchpad

    def modules(self) -> Sequence[hw.ExecModule]:
        """The vector unit; what it refuses becomes C for the core."""
        return [VectorUnit(self._scratchpad)]

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        return {"scratchpad": self._scratchpad}

    def build_profile(self) -> hw.BuildProfile:
        """The emulation's scratchpad is as large as the chip's."""
        return hw.BuildProfile(flags=("-O2", f"-DMA_L1_BYTES={self._scratchpad}"))

    def runtime(self) -> hw.Runtime:
        """The walk over tiles, and an emulation of scratchpad and DMA."""
        files = hw.runtime_files("match_aie.targets.common", hw.SCRATCHPAD_FILES)
        files |= hw.runtime_files("${package}", ("emulation/ma_chip.h",))
        return hw.Runtime(files, ("ma_walk.h",), entry="ma_network")

    def simulator(self) -> hw.NetworkSimulator:
        """The tiles that emitted code moves, in the cycles of ${"`"}Timing${"`"}."""
        return ScratchpadSimulator(Timing())
