"""One instruction of a kernel: when it may issue, what it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
