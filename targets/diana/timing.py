"""What things take on DIANA, as `ScratchpadSimulator` asks.

Simulated: the array's loops are walked row by row of the tile, the DMA chunk by chunk. Nothing was
measured; constants are those of `facts.py`, and what the controller takes is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from match_aie.hardware import Region, TileProgram, Visit, is_listed
from match_aie.simulation import Jobs, KernelTime, TransferTime
from match_aie.targets.diana.facts import FACTS
from match_aie.workload import Workload

#: Of a block of outputs, beside its products: cycles to fetch the inputs of a filter row, and to
#: requantise and store (MATCH's sources).
FETCH, STORE = 2, 23


@dataclass(frozen=True)
class DianaTiming:
    """Cycles of the only clock.

    Attributes:
        frequency_hz: of that clock.
        offload: none, the control core itself walks the tiles.
        one_tile: the walk over a layer of one tile: 160 instructions at most.
        few: over a layer of up to 32 tiles: 94 instructions, and 70 a tile.
        many: over a layer of more: 680 a tile. All counted on an emulated rv32imc core (GCC 12,
            -O2; `benchmarks/diana_walk.py`). A cycle an instruction is an ASSUMPTION.
        wait: a wait for a transfer: over at once, as the DMA blocked. ASSUMPTION, 10.
        dma_channels: one.
        program: of the controller, to start the array. ASSUMPTION, 100.
        conversion: of the analog array, for one input vector, as the user says it.
    """

    frequency_hz: float
    offload: float = 0.0
    one_tile: float = 160.0
    few: tuple[float, float] = (94.0, 70.0)
    many: tuple[float, float] = (0.0, 680.0)
    wait: float = 10.0
    dma_channels: int = 1
    program: float = 100.0
    conversion: float = 0.0

    def walk(self, tiles: TileProgram) -> tuple[float, float]:
        """By the form that the layer's tiles have in C."""
        if not tiles.loops:
            return self.one_tile, 0.0
        return self.few if is_listed(tiles) else self.many

    def kernel(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """The array on one tile; the controller waits for its end."""
        if module == "analog":
            sizes = [visit.ranges[dim][1] for dim in ("B", "OY", "OX") if dim in visit.ranges]
            return KernelTime(module, (Jobs(self.program, prod(sizes) * self.conversion),))
        return KernelTime("digital", (Jobs(self.program, array_cycles(workload, visit)),))

    def transfer(self, region: Region, *, store: bool) -> TransferTime:
        """70 cycles for every contiguous piece, and its bytes; the controller does nothing else."""
        del store
        nbytes, counts = region.lines
        pieces = prod(counts)
        each = FACTS.chunk_cycles + ceil(nbytes / FACTS.dma_rate)
        return TransferTime(pieces * each, 0.0)

    def fetch(self, nbytes: int) -> TransferTime:
        """Constants from outside L2. No figure is published: ASSUMPTION, a byte a cycle."""
        return TransferTime(200.0, float(nbytes))


def array_cycles(workload: Workload, visit: Visit) -> float:
    """Cycles of the array on one tile: a block of 16 channels by 16 columns after the other."""
    lanes = FACTS.lanes
    length = {dim: size for dim, (_, size) in visit.ranges.items()}
    if workload.kind == "add":
        blocks = -(-prod(length.values()) // (lanes * lanes))
        return float(blocks * (len(workload.data) * (1 + FETCH) + STORE))
    images = length["B"] * length.get("G", 1)
    across = -(-length["K"] // lanes)
    if workload.kind == "dense":
        return float(images * across * (length["C"] * (1 + FETCH) + STORE))
    across *= -(-length["OX"] // lanes)
    window = workload.window
    assert window is not None
    rows = workload.operand("x").shape[1]
    total = 0
    first, count = visit.ranges["OY"]
    for row in range(first, first + count):
        top = row * window.stride[0] - window.padding[0]
        inside = min(top + length["FY"], rows) - max(top, 0)
        total += length["C"] * max(0, inside) * (length["FX"] + FETCH) + STORE
    return float(images * across * total)
