"""A straight line of code: every operation in the first bundle that has room, and its registers.

The memory that it accesses has two banks, near and far. Values live from when they are there until
they are read for the last time; `taken` says how many registers that asks for at most.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.registers import most_live
from match_aie.targets.aie_ml.schedule.table import Table

NEAR, FAR = "near", "far"

#: Bundles that are looked at for an operation.
LIMIT = 1 << 14

#: Bits of the accumulators that are counted: sixteen floats.
ACCUMULATOR_BITS = 512

#: Kinds whose results are accumulators; so are those of copies that say no bytes.
_SUMS = ("load_accumulator", "cascade_read", "product", "multiply")


@dataclass
class _Life:
    """A value in registers.

    Attributes:
        begin: cycle from which on.
        end: cycle in which it is last read.
        units: registers of 256 bits, or accumulators.
        sums: whether these.
    """

    begin: int
    end: int
    units: float
    sums: bool


class Line:
    """Code in the making; reads that are not written first are of no use.

    Attributes:
        cycles: until all results are there.
        kinds: operations by their kind.
        reads: cycles in which words of a cascade are read.
        writes: likewise, written.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.cycles = 0
        self.kinds: Counter[str] = Counter()
        self.reads: list[int] = []
        self.writes: list[int] = []
        self._table = Table(None)
        self._ready: dict[str, int] = {}
        self._lives: dict[str, _Life] = {}
        self._past: list[_Life] = []
        self._wide: dict[str, float] = {}

    def put(self, op: Operation, after: int = 0) -> int:
        """The cycle in which `op` issues: at `after` or later, once what it reads is there.

        Raises:
            TargetError: it is too far away.
        """
        first = max(after, *(self._ready[name] for name in op.reads), 0)
        placed = self._table.search(op, range(first, first + LIMIT))
        if placed is None:
            raise TargetError("a line of code is longer than any program memory")
        landed = placed.cycle + op.latency
        for name in op.reads:
            self._lives[name].end = max(self._lives[name].end, placed.cycle)
        if op.writes:
            self._ready[op.writes] = max(landed, self._ready.get(op.writes, 0))
            self._written(op, landed)
        self.cycles = max(self.cycles, landed + 1)
        self.kinds[op.kind] += 1
        if op.kind == "cascade_read":
            self.reads.append(placed.cycle)
        if op.kind == "cascade_write":
            self.writes.append(placed.cycle)
        return placed.cycle

    def gather(self, op: Operation) -> int:
        """As `put`, of an operation of the far bank that takes the near one, too."""
        cycle = max((self._ready[name] for name in op.reads), default=0)
        while self._table.reached(NEAR, cycle) or self._table.slot_for(op, cycle) is None:
            cycle += 1
        self._table.reach(NEAR, cycle)
        return self.put(op, cycle)

    def ready(self, name: str) -> int:
        """When a value may be read."""
        return self._ready[name]

    def given(self, name: str, units: float, *, sums: bool = False) -> None:
        """A value is in registers from the beginning on.

        Args:
            name: of it.
            units: registers, or accumulators, that it takes.
            sums: whether it lies in accumulators.
        """
        self._ready[name] = 0
        self._lives[name] = _Life(0, 0, units, sums)

    def keep(self, name: str) -> None:
        """A value stays in registers until the end of what is there so far."""
        self._lives[name].end = self.cycles

    def renew(self, name: str) -> None:
        """What is written next under this name is another value."""
        if name in self._lives:
            self._past.append(self._lives.pop(name))

    def widen(self, name: str, units: float) -> None:
        """Sums of this name take so many accumulators of sixteen floats."""
        self._wide[name] = units

    def hold(self, name: str, units: float, cycle: int, *, sums: bool = False) -> None:
        """A constant is read.

        Args:
            name: of it.
            units: registers, or accumulators, that it takes.
            cycle: in which.
            sums: whether it lies in accumulators.
        """
        life = self._lives.setdefault(name, _Life(cycle, cycle, units, sums))
        life.begin, life.end = min(life.begin, cycle), max(life.end, cycle)

    def _written(self, op: Operation, landed: int) -> None:
        sums = op.kind in _SUMS or (op.kind == "copy" and not op.bytes)
        units = self._wide.get(op.writes, 1.0) if sums else max(1.0, op.bytes / WORD)
        life = self._lives.get(op.writes)
        if life is None:
            self._lives[op.writes] = _Life(landed, landed, units, sums)
        else:
            life.begin = min(life.begin, landed)
            life.end = max(life.end, landed)
            life.units += 0.0 if sums else units

    @property
    def taken(self) -> tuple[float, float]:
        """Most registers of 256 bits at a time, and accumulators of sixteen floats."""
        lives = [*self._past, *self._lives.values()]
        vectors, sums = (
            most_live(
                ((each.begin, each.end, each.units) for each in lives if each.sums is which), None
            )
            for which in (False, True)
        )
        return vectors, sums

    def fits(self, core: Machine) -> bool:
        """Whether registers suffice."""
        vectors, sums = self.taken
        most = core.accumulators * core.accumulator_bits / ACCUMULATOR_BITS
        return vectors <= core.vectors and sums <= most
