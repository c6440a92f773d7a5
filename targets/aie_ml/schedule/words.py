"""When words of a cascade move in a block: in the order of its accumulators, spread over its steps.

A core reads the words that the core before wrote, in the order in which it wrote them. The source
spreads them over K steps (`kernels.heads`), and no word leaves before its step or comes after it.
Kernels of variant "exposed" are not ours, and move all words of a block at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.kernels.heads import heads, steps_of
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table


@dataclass(frozen=True)
class Limits:
    """Where a block's words may be, in cycles from its first product, accumulator by accumulator.

    Empty where nothing is spread.

    Attributes:
        reads_by: latest cycle of a word's read.
        writes_after: earliest cycle of its write, counted from when the first sums can leave.
    """

    reads_by: tuple[int, ...] = ()
    writes_after: tuple[int, ...] = ()

    def later(self, cycles: int) -> Limits:
        """The same of a block so many cycles later."""
        return Limits(tuple(cycle + cycles for cycle in self.reads_by), self.writes_after)


def limits(kernel: Kernel, steps: int, interval: int) -> Limits:
    """Of a block of `steps` steps with `interval` cycles each."""
    if kernel.variant == "exposed":
        return Limits()
    items, flat = kernel.rows * kernel.columns, kernel.variant == "flat"
    out, into = kernel.cascade_out, kernel.cascade_in
    grouped = kernel.grouped
    drain, refill = heads(items, items, steps, (flat and out, flat and into), grouped=grouped)
    reads: tuple[int, ...] = ()
    if into and refill >= items:
        at = steps_of(items, refill, grouped=grouped)
        reads = tuple((step + 1 - refill) * interval - 1 for step in at)
    writes: tuple[int, ...] = ()
    if out and drain >= items:
        at = steps_of(items, drain, early=True, grouped=grouped)
        writes = tuple(step * interval for step in at)
    return Limits(reads, writes)


def place_reads(
    reads: tuple[Operation, ...], by: tuple[int, ...], table: Table, length: int
) -> list[Placed] | None:
    """Each as late as possible, the last one first, none later than the one behind it.

    Args:
        reads: of a block, in order.
        by: latest cycle of each.
        table: what is taken.
        length: of the pattern: how far to look.
    """
    found: list[Placed] = []
    for op, latest in zip(reversed(reads), reversed(by), strict=True):
        at = min(latest, found[-1].cycle - 1) if found else latest
        one = table.search(op, range(at, at - length, -1))
        if one is None:
            return None
        found.append(one)
    return found[::-1] if _within(found, length) else None


def place_writes(
    writes: tuple[Operation, ...], since: tuple[int, ...], table: Table, length: int
) -> list[Placed] | None:
    """Each as early as possible, none earlier than the one before it; as `place_reads`."""
    found: list[Placed] = []
    for op, earliest in zip(writes, since, strict=True):
        at = max(earliest, found[-1].cycle + 1) if found else earliest
        one = table.search(op, range(at, at + length))
        if one is None:
            return None
        found.append(one)
    return found if _within(found, length) else None


def _within(found: list[Placed], length: int) -> bool:
    """Whether the words of one block are through before those of the next one begin."""
    cycles = [p.cycle for p in found]
    return max(cycles) - min(cycles) < length
