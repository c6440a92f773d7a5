"""Which slots, banks and ports are taken in a run of bundles, or in a pattern that repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from match_aie.targets.aie_ml.schedule.operation import (
    BANK_BITS,
    SLOT_BITS,
    WRITE_PORT,
    Operation,
)
from match_aie.targets.aie_ml.schedule.registers import Placed


class Table:
    """What is taken in a repeating pattern of `length` bundles; None where nothing repeats.

    A bit of a bundle's number stands for each slot, bank and port (`Operation.shares`).
    """

    def __init__(self, length: int | None) -> None:
        """Nothing is taken."""
        self.length = length
        self._rows: list[int] | defaultdict[int, int]
        self._rows = defaultdict(int) if length is None else [0] * length

    def copy(self) -> Table:
        """Another one in which the same is taken."""
        made = Table(self.length)
        made._rows = self._rows.copy()
        return made

    def slot_for(self, op: Operation, cycle: int) -> str | None:
        """A free slot for `op` at `cycle`."""
        found = self.first(op, (cycle,))
        return None if found is None else found[1]

    def has(self, slot: str, cycle: int) -> bool:
        """Whether `slot` is taken at `cycle`."""
        row = cycle if self.length is None else cycle % self.length
        return bool(self._rows[row] & SLOT_BITS[slot])

    def reached(self, bank: str, cycle: int) -> bool:
        """Whether a bank is taken at `cycle`."""
        row = cycle if self.length is None else cycle % self.length
        return bool(self._rows[row] & BANK_BITS[bank])

    def reach(self, bank: str, cycle: int) -> None:
        """Mark a bank at `cycle`, beside the one that an operation says."""
        row = cycle if self.length is None else cycle % self.length
        self._rows[row] |= BANK_BITS[bank]

    def take(self, op: Operation, cycle: int, slot: str) -> None:
        """Mark what `op` takes in `slot` at `cycle`."""
        length, rows = self.length, self._rows
        rows[cycle if length is None else cycle % length] |= op.shares | SLOT_BITS[slot]
        if op.lands(slot):
            landed = cycle + op.latency
            rows[landed if length is None else landed % length] |= WRITE_PORT

    def claim(self, op: Operation, cycle: int, slot: str) -> bool:
        """`take`, where there is room for `op` and `slot` is free; False else."""
        length, rows = self.length, self._rows
        row = cycle if length is None else cycle % length
        landed = cycle + op.latency if length is None else (cycle + op.latency) % length
        taken = rows[row]
        if taken & (op.shares | SLOT_BITS[slot]):
            return False
        for _, bit, lands in op.choices:
            if not taken & bit and not (lands and rows[landed] & WRITE_PORT):
                break
        else:
            return False
        rows[row] = taken | op.shares | SLOT_BITS[slot]
        if op.lands(slot):
            rows[landed] |= WRITE_PORT
        return True

    def release(self, op: Operation, cycle: int, slot: str) -> None:
        """Undo `take`."""
        length, rows = self.length, self._rows
        rows[cycle if length is None else cycle % length] &= ~(op.shares | SLOT_BITS[slot])
        if op.lands(slot):
            landed = cycle + op.latency
            rows[landed if length is None else landed % length] &= ~WRITE_PORT

    def first(self, op: Operation, cycles: Sequence[int]) -> tuple[int, str] | None:
        """The first of `cycles` that has room for `op`, and the slot."""
        length, rows, shares, choices = self.length, self._rows, op.shares, op.choices
        for cycle in cycles:
            taken = rows[cycle if length is None else cycle % length]
            if taken & shares:
                continue
            for slot, bit, lands in choices:
                if taken & bit:
                    continue
                if lands:
                    landed = cycle + op.latency
                    if rows[landed if length is None else landed % length] & WRITE_PORT:
                        continue
                return cycle, slot
        return None

    def search(self, op: Operation, cycles: range, step: int | None = None) -> Placed | None:
        """`op` at the first of `cycles` that has room."""
        found = self.first(op, cycles)
        if found is None:
            return None
        self.take(op, *found)
        return Placed(*found, op, step)
