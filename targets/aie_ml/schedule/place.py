"""Modulo scheduling of one block of accumulators.

Two levels. The step of the reduction is scheduled at the least interval that slots, banks and the
distance of products on one accumulator allow; its products are in place, its loads as late as they
can be. Blocks then follow each other at the least length into whose free slots the epilogue of the
block before (as early as it can be) and the start of the next one (as late as it can be) fit.
Where more cycles are needed, whole bundles without operations of the step are put in between.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from match_aie.errors import InternalError, TargetError
from match_aie.targets.aie_ml.kernels.heads import SPREAD_STEPS
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.operation import ACCUMULATING, Operation
from match_aie.targets.aie_ml.schedule.operations import Block, block_operations
from match_aie.targets.aie_ml.schedule.registers import VECTOR_UNITS, Placed, fit
from match_aie.targets.aie_ml.schedule.table import Table
from match_aie.targets.aie_ml.schedule.words import Limits, limits, place_reads, place_writes

#: Cycles of steps that are scheduled one by one: long enough to hide any start and finish. Further
#: steps repeat in the inner loop.
EXPLICIT_CYCLES = 112

#: Empty bundles a block, beyond which no schedule is looked for.
LONGEST_GAP = 160

#: Cycles of setting up the inner loop of a block that no bundle hides. Fitted on the rows
#: "64x64x64, one call, <4,8,8>" and "dense 128x128, i8xi8 and i16xi8, no bias, no ReLU" of
#: data/aie_calibration.csv: (cycles - call - fill - products) / (blocks - 1) = 2.0, 2.5, 2.2.
LOOP_SWITCH = 2


@dataclass(frozen=True)
class Step:
    """One step of the reduction, repeated every `interval` cycles; cycles may be negative."""

    interval: int
    placed: tuple[Placed, ...]


@dataclass(frozen=True)
class BlockSchedule:
    """One block among its like.

    Attributes:
        length: cycles from one block's first product to the next one's.
        steps: of the reduction.
        explicit: steps in `placed`; the inner loop repeats the others.
        interval: cycles of a step.
        placed: all operations of the explicit steps, start and finish.
        sets: of accumulators that blocks use in turn.
        peeled: steps that share bundles with a start or finish, and are not in the inner loop.
        block: the operations.
        gap: bundles without operations of the steps at its end.
        registers: of vectors and of accumulators.
        serial: whether the sums come out one after the other.
        words: where words of a cascade may be.
    """

    length: int
    steps: int
    explicit: int
    interval: int
    placed: tuple[Placed, ...]
    sets: int
    peeled: int
    block: Block
    gap: int
    registers: tuple[float, float]
    serial: bool = False
    words: Limits = Limits()

    @property
    def hidden(self) -> int:
        """Cycles of the inner loop's repetitions, which `placed` does not show."""
        return (self.steps - self.explicit) * self.interval

    @property
    def shown(self) -> int:
        """Cycles from block to block as `placed` shows them."""
        return self.length - self.hidden

    def of(self, steps: int) -> BlockSchedule:
        """The same with so many steps, no fewer than the explicit ones: others only repeat."""
        if steps == self.steps:
            return self
        length = self.length + (steps - self.steps) * self.interval
        return replace(self, steps=steps, length=length)


