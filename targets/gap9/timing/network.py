"""What things take on GAP9, as `ScratchpadSimulator` asks: NE16, cluster, DMA, controller.

Simulated: NE16's and the DMA's cycles are fitted to measurements (`timing/ne16.py`,
`timing/dma.py`), the cluster's are counted from its kernels (`timing/cluster.py`). What the
controller itself takes around them is assumed, and says so. No layer of a network was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from match_aie.hardware import Region, Visit
from match_aie.simulation import Jobs, KernelTime, TransferTime
from match_aie.targets.gap9.ne16.job import Ne16Tile
from match_aie.targets.gap9.ne16.layer import ne16_layer
from match_aie.targets.gap9.timing.cluster import call_cycles
from match_aie.targets.gap9.timing.dma import Transfer, engine_cycles, program_cycles
from match_aie.targets.gap9.timing.ne16 import tile_turns
from match_aie.workload import Operand, Workload

#: Jobs that NE16 holds, the running one included.
QUEUE = 2


@dataclass(frozen=True)
class Gap9Timing:
    """Cycles of the cluster's clock; the control core runs at the same.

    Attributes:
        frequency_hz: of all clocks.
        offload: control core to controller and back: an event each way and a task queue.
            ASSUMPTION, 500 cycles; the SDK's task dispatch is not published with a figure.
        enter: opening L1 and reading the layer's table. ASSUMPTION, 100.
        visit: `ma_run_tiles` around one kernel call: regions of up to six operands.
            ASSUMPTION, 250: about as many instructions of straight-line code.
        wait: a wait for a transfer that is over. ASSUMPTION, 10.
        dma_channels: one transfer moves at a time: the port to L2 has 8 bytes a cycle.
    """

    frequency_hz: float
    offload: float = 500.0
    enter: float = 100.0
    visit: float = 250.0
    wait: float = 10.0
    dma_channels: int = 1

    def kernel(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """Jobs of NE16, queued; or one call of a cluster kernel, waited for."""
        if module == "ne16":
            return KernelTime("NE16", self._jobs(workload, visit), QUEUE)
        start, cycles = call_cycles(workload, visit.ranges)
        return KernelTime("cluster", (Jobs(start, cycles),))

    def _jobs(self, workload: Workload, visit: Visit) -> tuple[Jobs, ...]:
        layer = ne16_layer(workload)
        batch = visit.ranges["B"][1] if "B" in visit.ranges else 1
        if workload.kind == "dense":
            tile = _dense_tile(workload, visit)
        else:
            tile = _image_tile(workload, visit)
            batch = visit.ranges["B"][1]
        turns = tile_turns(layer, tile)
        return tuple(Jobs(turn.program, turn.run) for turn in turns) * batch

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


def _image_tile(workload: Workload, visit: Visit) -> Ne16Tile:
    """The tile of a convolution that one visit makes."""
    _, out, in_ = workload, workload.output, workload.operand("x")
    (_, rows, columns, outputs), _ = touched(out, visit)
    (_, in_rows, in_columns, inputs), before = touched(in_, visit)
    return Ne16Tile(rows, columns, outputs, in_rows, in_columns, inputs, before[1], before[2])


def _dense_tile(workload: Workload, visit: Visit) -> Ne16Tile:
    """A row of a dense layer: a 1x1 convolution of one pixel."""
    outputs = visit.ranges["K"][1]
    return Ne16Tile(1, 1, outputs, 1, 1, workload.sizes["C"])


def touched(operand: Operand, visit: Visit) -> tuple[list[int], list[int]]:
    """(elements along every axis, positions before them in the padding) that a visit touches."""
    extents, before = [], []
    for axis, size in zip(operand.axes, operand.shape, strict=True):
        first = axis.offset + sum(c * visit.ranges[dim][0] for dim, c in axis.terms)
        last = axis.offset + sum(c * (sum(visit.ranges[dim]) - 1) for dim, c in axis.terms)
        before.append(max(0, -first))
        extents.append(max(0, min(last, size - 1) - max(first, 0) + 1) if axis.terms else size)
    return extents, before
