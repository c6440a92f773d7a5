"""One step of the reduction of a block: products and what feeds them, at the least interval."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.schedule.blocks import place_made
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.operation import ACCUMULATING, Operation
from match_aie.targets.aie_ml.schedule.operations import Block
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table


@dataclass(frozen=True)
class Step:
    """One step of the reduction, repeated every `interval` cycles; cycles may be negative."""

    interval: int
    placed: tuple[Placed, ...]


def schedule_step(block: Block, kernel: Kernel, core: Machine, slower: int = 1) -> Step:
    """One step of the reduction at the least interval, or at `slower` times what slots allow."""
    products = [op for op in block.step if op.kind in ACCUMULATING]
    loads = [op for op in block.step if op.kind not in ACCUMULATING]
    distance = core.float_distance if kernel.floating else core.product_distance
    across = sorted(products, key=lambda op: (op.name, op.writes.partition(".")[::-1]))
    through = [op for op in loads if op.bank] if kernel.tiling.waits else loads
    own = core.accumulators - kernel.rows * kernel.columns
    free = own if kernel.tiling.blocks else None
    least = slower * max(len(products), (len(through) + 1) // 2)
    for interval in range(least, 16 * len(loads) + 64):
        tried = [
            _place_step(order, loads, distance, interval, free) for order in (products, across)
        ]
        found = [placed for placed in tried if placed is not None]
        if found:
            return Step(interval, max(found, key=lambda placed: min(p.cycle for p in placed)))
    raise InternalError(f"no schedule found for a step of {kernel}")


def _place_step(
    products: list[Operation],
    loads: list[Operation],
    distance: int,
    interval: int,
    free: int | None,
) -> tuple[Placed, ...] | None:
    """Products one after the other, and what feeds them.

    Args:
        products: in their order.
        loads: all else.
        distance: of products on one accumulator.
        interval: of a step.
        free: accumulators in which operands become blocks; None where none do.
    """
    table = Table(interval)
    placed: list[Placed] = []
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    cycle = -1
    for op in products:
        cycle = max(cycle + 1, last.get(op.writes, -distance) + distance)
        if cycle >= interval:
            return None
        table.take(op, cycle, op.slots[0])
        placed.append(Placed(cycle, op.slots[0], op, 0))
        first.setdefault(op.writes, cycle)
        last[op.writes] = cycle
    if any(first[name] + interval - last[name] < distance for name in first):
        return None
    if free is not None:
        return place_made(loads, placed, table, interval, free)
    return _place_operands(loads, placed, table, interval)


def _place_operands(
    operands: list[Operation], placed: list[Placed], table: Table, interval: int
) -> tuple[Placed, ...] | None:
    """What feeds the products, each as late as it can be, what is read last first."""
    left = list(operands)
    while left:
        needed = {name for op in left for name in op.reads}
        ready = [op for op in left if op.writes not in needed]
        latest = {
            op.writes: min(p.cycle for p in placed if op.writes in p.operation.reads)
            for op in ready
        }
        for op in sorted(ready, key=lambda op: (latest[op.writes], op.bank == "A")):
            at = latest[op.writes] - op.latency
            found = table.search(op, range(at, at - 2 * interval, -1), 0)
            if found is None:
                return None
            placed.append(found)
        left = [op for op in left if op.writes in needed]
    return tuple(placed)