def explicit_steps(kernel: Kernel, core: Machine) -> int:
    """Most steps of a block that are scheduled one by one."""
    interval = schedule_step(block_operations(kernel, core), kernel, core).interval
    words = kernel.rows * kernel.columns if kernel.cascade_in or kernel.cascade_out else 0
    return max(4, 2 * SPREAD_STEPS * words, -(-EXPLICIT_CYCLES // interval))


def schedule_block(kernel: Kernel, core: Machine, steps: int) -> BlockSchedule:
    """The shortest schedule found of a block with `steps` steps of the reduction.

    Raises:
        TargetError: the pair has no native product, or registers do not suffice.
    """
    block = block_operations(kernel, core)
    step = schedule_step(block, kernel, core)
    explicit = min(steps, explicit_steps(kernel, core))
    sets = _accumulator_sets(kernel, core, block)
    switch = 0 if kernel.variant == "flat" else LOOP_SWITCH
    inserts = _inserts(block, step, explicit)
    for gap in range(switch, switch + LONGEST_GAP):
        tried = (
            (
                _place(
                    kernel,
                    block,
                    step,
                    explicit,
                    {**inserts},
                    gap,
                    switch,
                    sets,
                    core,
                    serial=serial,
                ),
                serial,
            )
            for serial in (False, True)
        )
        placed, serial = next(((p, s) for p, s in tried if p is not None), (None, False))
        if placed is not None:
            hidden = (steps - explicit) * step.interval
            length = explicit * step.interval + sum(inserts.values()) + gap + hidden
            peeled = _peeled(placed, step, explicit)
            return BlockSchedule(
                length,
                steps,
                explicit,
                step.interval,
                placed,
                sets,
                peeled,
                block,
                gap,
                (core.vectors, core.accumulators),
                serial,
                limits(kernel, explicit, step.interval),
            )
    raise TargetError(
        f"no schedule of {kernel} fits the registers of {core.name}", hint="use smaller blocks"
    )


def schedule_step(block: Block, kernel: Kernel, core: Machine) -> Step:
    """One step of the reduction at the least interval."""
    products = [op for op in block.step if op.kind in ACCUMULATING]
    loads = [op for op in block.step if op.kind not in ACCUMULATING]
    distance = core.float_distance if kernel.floating else core.product_distance
    across = sorted(products, key=lambda op: (op.name, op.writes.partition(".")[::-1]))
    for interval in range(max(len(products), (len(loads) + 1) // 2), 16 * len(loads) + 64):
        tried = [_place_step(order, loads, distance, interval) for order in (products, across)]
        found = [placed for placed in tried if placed is not None]
        if found:
            return Step(interval, max(found, key=lambda placed: min(p.cycle for p in placed)))
    raise InternalError(f"no schedule found for a step of {kernel}")


def _place_step(
    products: list[Operation], loads: list[Operation], distance: int, interval: int
) -> tuple[Placed, ...] | None:
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


def _accumulator_sets(kernel: Kernel, core: Machine, block: Block) -> int:
    """Two where the registers hold both, and a temporary where one is needed; else one."""
    if kernel.variant == "exposed":
        return 1
    temporary = 1.0 if kernel.requantise in ("multiplier", "channel") else 0.0
    needed = 2 * len(block.sums) * block.width["c"] + temporary
    return 2 if needed <= core.accumulators else 1


def _inserts(block: Block, step: Step, steps: int) -> dict[int, int]:
    """Bundles for the multiplications of a finish, by the time of the step pattern they precede."""
    total = steps * step.interval
    inserts: dict[int, int] = defaultdict(int)
    for at, chain in enumerate(block.finish):
        multiplies = sum(op.kind == "multiply" for op in chain)
        if multiplies:
            inserts[min(total, (4 + at) * step.interval)] += multiplies
    return dict(inserts)


def _place(
    kernel: Kernel,
    block: Block,
    step: Step,
    steps: int,
    inserts: dict[int, int],
    gap: int,
    switch: int,
    sets: int,
    core: Machine,
    *,
    serial: bool,
) -> tuple[Placed, ...] | None:
    """All operations of a block, with `gap` empty bundles at its end; None if they do not fit."""
    total = steps * step.interval
    inserts[total] = inserts.get(total, 0) + gap
    length = total + sum(inserts.values())
    table = Table(length)
    placed = []
    for at in range(steps):
        for p in step.placed:
            cycle = _stretched(at * step.interval + p.cycle, total, inserts, length)
            table.take(p.operation, cycle, p.slot)
            placed.append(Placed(cycle, p.slot, p.operation, at))
    words = limits(kernel, steps, step.interval)
    started = place_start(block, placed, table, length, words)
    finished = place_finish(block, placed, table, length, words, serial=serial)
    if started is None or finished is None:
        return None
    everything = (*placed, *started, *finished)
    if not _registers_free(block, everything, length, sets):
        return None
    if kernel.variant == "exposed":
        if length - switch <= max(p.cycle for p in finished):
            return None
    fits = fit(VECTOR_UNITS, everything, length, core.vectors)
    fits = fits and fit(block.width, everything, length, core.accumulators)
    return everything if fits else None


def _stretched(cycle: int, total: int, inserts: dict[int, int], length: int) -> int:
    """Real cycle of a cycle of the step pattern: later by the bundles inserted before it."""
    blocks, inside = divmod(cycle, total)
    before = sum(many for at, many in inserts.items() if at <= inside and at < total)
    return blocks * length + inside + before


def place_start(
    block: Block, placed: list[Placed], table: Table, length: int, words: Limits
) -> list[Placed] | None:
    """As late as possible before the first product of each accumulator."""
    found = []
    begins = {
        name: min(p.cycle for p in placed if p.operation.writes == name) for name in block.sums
    }
    if block.start and block.start[0].kind == "cascade_read":
        spread = dict(zip(block.sums, words.reads_by, strict=False))
        latest = [
            min(begins[op.writes] - op.latency, spread.get(op.writes, begins[op.writes]))
            for op in block.start
        ]
        return place_reads(block.start, tuple(latest), table, length)
    for name, first in begins.items():
        for op in (op for op in block.start if op.writes == name):
            at = first - op.latency
            one = table.search(op, range(at, at - length, -1))
            if one is None:
                return None
            found.append(one)
    for op in reversed([op for op in block.start if op.writes not in begins]):
        at = min(p.cycle for p in found if op.writes in p.operation.reads) - op.latency
        one = table.search(op, range(at, at - length, -1))
        if one is None:
            return None
        found.append(one)
    return found


def place_finish(
    block: Block,
    placed: list[Placed],
    table: Table,
    length: int,
    words: Limits,
    *,
    serial: bool = False,
) -> list[Placed] | None:
    """As early as possible after the last product of each accumulator.

    Args:
        block: the operations.
        placed: those of the steps.
        table: what is taken.
        length: of the pattern: how far to look.
        words: where words of a cascade may be.
        serial: whether a chain begins when the one before has multiplied: fewer registers.
    """
    ready: dict[str, int] = {}
    for p in placed:
        if p.operation.kind in ACCUMULATING:
            landed = p.cycle + p.operation.latency
            ready[p.operation.writes] = max(landed, ready.get(p.operation.writes, landed))
    ops = tuple(op for chain in block.finish for op in chain)
    if ops and ops[0].kind == "cascade_write":
        spread = dict(zip(block.sums, words.writes_after, strict=False))
        first = ready[block.sums[0]]
        since = [max(ready[op.reads[0]], first + spread.get(op.reads[0], 0)) for op in ops]
        return place_writes(ops, tuple(since), table, length)
    found = []
    free = min(ready.values())
    for chain in sorted(block.finish, key=lambda c: ready[c[0].reads[0]]):
        begin = max(ready[chain[0].reads[0]], free)
        late = {op.writes: op for op in chain if not op.reads}
        for op in (op for op in chain if op.reads):
            wanted = [late.pop(name) for name in op.reads if name in late]
            at = max(begin, *(ready[name] for name in op.reads if name in ready))
            placed_now = _with_loads(op, wanted, table, at, length)
            if placed_now is None:
                return None
            found += placed_now
            if serial and op.kind == "multiply":
                free = placed_now[0].cycle
            for one in placed_now:
                name = one.operation.writes
                if name:
                    landed = one.cycle + one.operation.latency
                    ready[name] = max(landed, ready.get(name, landed))
    return found


def _with_loads(
    op: Operation, loads: list[Operation], table: Table, at: int, length: int
) -> list[Placed] | None:
    """`op` as early as possible from `at` on, and what only it needs as late as possible before."""
    one = table.search(op, range(at, at + length))
    if one is None:
        return None
    found = [one]
    for load in loads:
        latest = one.cycle - load.latency
        before = table.search(load, range(latest, latest - length, -1))
        if before is None:
            return None
        found.append(before)
    return found


def _registers_free(block: Block, placed: tuple[Placed, ...], length: int, sets: int) -> bool:
    """Whether an accumulator's next life begins after the last read of this one."""
    for name in block.sums:
        begin = min(p.cycle + p.operation.latency for p in placed if p.operation.writes == name)
        end = max(p.cycle for p in placed if name in p.operation.reads)
        if begin + sets * length <= end:
            return False
    return True


def _peeled(placed: tuple[Placed, ...], step: Step, steps: int) -> int:
    """Steps at both ends of the block during which starts and finishes issue."""
    others = [p.cycle for p in placed if p.step is None]
    if not others:
        return 0
    end = steps * step.interval
    head = max((c - end for c in others if c >= end), default=0)
    tail = max((-c for c in others if c < 0), default=0)
    return min(steps, -(-head // step.interval) + -(-tail // step.interval))
