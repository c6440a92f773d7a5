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
    """A broadcast from a column's memory tiles: one slice to every tile that reads it.

    Attributes:
        slot: of the array.
        at: tile of the chains, west to east.
        part: of the rows (activations) or of the columns (weights).
        kind: "a" or "w".
        chains: chain indices that it reaches.
    """

    slot: int
    at: int
    part: int
    kind: str
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
        kinds = (("a", 0), ("w", 1)) if self.mapping.streamed else (("a", 0),)
        for slot in range(self.slots):
            for kind, which in kinds:
                parts: dict[int, list[int]] = {}
                for chain in self.members(slot):
                    parts.setdefault(self.mapping.chain(chain)[which], []).append(chain)
                for at in range(self.mapping.cas_length):
                    found += [
                        Net(slot, at, part, kind, tuple(chains)) for part, chains in parts.items()
                    ]
        return tuple(found)

    @property
    def distinct_a(self) -> int:
        """Most parts of the rows, hence slices of activations, that one column needs."""
        return self._distinct[0]

    @property
    def distinct_w(self) -> int:
        """Most parts of the columns, hence slices of weights."""
        return self._distinct[1]

    @cached_property
    def _distinct(self) -> tuple[int, int, int, int]:
        m = self.mapping
        return _distinct(m.row_parts, m.column_parts, m.order, self.device.core_rows)

    @property
    def lanes_up(self) -> int:
        """Streams from a memory tile into the cores' rows above it."""
        return self.device.architecture.switch_ports["mem_tile", "master", "N"]

    @cached_property
    def lane_split(self) -> tuple[int, int]:
        """Lanes of a column for activations and for weights.

        The two never share one: a core waiting for one of them would block the other. Where there
        are too few, slices of a kind take turns on a lane, in the same order in all columns.
        """
        mapping = self.mapping
        a = self.distinct_a * mapping.input_channels
        w = self.distinct_w if mapping.streamed else 0
        if a + w <= self.lanes_up:
            return a, w
        if not w:
            return self.lanes_up, 0
        a_time = mapping.input_sends() * mapping.input_bytes
        w_time = mapping.weight_sends() * mapping.weight_bytes

        def slowest(lanes: int) -> float:
            return max(a_time * -(-a // (self.lanes_up - lanes)), w_time * -(-w // lanes))

        split = min(range(1, self.lanes_up), key=slowest)
        return min(a, self.lanes_up - split), min(w, split)

    @cached_property
    def shares(self) -> tuple[int, int]:
        """Most slices of activations, and of weights, that take turns on one lane."""
        a, w = self.lane_split
        need = self.distinct_a * self.mapping.input_channels
        return -(-need // a), -(-self.distinct_w // w) if w else 1

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
