"""One instruction of a kernel: when it may issue, what it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
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
OF_STEP = "awdog"

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
        shares: bits of what it takes when it issues, in whatever slot: a bank, a port.
        choices: (slot, its bit, whether the result lands through the write port there).
    """

    kind: Kind
    name: str
    slots: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: str = ""
    latency: int = 0
    bank: str = ""
    bytes: int = 0
    shares: int = field(init=False, compare=False, repr=False)
    choices: tuple[tuple[str, int, bool], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Look up what schedulers ask for most."""
        object.__setattr__(self, "shares", _shares(self.kind, self.bank))
        object.__setattr__(self, "choices", _choices(self.kind, self.slots))

    def lands(self, slot: str) -> bool:
        """Whether its result lands through the vector write port: load A and SRS share it."""
        return _lands(self.kind, slot)


@cache
def _shares(kind: Kind, bank: str) -> int:
    port = kind in ("load_accumulator", "store_accumulator")
    return (BANK_BITS[bank] if bank else 0) | (ACCUMULATOR_PORT if port else 0)


@cache
def _choices(kind: Kind, slots: tuple[str, ...]) -> tuple[tuple[str, int, bool], ...]:
    return tuple((slot, SLOT_BITS[slot], _lands(kind, slot)) for slot in slots)


def _lands(kind: Kind, slot: str) -> bool:
    return kind == "srs" or (kind == "load" and slot == LOAD_A)
