"""A recurrent layer's inputs multiplied while its state's weights come from a farther cache.

A step of one sequence reads every weight of the state once, which takes a second cache longer than
multiplying them. The multiply-adds that are left in that time do a part of the inputs' product of
the steps that come next: register tiles of that product are cut into slices along their reduction,
and each goes along with one panel of the state's. Sums stay in the order they always had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.targets.cpu.float_tile import MANY, MOST_ROWS, Tile, padded, panels
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: Registers that stay free beside all sums and factors: compilers load early (gcc 12 had none to
#: spare for tiles that leave one, seen).
SPARE = 4
#: Steps of the state's reduction beside one of the inputs': more only lengthen the code.
MOST_BESIDE = 8
FLOAT = 4


@dataclass(frozen=True)
class Ahead:
    """How the inputs' product goes along with the state's.

    Attributes:
        tile: of the inputs' product: as many rows as a block has time steps.
        columns: of the inputs' product that slices cover: whole panels; the rest goes before.
        length: steps of the inputs' reduction in a slice, the last one of a tile may have fewer.
        slices: of a tile.
        beside: steps of the state's reduction beside one of the inputs'.
    """

    tile: Tile
    columns: int
    length: int
    slices: int
    beside: int

    @property
    def rows(self) -> int:
        """Time steps of a block."""
        return self.tile.mr

    @property
    def calls(self) -> int:
        """Slices of all tiles of a block."""
        return self.columns // self.tile.width * self.slices

    @property
    def kept(self) -> int:
        """Sums of a tile, which wait between slices."""
        return self.tile.mr * self.tile.width


def ahead(workload: Workload, machine: Machine, turns: Sequence[int]) -> Ahead | None:
    """The way of the fewest modelled cycles; None where nothing is to be gained.

    Args:
        workload: a GRU or LSTM.
        machine: the core. Several divide a layer, and then do without.
        turns: gates of the products with the state, of which there has to be one.
    """
    d = workload.sizes
    caches = machine.caches
    if machine.cores > 1 or d["B"] > 1 or len(turns) > 1 or len(caches) < 2:
        return None
    (gates,) = turns
    late = machine.vector_bytes / caches[1].bytes_per_cycle > 1.0 / machine.peaks.fmas
    beyond = FLOAT * gates * d["K"] ** 2 > caches[0].bytes
    if machine.vector_registers < MANY or not late or not beyond:
        return None
    tiles = (
        Tile(mr, vectors, machine.lanes)
        for mr in range(2, min(MOST_ROWS, d["OY"] // 2) + 1)
        for vectors in range(1, machine.vector_registers)
        if mr * vectors + vectors + gates + 2 + SPARE <= machine.vector_registers
    )
    ways = (way for way in (_way(workload, tile, gates) for tile in tiles) if way)
    priced = [(_cycles(workload, machine, way), way) for way in ways]
    least, best = min(priced, key=lambda pair: pair[0], default=(0.0, None))
    return best if best and least < _apart(workload, machine) else None


def _way(workload: Workload, tile: Tile, gates: int) -> Ahead | None:
    """Slices for a tile; None where a block has too few panels of the state's for all of them."""
    d = workload.sizes
    columns = sum(p.stop - p.start for p in panels(tile, d["G"] * d["K"]) if p.width == tile.width)
    columns -= columns % tile.width
    wide = columns // tile.width
    most = tile.mr * (d["K"] // tile.lanes) // max(wide, 1)
    if not wide or not most:
        return None
    even = max(1, tile.mr * tile.vectors // gates)
    beside = min(d["K"] // -(-d["C"] // most), even, MOST_BESIDE)
    if beside < 1:
        return None
    length = min(d["K"] // beside, d["C"])
    return Ahead(tile, columns, length, -(-d["C"] // length), beside)


def _cycles(workload: Workload, machine: Machine, way: Ahead) -> float:
    """Products of the first block, then the longest of reads, products and loads of both."""
    d, peaks, lanes = workload.sizes, machine.peaks, machine.lanes
    rate, tile, gates = machine.caches[1].bytes_per_cycle, way.tile, d["G"]
    state = gates * d["K"] ** 2
    inputs = padded(tile, gates * d["K"]) * d["C"]
    alone = FLOAT * state / rate
    both = FLOAT * (state + inputs / way.rows) / rate
    loads = state * (1 + gates) / gates
    loads += inputs * (tile.mr + tile.vectors) / (tile.mr * tile.vectors)
    products = max((state + inputs) / peaks.fmas, loads / peaks.loads) / lanes
    first = way.rows * inputs / lanes / peaks.fmas
    return first + (d["OY"] - way.rows) * max(both, products) + way.rows * alone


def _apart(workload: Workload, machine: Machine) -> float:
    """Products of all inputs, then reads of the state's weights for all steps."""
    d = workload.sizes
    products = d["G"] * d["K"] * d["C"] / machine.lanes / machine.peaks.fmas
    return d["OY"] * (products + FLOAT * d["G"] * d["K"] ** 2 / machine.caches[1].bytes_per_cycle)
