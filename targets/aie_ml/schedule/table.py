"""Which slots, banks and ports are taken in a run of bundles, or in a pattern that repeats."""

from __future__ import annotations

from dataclasses import dataclass, field

from match_aie.targets.aie_ml.schedule.machine import LOAD_A
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.registers import Placed


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
        row = self._row(cycle)
        if op.bank and (op.bank, row) in self.banks:
            return None
        if op.kind.endswith("_accumulator") and row in self.accumulator_accesses:
            return None
        for slot in op.slots:
            if (slot, row) in self.slots:
                continue
            if self._port(op, slot) and self._row(cycle + op.latency) in self.writes:
                continue
            return slot
        return None

    def take(self, op: Operation, cycle: int, slot: str) -> None:
        """Mark what `op` takes in `slot` at `cycle`."""
        row = self._row(cycle)
        self.slots.add((slot, row))
        if op.bank:
            self.banks.add((op.bank, row))
        if op.kind.endswith("_accumulator"):
            self.accumulator_accesses.add(row)
        if self._port(op, slot):
            self.writes.add(self._row(cycle + op.latency))

    def _row(self, cycle: int) -> int:
        return cycle if self.length is None else cycle % self.length

    @staticmethod
    def _port(op: Operation, slot: str) -> bool:
        """Whether the result goes through the vector write port that load A and SRS share."""
        return op.kind == "srs" or (op.kind == "load" and slot == LOAD_A)

    def search(self, op: Operation, cycles: range, step: int | None = None) -> Placed | None:
        """`op` at the first of `cycles` that has room."""
        for cycle in cycles:
            slot = self.slot_for(op, cycle)
            if slot is not None:
                self.take(op, cycle, slot)
                return Placed(cycle, slot, op, step)
        return None
