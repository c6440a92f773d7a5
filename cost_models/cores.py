"""A layer divided over cores that share nothing but memory: the slowest part, and the hand-over.

Modelled, not measured. Every core is taken to have the caches and bandwidths that the facts state
for one, also those of a cache that cores share and of main memory: layers that stream from there
gain less than modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.errors import Infeasible
from match_aie.hardware import (
    Array,
    Block,
    Cost,
    CostModel,
    Direction,
    Mapping,
    Memory,
    Tile,
    TileCostModel,
)
from match_aie.workload import Workload

#: Cycles until a core sees what another one has written: a modified line goes from cache to cache.
#: Published measurements on server cores of one socket lie between 20 ns (a Zen 3 core complex)
#: and 60 ns (a mesh of Ice Lake), at 3 to 3.7 GHz 60 to 220 cycles; the middle.
HANDOVER = 150.0


def fork_join(cores: int) -> float:
    """Cycles to start `cores` parts of a layer and to wait for their end.

    The line with the number of the layer goes to the others at about the same time; they count
    themselves out one after the other, each taking the counter's line from the one before; and the
    first core takes it back.
    """
    return HANDOVER * (1 + (cores - 1) + 1)


def meeting(cores: int) -> float:
    """Cycles until `cores` that arrive at the same time all know it: counted in, then told."""
    return HANDOVER * cores


@dataclass(frozen=True)
class SharedLayer:
    """The price of a layer as a whole, divided.

    Attributes:
        whole: its price on one core.
        share: of it, that the slowest part takes.
        join: cycles to start and to end.
    """

    whole: CostModel
    share: float
    join: float

    def cost(self, workload: Workload, mapping: Mapping) -> Cost | Infeasible:
        """Every part of the cost by `share`, and `join`."""
        found = self.whole.cost(workload, mapping)
        if isinstance(found, Infeasible):
            return found
        parts = [(name, cycles * self.share) for name, cycles in found.parts]
        parts = parts or [("compute", found.cycles * self.share)]
        cycles = found.cycles * self.share + self.join
        return Cost(cycles, (*parts, ("cores", self.join)), found.picojoules)


@dataclass(frozen=True)
class SharedTiles:
    """The price of tiles, divided: in proportion, so that the same mapping is best as on one core.

    Attributes:
        whole: their price on one core.
        share: of it, that the slowest part takes.
        join: cycles to start and to end.
    """

    whole: TileCostModel
    share: float
    join: float

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """By `share`."""
        return np.asarray(self.share * self.whole.kernel_cycles(workload, tile))

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """By `share`."""
        cycles = self.whole.transfer_cycles(workload, block, outer, inner, direction)
        return np.asarray(self.share * cycles)

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """As on one core, and `join`."""
        return np.asarray(self.whole.combine(compute, moves, exposed) + self.join)

    def kernel_energy(self, workload: Workload, tile: Tile) -> Array:
        """As on one core."""
        return self.whole.kernel_energy(workload, tile)

    def transfer_energy(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """As on one core."""
        return self.whole.transfer_energy(workload, block, outer, inner, direction)
