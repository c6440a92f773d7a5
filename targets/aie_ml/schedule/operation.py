"""One instruction of a kernel: when it may issue, what it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from match_aie.targets.aie_ml.schedule.machine import LOAD_A, SLOTS

Kind = Literal[
    "product",
    "compare",
    "multiply",
    "load",
    "scalar_load",
    "load_accumulator",
    "cascade_read",
    "cascade_write",
    "srs",
    "store",
    "store_accumulator",
    "maximum",
    "shuffle",
    "copy",
]

#: Kinds that add to a sum, or compare with what was greatest so far.
ACCUMULATING = ("product", "compare")

#: First letters of values that belong to one step of the reduction, and not to a block.
OF_STEP = "awdo"

#: Bits of what an operation takes in a bundle: slots, the port between memory and accumulators,
#: the vector write port, and the memory's banks.
SLOT_BITS = {slot: 1 << at for at, slot in enumerate(SLOTS)}
ACCUMULATOR_PORT = 1 << len(SLOTS)
WRITE_PORT = ACCUMULATOR_PORT << 1
BANKS = ("A", "W", "W0", "W1", "S", "T", "near", "far")
BANK_BITS = {bank: WRITE_PORT << at + 1 for at, bank in enumerate(BANKS)}

#: Bytes of a counted load, store or result.
WORD = 32


@dataclass(frozen=True)
class Operation:
    """One instruction.

    Attributes:
        kind: what it does.
        name: for people.
        slots: any one of which it issues in.
        reads: values it needs at issue.
        writes: the value that it (partly) defines; empty where it defines none.
        latency: cycles until `writes` may be read.
        bank: of the memory that it accesses; empty where it accesses none.
        bytes: that it moves; of a multiplication lane by lane twice its lanes of 64 bits, so that
            1024 bits of sums count as one. 0 for a product of tiles.
    """

    kind: Kind
    name: str
    slots: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: str = ""
    latency: int = 0
    bank: str = ""
    bytes: int = 0

    @cached_property
    def shares(self) -> int:
        """Bits of what it takes when it issues, in whatever slot: a bank, a port."""
        bank = BANK_BITS[self.bank] if self.bank else 0
        port = self.kind in ("load_accumulator", "store_accumulator")
        return bank | (ACCUMULATOR_PORT if port else 0)

    @cached_property
    def choices(self) -> tuple[tuple[str, int, bool], ...]:
        """(slot, its bit, whether the result lands through the write port there)."""
        return tuple((slot, SLOT_BITS[slot], self.lands(slot)) for slot in self.slots)

    def lands(self, slot: str) -> bool:
        """Whether its result lands through the vector write port: load A and SRS share it."""
        return self.kind == "srs" or (self.kind == "load" and slot == LOAD_A)
