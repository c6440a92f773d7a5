"""Which chain sits where, and what a column's streams must carry.

Chains fill the array slot by slot: a slot is `cas_length` columns wide, and as many chains stand
above each other in it as there are rows of cores. Everything that a column needs comes up from its
own memory tiles, and results go down into those of the slot: streams never travel far sideways.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import Device


@dataclass(frozen=True)
class Net:
    """A broadcast of activations from a column's memory tiles to every tile that reads them.

    Attributes:
        slot: of the array.
        at: tile of the chains, west to east.
        part: of the rows.
        chains: chain indices that it reaches.
    """

    slot: int
    at: int
    part: int
    chains: tuple[int, ...]


@dataclass(frozen=True)
class Floor:
    """Where the chains of a mapping sit on a device."""

    mapping: ArrayMapping
    device: Device

    @property
    def slots(self) -> int:
        """Slots that are in use."""
        return -(-self.mapping.chains // self.device.core_rows)

    def place(self, chain: int, at: int) -> tuple[int, int]:
        """(column, row of cores) of tile `at` of `chain`; row 0 is next to the memory tiles."""
        slot, row = divmod(chain, self.device.core_rows)
        return slot * self.mapping.cas_length + at, row

    def members(self, slot: int) -> range:
        """Chains in `slot`."""
        rows = self.device.core_rows
        return range(slot * rows, min((slot + 1) * rows, self.mapping.chains))

    @cached_property
    def nets(self) -> tuple[Net, ...]:
        """All broadcasts, by slot, tile and part."""
        found = []
        for slot in range(self.slots):
            parts: dict[int, list[int]] = {}
            for chain in self.members(slot):
                parts.setdefault(self.mapping.chain(chain)[0], []).append(chain)
            for at in range(self.mapping.cas_length):
                found += [Net(slot, at, part, tuple(chains)) for part, chains in parts.items()]
        return tuple(found)

    @property
    def distinct_a(self) -> int:
        """Most parts of the rows, hence slices of activations, that one column needs."""
        return self._distinct[0]

    @property
    def distinct_w(self) -> int:
        """Most parts of the columns, hence slices of weights; 0 where these stay."""
        return self._distinct[1] if self.mapping.streamed else 0

    @cached_property
    def _distinct(self) -> tuple[int, int, int, int]:
        m = self.mapping
        return _distinct(m.row_parts, m.column_parts, m.order, self.device.core_rows)

    @property
    def lanes_up(self) -> int:
        """Streams from a memory tile into the cores' rows above it: no two slices share one."""
        return self.device.architecture.switch_ports["mem_tile", "master", "N"]

    @property
    def lanes_down(self) -> int:
        """Streams that results of a slot can take: down in its last column or the one before."""
        ports = self.device.architecture.switch_ports["core_tile", "master", "S"]
        return ports * min(self.mapping.cas_length, 2)

    @property
    def copies(self) -> tuple[int, int]:
        """Slices of activations and of weights that all columns together are sent."""
        _, _, a, w = self._distinct
        length = self.mapping.cas_length
        return a * length, w * length if self.mapping.streamed else 0


@lru_cache(maxsize=65536)
def _distinct(
    row_parts: int, column_parts: int, order: str, rows: int
) -> tuple[int, int, int, int]:
    """Parts of the rows and of the columns in a slot: most of each, then their sums over slots."""
    found = []
    chains = row_parts * column_parts
    for first in range(0, chains, rows):
        members = range(first, min(first + rows, chains))
        inner = column_parts if order == "m" else row_parts
        outer = len({chain // inner for chain in members})
        within = len({chain % inner for chain in members})
        found.append((outer, within) if order == "m" else (within, outer))
    a, w = [each[0] for each in found], [each[1] for each in found]
    return max(a), max(w), sum(a), sum(w)
