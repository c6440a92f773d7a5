"""What things take on GAP9, as `ScratchpadSimulator` asks: NE16, cluster, DMA, controller.

Simulated: NE16's and the DMA's cycles are fitted to measurements (`timing/ne16.py`,
`timing/dma.py`), the cluster's are counted from its kernels (`timing/cluster.py`). What the
controller itself takes around them is assumed, and says so. No layer of a network was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from match_aie.hardware import Region, TileProgram, Visit
from match_aie.hardware.tables import is_listed
from match_aie.simulation import Jobs, KernelTime, TransferTime
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tiles
from match_aie.targets.gap9.timing.cluster import call_cycles
from match_aie.targets.gap9.timing.dma import Transfer, engine_cycles, program_cycles
from match_aie.targets.gap9.timing.ne16 import tile_turns
from match_aie.workload import Workload

#: Jobs that NE16 holds, the running one included.
QUEUE = 2


@dataclass(frozen=True)
class Gap9Timing:
    """Cycles of the cluster's clock; the control core runs at the same.

    Attributes:
        frequency_hz: of all clocks.
        offload: control core to controller and back: an event each way and a task queue.
            ASSUMPTION, 500 cycles; the SDK's task dispatch is not published with a figure.
        one_tile: all of `ma_run_table` in a layer of one tile: 210 instructions, the most of any
            layer.
        few: `ma_run_table` in a layer of several tiles: 80 instructions before the first tile and
            after the last one, 95 around each kernel call.
        many: the same of `ma_run_tiles`, in a layer of more than 32 tiles: 1750 and 660. All are
            counted on an emulated rv32imc core (GCC 12, -O2) in the layers of two networks, each
            for itself too and with little L1, the last two fitted to them
            (`benchmarks/gap9_walk.py`), and rounded; that an instruction is a cycle is an
            ASSUMPTION.
        wait: a wait for a transfer that is over. ASSUMPTION, 10.
        dma_channels: one transfer moves at a time: the port to L2 has 8 bytes a cycle.
    """

    frequency_hz: float
    offload: float = 500.0
    one_tile: float = 210.0
    few: tuple[float, float] = (80.0, 95.0)
    many: tuple[float, float] = (1750.0, 660.0)
    wait: float = 10.0
    dma_channels: int = 1

    def walk(self, tiles: TileProgram) -> tuple[float, float]:
        """By the form that the layer's tiles have in C."""
        if not tiles.loops:
            return self.one_tile, 0.0
        return self.few if is_listed(tiles) else self.many

    def kernel(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """Jobs of NE16, queued; or one call of a cluster kernel, waited for."""
        if module == "ne16":
            return KernelTime("NE16", self._jobs(workload, visit), QUEUE)
        start, cycles = call_cycles(workload, visit.ranges)
        return KernelTime("cluster", (Jobs(start, cycles),))

    def _jobs(self, workload: Workload, visit: Visit) -> tuple[Jobs, ...]:
        images = 1 if workload.kind == "dense" else visit.ranges["B"][1]
        layer, parts = ne16_layer(workload), ne16_tiles(workload, visit.ranges)
        turns = [turn for part in parts for turn in tile_turns(layer, part)]
        return tuple(Jobs(turn.program, turn.run) for turn in turns) * images

    def transfer(self, region: Region, *, store: bool) -> TransferTime:
        """A block through MCHAN: a command for every plane."""
        nbytes, counts = region.lines
        lines = counts[0] if counts else 1
        block = Transfer("store" if store else "load", nbytes, lines, prod(counts[1:]))
        return TransferTime(program_cycles(block), engine_cycles(block))

    def fetch(self, nbytes: int) -> TransferTime:
        """Constants from L3, behind the micro-DMA.

        No figure is published: ASSUMPTIONS, 200 cycles to start, and a byte a cycle.
        """
        return TransferTime(200.0, float(nbytes))
