"""Which chain sits where, and what a column's streams must carry.

Chains fill the array slot by slot: a slot is `cas_length` columns wide, and as many chains stand
above each other in it as there are rows of cores. Everything that a column needs comes up from its
own memory tiles, and results go down into those of the slot: streams never travel far sideways.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    def distinct(self, kind: str) -> int:
        """Most slices of `kind` that one column needs."""
        most = 0
        which = 0 if kind == "a" else 1
        for slot in range(self.slots):
            parts = {self.mapping.chain(chain)[which] for chain in self.members(slot)}
            most = max(most, len(parts))
        return most

    @property
    def lanes_up(self) -> int:
        """Streams from a memory tile into the cores' rows above it."""
        return self.device.architecture.switch_ports["mem_tile", "master", "N"]

    @property
    def lanes_down(self) -> int:
        """Streams that results of a slot can take: down in its last column or the one before."""
        ports = self.device.architecture.switch_ports["core_tile", "master", "S"]
        return ports * min(self.mapping.cas_length, 2)

    @property
    def copies(self) -> tuple[int, int]:
        """Slices of activations and of weights that all columns together are sent."""
        a = sum(net.kind == "a" for net in self.nets)
        return a, len(self.nets) - a
