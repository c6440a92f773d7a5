"""Modulo scheduling of one block of accumulators.

Two levels. The step of the reduction is scheduled at the least interval that slots, banks and the
distance of products on one accumulator allow; its products are in place, its loads as late as they
can be. Blocks then follow each other at the least length into whose free slots the epilogue of the
block before (as early as it can be) and the start of the next one (as late as it can be) fit.
Where more cycles are needed, whole bundles without operations of the step are put in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.heads import SPREAD_STEPS, grouped_steps
from match_aie.targets.aie_ml.schedule.edges import MOST_SERIAL, landed, place_finish, place_start
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import ACCUMULATING
from match_aie.targets.aie_ml.schedule.operations import Block, block_operations
from match_aie.targets.aie_ml.schedule.registers import (
    VECTOR_UNITS,
    Moments,
    Placed,
    Spans,
    apart,
    fit,
    moments,
    spans,
)
from match_aie.targets.aie_ml.schedule.step import Step, schedule_step
from match_aie.targets.aie_ml.schedule.table import Table
from match_aie.targets.aie_ml.schedule.words import Limits, limits

#: Cycles of steps that are scheduled one by one: long enough to hide any start and finish. Further
#: steps repeat in the inner loop.
EXPLICIT_CYCLES = 112

#: Empty bundles a block, beyond which no schedule is looked for.
LONGEST_GAP = 160

#: Lengths of a block that are tried one after the other, further and further apart.
FEW_GAPS = 16

#: Times the least interval of a step that are tried, doubled each time.
SLOWEST = 8

#: Cycles between lengths that are tried beyond those.
COARSE = 8

#: Cycles of setting up the inner loop of a block that no bundle hides. Fitted on the rows
#: "64x64x64, one call, <4,8,8>" and "dense 128x128, i8xi8 and i16xi8, no bias, no ReLU" of
#: data/aie_calibration.csv: (cycles - call - fill - products) / (blocks - 1) = 2.0, 2.5, 2.2.
LOOP_SWITCH = 2


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
        serial: how far the sums come out one after the other, as `edges.place_finish` has it.
        words: where words of a cascade may be.
        alone: whether nothing of a block's steps is loaded before the block before it has ended.
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
    serial: int = 0
    words: Limits = Limits()
    alone: bool = False

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
    spread = grouped_steps(words) if kernel.grouped and words else SPREAD_STEPS * words
    return max(4, 2 * spread, -(-EXPLICIT_CYCLES // interval))


def schedule_block(kernel: Kernel, core: Machine, steps: int, slower: int = 1) -> BlockSchedule:
    """The shortest schedule found of a block with `steps` steps of the reduction.

    Args:
        kernel: whose.
        core: where.
        steps: of the reduction.
        slower: times the least interval of a step. Loads of a block that is shorter than a load
            takes are issued blocks ahead: where one accumulator alone does not fit, slower steps
            need fewer registers.

    Raises:
        TargetError: the pair has no native product, or registers do not suffice.
    """
    block = block_operations(kernel, core)
    step = schedule_step(block, kernel, core, slower)
    explicit = min(steps, explicit_steps(kernel, core))
    sets = _accumulator_sets(kernel, core, block)
    switch = 0 if kernel.variant == "flat" else LOOP_SWITCH
    least = wanting(block, step, explicit)

    @cache
    def laid(extra: int) -> _Laid:
        inserts = _inserts(block, step, explicit, extra, core)
        gap = switch + extra - sum(inserts.values())
        return _lay_steps(kernel, block, step, explicit, inserts, gap)

    @cache
    def attempt(extra: int, serial: int) -> tuple[tuple[Placed, ...] | None, int, int]:
        steps = laid(extra)
        placed = _place(kernel, block, steps, (switch, sets), core, serial=serial)
        return placed, steps.gap, serial

    multiplied = any(op.kind == "multiply" for chain in block.finish for op in chain)
    everything = range(least, least + LONGEST_GAP)
    for extra in _extras(least, switch, attempt) if multiplied else everything:
        tried = (attempt(extra, n) for n in range(MOST_SERIAL + 1 if multiplied else 1))
        placed, gap, serial = next((t for t in tried if t[0] is not None), (None, 0, 0))
        if placed is not None:
            return BlockSchedule(
                steps * step.interval + switch + extra,
                steps,
                explicit,
                step.interval,
                placed,
                sets,
                _peeled(placed, step, explicit),
                block,
                gap,
                (core.vectors, core.accumulators),
                serial,
                limits(kernel, explicit, step.interval),
                kernel.tiling.waits,
            )
    short = len(block.sums) == 1 and steps * step.interval < core.load
    if short and slower < SLOWEST:
        return schedule_block(kernel, core, steps, 2 * slower)
    raise TargetError(
        f"no schedule of {kernel} fits the registers of {core.name}", hint="use smaller blocks"
    )


def _extras(
    least: int, switch: int, attempt: Callable[[int, int], tuple[object | None, int, int]]
) -> Iterator[int]:
    """Bundles beyond the steps and the `switch` that are tried: few from the least, then halving.

    They are the same with those of the switch, so that kernels with and without loops agree.
    """
    total, totals = least, []
    for number in range(FEW_GAPS):
        totals.append(total)
        total += 1 + number // 6
    yield from (one - switch for one in totals if one >= least + switch)
    low, high = total, least + LONGEST_GAP
    if attempt(high - switch, MOST_SERIAL)[0] is None:
        return
    while low < high:
        middle = (low + high) // 2
        if attempt(middle - switch, MOST_SERIAL)[0] is None:
            low = middle + 1
        else:
            high = middle
    yield from (one - switch for one in (*range(total, low, COARSE), low))


def _accumulator_sets(kernel: Kernel, core: Machine, block: Block) -> int:
    """Two where the registers hold both, and a temporary where one is needed; else one."""
    if kernel.waits and not kernel.adds:
        return 1
    temporary = 0.0 if kernel.requantise in ("shift", "none") else 1.0
    needed = 2 * len(block.sums) * block.width["c"] + temporary
    return 2 if needed <= core.accumulators else 1


def wanting(block: Block, step: Step, steps: int) -> int:
    """Bundles that the vector operations of a finish need beside those of so many steps."""
    multiplies = sum(op.kind == "multiply" for chain in block.finish for op in chain)
    busy = sum(p.slot == VECTOR for p in step.placed)
    return max(0, multiplies - steps * (step.interval - busy))


def _inserts(block: Block, step: Step, steps: int, extra: int, core: Machine) -> dict[int, int]:
    """Up to `extra` bundles for a finish's multiplications, by the cycle of the steps they precede.

    Sums must have left the products, been narrowed and told apart before.
    """
    total = steps * step.interval
    first = -(-(core.product + core.srs + 2 * core.move) // step.interval)
    many = [sum(op.kind == "multiply" for op in chain) for chain in block.finish]
    inserts: dict[int, int] = defaultdict(int)
    done = given = 0
    for at, multiplies in enumerate(many):
        done += multiplies
        here = min(extra, done) if extra >= sum(many) else extra * done // max(1, sum(many))
        if here > given:
            inserts[min(total, (first + at) * step.interval)] += here - given
            given = here
    return dict(inserts)


@dataclass(frozen=True)
class _Laid:
    """The steps of a block among its like, with what does not depend on how registers are saved.

    Attributes:
        table: what is taken.
        length: from block to block.
        gap: empty bundles at the end.
        placed: operations of the steps.
        started: those of the start; None without room, or where they come after the finish.
        words: where words of a cascade may be.
        landed: when each accumulator's last product has.
        stepped: how long values of single steps live.
        blocked: what the steps do to all other values.
    """

    table: Table
    length: int
    gap: int
    placed: list[Placed]
    started: list[Placed] | None
    words: Limits
    landed: dict[str, int]
    stepped: Spans
    blocked: Moments


def _lay_steps(
    kernel: Kernel, block: Block, step: Step, steps: int, inserts: dict[int, int], gap: int
) -> _Laid:
    """All steps, apart by the bundles inserted before cycles of theirs, and the start."""
    total = steps * step.interval
    inserts[total] = inserts.get(total, 0) + gap
    length = total + sum(inserts.values())
    within = {at: many for at, many in inserts.items() if at < total}
    table = Table(length)
    placed = []
    for at in range(steps):
        for p in step.placed:
            cycle = at * step.interval + p.cycle
            if cycle >= 0 or not kernel.tiling.waits:
                cycle = _stretched(cycle, total, within, length)
            table.take(p.operation, cycle, p.slot)
            placed.append(Placed(cycle, p.slot, p.operation, at))
    words = limits(kernel, steps, step.interval)
    started = None if kernel.adds else place_start(block, placed, table, length, words)
    issued = [(0, p.cycle, p) for p in placed]
    letters = _letters(block)
    stepped = spans(moments(letters, issued, of_step=True))
    blocked = moments(letters, issued, of_step=False)
    return _Laid(table, length, gap, placed, started, words, landed(placed), stepped, blocked)


def _letters(block: Block) -> set[str]:
    """First letters of values that take registers."""
    return {*VECTOR_UNITS, *block.width}


def _place(
    kernel: Kernel, block: Block, laid: _Laid, sizes: tuple[int, int], core: Machine, *, serial: int
) -> tuple[Placed, ...] | None:
    """All operations of a block; None if they do not fit.

    Args:
        kernel: whose block it is.
        block: the operations.
        laid: its steps.
        sizes: empty bundles at the end that set up a loop; sets of accumulators.
        core: where.
        serial: how registers are saved.
    """
    (switch, sets), table, length, placed = sizes, laid.table.copy(), laid.length, laid.placed
    started = laid.started
    if started is None and not kernel.adds:
        return None
    finished = place_finish(block, laid.landed, table, length, laid.words, serial=serial)
    if kernel.adds:
        # Earlier sums come from where the results go, between their stores: no load moves up over
        # the inner loop of the block before.
        loop = max(p.cycle for p in placed if p.operation.kind in ACCUMULATING) - length
        started = place_start(block, placed, table, length, laid.words, since=loop + 1)
    if started is None or finished is None:
        return None
    around = [(0, p.cycle, p) for p in (*started, *finished)]
    blocked = laid.blocked, moments(_letters(block), around, of_step=False)
    if not apart(block.sums, blocked, length, sets):
        return None
    if kernel.waits:
        if length - switch <= max(p.cycle for p in finished):
            return None
    files = (VECTOR_UNITS, core.vectors), (block.width, core.accumulators)
    if not fit(files, (laid.stepped, spans(*blocked)), length):
        return None
    return (*placed, *started, *finished)


def _stretched(cycle: int, total: int, inserts: dict[int, int], length: int) -> int:
    """Real cycle of a cycle of the step pattern: later by the bundles inserted before it."""
    blocks, inside = divmod(cycle, total)
    before = sum(many for at, many in inserts.items() if at <= inside) if inserts else 0
    return blocks * length + inside + before


def _peeled(placed: tuple[Placed, ...], step: Step, steps: int) -> int:
    """Steps at both ends of the block during which starts and finishes issue."""
    others = [p.cycle for p in placed if p.step is None]
    if not others:
        return 0
    end = steps * step.interval
    head = max((c - end for c in others if c >= end), default=0)
    tail = max((-c for c in others if c < 0), default=0)
    return min(steps, -(-head // step.interval) + -(-tail // step.interval))
