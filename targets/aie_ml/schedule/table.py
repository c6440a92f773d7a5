"""Which slots, banks and ports are taken in a run of bundles, or in a pattern that repeats."""

from __future__ import annotations

from dataclasses import dataclass, field

from match_aie.targets.aie_ml.schedule.machine import LOAD_A
from match_aie.targets.aie_ml.schedule.operation import Kind, Operation
from match_aie.targets.aie_ml.schedule.registers import Placed

#: Kinds that use the one port between memory and accumulators.
ACCUMULATOR_ACCESSES: frozenset[Kind] = frozenset(("load_accumulator", "store_accumulator"))


@dataclass
class Table:
    """What is taken in a repeating pattern of `length` bundles; None where nothing repeats."""

    length: int | None
    slots: set[tuple[str, int]] = field(default_factory=set)
    banks: set[tuple[str, int]] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    accumulator_accesses: set[int] = field(default_factory=set)

    def slot_for(self, op: Operation, cycle: int) -> str | None:
        """A free slot for `op` at `cycle`."""
        length = self.length
        row = cycle if length is None else cycle % length
        if op.bank and (op.bank, row) in self.banks:
            return None
        kind = op.kind
        if kind in ACCUMULATOR_ACCESSES and row in self.accumulator_accesses:
            return None
        for slot in op.slots:
            if (slot, row) in self.slots:
                continue
            if kind == "srs" or (kind == "load" and slot == LOAD_A):
                landed = cycle + op.latency
                if (landed if length is None else landed % length) in self.writes:
                    continue
            return slot
        return None

    def take(self, op: Operation, cycle: int, slot: str) -> None:
        """Mark what `op` takes in `slot` at `cycle`."""
        length = self.length
        row = cycle if length is None else cycle % length
        self.slots.add((slot, row))
        if op.bank:
            self.banks.add((op.bank, row))
        kind = op.kind
        if kind in ACCUMULATOR_ACCESSES:
            self.accumulator_accesses.add(row)
        # Load A and SRS share the vector write port.
        if kind == "srs" or (kind == "load" and slot == LOAD_A):
            landed = cycle + op.latency
            self.writes.add(landed if length is None else landed % length)

    def release(self, op: Operation, cycle: int, slot: str) -> None:
        """Undo `take`."""
        length = self.length
        row = cycle if length is None else cycle % length
        self.slots.discard((slot, row))
        self.banks.discard((op.bank, row))
        if op.kind in ACCUMULATOR_ACCESSES:
            self.accumulator_accesses.discard(row)
        if op.kind == "srs" or (op.kind == "load" and slot == LOAD_A):
            landed = cycle + op.latency
            self.writes.discard(landed if length is None else landed % length)

    def search(self, op: Operation, cycles: range, step: int | None = None) -> Placed | None:
        """`op` at the first of `cycles` that has room."""
        for cycle in cycles:
            slot = self.slot_for(op, cycle)
            if slot is not None:
                self.take(op, cycle, slot)
                return Placed(cycle, slot, op, step)
        return None
