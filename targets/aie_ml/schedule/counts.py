"""Operations of a call by what they do, as the emulation counts them too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import ceil

from match_aie.targets.aie_ml.schedule.operation import WORD, Operation


@dataclass(frozen=True)
class Counts:
    """Operations of a call, as the emulation counts them too.

    Attributes:
        products: vector multiply-accumulates (native ones).
        multiplies: vector products of requantisation, 1024 bits of sums each; a product of 32-bit
            integers is four.
        loads_a: 256-bit words loaded of activations.
        loads_w: of weights.
        loads_bias: of accumulators' initial values.
        loads_factors: of multipliers by column.
        stores: 256-bit words stored.
        cascade_reads: 512-bit transfers.
        cascade_writes: transfers.
        srs: shift-round-saturates, 256 bits of results each; sums of 32 bits that stay so are none.
    """

    products: int = 0
    multiplies: int = 0
    loads_a: int = 0
    loads_w: int = 0
    loads_bias: int = 0
    loads_factors: int = 0
    stores: int = 0
    cascade_reads: int = 0
    cascade_writes: int = 0
    srs: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Sum, field by field."""
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: int) -> Counts:
        """So many times."""
        return Counts(*(getattr(self, f.name) * times for f in fields(self)))


#: What a load brings, by its bank; numbers by column may lie in the weights'.
_LOADS = {"A": "loads_a", "S": "loads_factors"}


def count(operations: Iterator[Operation]) -> Counts:
    """Tally of `operations`."""
    tally = dict.fromkeys((f.name for f in fields(Counts)), 0)
    for op in operations:
        key = {
            "product": "products",
            "multiply": "multiplies",
            "load": "loads_factors" if op.writes[:1] == "f" else _LOADS.get(op.bank, "loads_w"),
            "load_accumulator": "loads_bias",
            "store": "stores",
            "store_accumulator": "stores",
            "cascade_read": "cascade_reads",
            "cascade_write": "cascade_writes",
            "srs": "srs",
        }.get(op.kind)
        if op.kind == "product" and op.bytes:
            key = "multiplies"
        if key is not None:
            counted = key in ("products", "cascade_reads", "cascade_writes")
            tally[key] += 1 if counted else ceil(op.bytes / WORD)
    return Counts(**tally)
