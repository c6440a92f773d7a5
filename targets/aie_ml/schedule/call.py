"""Cycles of a kernel call: its blocks, the ragged ones included, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture, pair_name
from match_aie.targets.aie_ml.kernels.fit import BUNDLE_BYTES as BUNDLE_BYTES
from match_aie.targets.aie_ml.kernels.fit import copies
from match_aie.targets.aie_ml.schedule.counts import Counts, count
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import Machine, machine
from match_aie.targets.aie_ml.schedule.place import (
    LOOP_SWITCH,
    BlockSchedule,
    explicit_steps,
    schedule_block,
)
from match_aie.targets.aie_ml.schedule.run import ends, words

#: Blocks of accumulators that are tried.
BLOCKS = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1), (3, 1), (1, 3), (4, 2), (2, 4))

#: Bundles of a kernel's entry, address set-up, mode registers and exit: an estimate.
FRAME_BUNDLES = 64


@dataclass(frozen=True)
class AlikeBlocks:
    """Blocks of one shape.

    Attributes:
        times: how often the block runs in a call.
        schedule: of one.
    """

    times: int
    schedule: BlockSchedule


@dataclass(frozen=True)
class CallSchedule:
    """A whole call of a kernel on `rows` x `reduction` by `reduction` x `columns`.

    Cycles are modelled: of a schedule that `verify` proves against the facts.

    Attributes:
        kernel: what runs.
        core: where.
        rows: of the activations.
        reduction: elements that are summed.
        columns: of the weights.
        parts: blocks, in the order in which they run.
        call: cycles of calling an empty function.
    """

    kernel: Kernel
    core: Machine
    rows: int
    reduction: int
    columns: int
    parts: tuple[AlikeBlocks, ...]
    call: int

    @cached_property
    def body(self) -> int:
        """Cycles from the first load to the last store."""
        last = self.parts[-1].schedule
        return self.lead + self.blocks_begun + ends(last, self.blocks)[1] + 1

    @property
    def blocks_begun(self) -> int:
        """Cycles from the first product to that of the last block: `body` is longer."""
        blocks = sum(part.times * part.schedule.length for part in self.parts)
        return blocks - self.parts[-1].schedule.length

    @cached_property
    def lead(self) -> int:
        """Cycles before the first product."""
        return ends(self.parts[0].schedule, self.blocks)[0]

    @property
    def cycles(self) -> int:
        """Cycles of a call."""
        return self.call + self.body

    @cached_property
    def blocks(self) -> int:
        """Blocks of accumulators."""
        return sum(part.times for part in self.parts)

    @property
    def macs(self) -> int:
        """Multiply-accumulates, those of padding included."""
        return self.rows * self.reduction * self.columns

    @property
    def ideal(self) -> float:
        """Cycles that the products alone take at the core's rate."""
        return self.macs / self.core.macs[pair_name(*self.kernel.pair)]

    @property
    def efficiency(self) -> float:
        """Share of the core's rate that a call reaches, 0 to 1."""
        return self.ideal / self.cycles

    def gops(self, clock_ghz: float) -> float:
        """Giga-operations (two a multiply-accumulate) per second."""
        return 2 * self.macs * clock_ghz / self.cycles

    @property
    def reads(self) -> tuple[int, ...]:
        """Cycles of the body at which words of a cascade are read; none without one."""
        return self._words[0]

    @property
    def writes(self) -> tuple[int, ...]:
        """Cycles of the body at which words of a cascade are written, likewise."""
        return self._words[1]

    @cached_property
    def _words(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if not self.kernel.cascade_in and not self.kernel.cascade_out:
            return (), ()
        reads: list[int] = []
        writes: list[int] = []
        for number, (begin, block) in enumerate(self._begins()):
            read, written = words(block, number, self.blocks)
            reads += (begin + cycle for cycle in read)
            writes += (begin + cycle for cycle in written)
        return tuple(reads), tuple(writes)

    def _begins(self) -> Iterator[tuple[int, BlockSchedule]]:
        """Cycle of every block's first product, and the block."""
        now = self.lead
        for part in self.parts:
            for _ in range(part.times):
                yield now, part.schedule
                now += part.schedule.length

    @property
    def counts(self) -> Counts:
        """Instructions of a call."""
        total = Counts()
        for part in self.parts:
            block = part.schedule.block
            once = count(iter((*block.start, *(op for c in block.finish for op in c))))
            step = count(iter(block.step))
            total += (once + step * part.schedule.steps) * part.times
        return total

    @cached_property
    def program_bytes(self) -> int:
        """Estimate of the program memory taken: the copies of a block that the source has.

        A copy is the steps that are not in an inner loop, one of those that are, and what a block
        takes beside its steps. Without pipelining over blocks there is one copy.
        """
        bundles = FRAME_BUNDLES
        for part in self.parts:
            s = part.schedule
            unrolled = self.kernel.variant == "flat"
            peeled = 0 if s.alone else s.peeled
            inner = (s.steps if unrolled else min(s.steps, peeled + 1)) * s.interval
            many = 1 if self.kernel.waits else copies(part.times)
            bundles += many * (inner + s.length - s.steps * s.interval)
        bundles += self.lead
        last = self.parts[-1].schedule
        bundles += ends(last, self.blocks)[1] - last.length + last.gap
        return bundles * BUNDLE_BYTES


def schedule_call(
    kernel: Kernel, arch: Architecture, rows: int, reduction: int, columns: int
) -> CallSchedule:
    """The schedule of one call; sizes are padded up to the tiling.

    Raises:
        TargetError: the pair has no native product, facts are missing, or registers do not suffice.
    """
    t = kernel.tiling
    return _cached(
        kernel,
        ArchitectureKey(arch),
        ceil(rows / t.m) * t.m,
        ceil(reduction / t.k) * t.k,
        ceil(columns / t.n) * t.n,
    )


class ArchitectureKey:
    """An architecture, hashed by its name: the facts are one per name."""

    def __init__(self, arch: Architecture) -> None:
        """Of `arch`."""
        self.arch = arch

    def __eq__(self, other: object) -> bool:
        """Whether all facts are the same."""
        if not isinstance(other, ArchitectureKey):
            return False
        return other.arch is self.arch or other.arch == self.arch

    def __hash__(self) -> int:
        """Of the name."""
        return hash(self.arch.name)

    @property
    def core(self) -> Machine:
        """Its core.

        Raises:
            TargetError: a fact that schedules need is not known.
        """
        return _core(self)


@lru_cache(maxsize=64)
def _core(key: ArchitectureKey) -> Machine:
    return machine(key.arch)


@lru_cache(maxsize=65536)
def _cached(
    kernel: Kernel, key: ArchitectureKey, rows: int, reduction: int, columns: int
) -> CallSchedule:
    core = key.core
    t = kernel.tiling
    steps = reduction // t.k
    parts = tuple(
        AlikeBlocks(times, _block(kernel.block(r, c), key, steps))
        for times, r, c in shapes(rows // t.m, columns // t.n, kernel.rows, kernel.columns)
    )
    call = key.arch.latency("l1_kernel_call_loop_overhead")
    return CallSchedule(kernel, core, rows, reduction, columns, parts, call)


def _block(kernel: Kernel, key: ArchitectureKey, steps: int) -> BlockSchedule:
    """The schedule with its inner loop as long as it must be: one serves all longer ones."""
    short = _short(kernel, key, min(steps, _explicit(kernel, key)))
    if isinstance(short, TargetError):
        raise TargetError(short.what, hint=short.hint)
    return short.of(steps)


@lru_cache(maxsize=16384)
def _explicit(kernel: Kernel, key: ArchitectureKey) -> int:
    return explicit_steps(kernel, key.core)


@lru_cache(maxsize=16384)
def _short(kernel: Kernel, key: ArchitectureKey, steps: int) -> BlockSchedule | TargetError:
    """Refusals are kept too: finding them takes longest.

    Kernels with an inner loop are as flat ones where its set-up fits into empty bundles, and no
    words of a cascade are spread over what is unrolled.
    """
    cascaded = kernel.cascade_in or kernel.cascade_out
    if kernel.variant == "overlapped" and not cascaded and not kernel.waits:
        flat = _short(replace(kernel, variant="flat"), key, steps)
        if isinstance(flat, TargetError) or flat.gap >= LOOP_SWITCH:
            return flat
    try:
        return schedule_block(kernel, key.core, steps)
    except TargetError as error:
        return TargetError(error.what, hint=error.hint)


def shapes(
    row_tiles: int, column_tiles: int, rows: int, columns: int
) -> Iterator[tuple[int, int, int]]:
    """(times, rows, columns) of the blocks that cover the tiles of a result."""
    full_r, rest_r = divmod(row_tiles, rows)
    full_c, rest_c = divmod(column_tiles, columns)
    for many_r, r in ((full_r, rows), (1 if rest_r else 0, rest_r)):
        for many_c, c in ((full_c, columns), (1 if rest_c else 0, rest_c)):
            if many_r and many_c:
                yield many_r * many_c, r, c


def best_block(
    kernel: Kernel, arch: Architecture, rows: int, reduction: int, columns: int
) -> CallSchedule:
    """The call with the block of accumulators that takes the fewest cycles.

    Blocks are those whose accumulators fit the registers twice; ties go to the smaller program.
    """
    core = machine(arch)
    t = kernel.tiling
    width = t.m * t.n * kernel.accumulator_bits / core.accumulator_bits
    calls = []
    for r, c in BLOCKS:
        if (1 if kernel.waits else 2) * r * c * width > core.accumulators and r * c > 1:
            continue
        if r > ceil(rows / t.m) or c > ceil(columns / t.n):
            continue
        with suppress(TargetError):
            calls.append(schedule_call(kernel.block(r, c), arch, rows, reduction, columns))
    if not calls:
        raise TargetError(f"no block of {kernel} fits the registers of {core.name}")
    return min(calls, key=lambda call: (call.cycles, call.program_bytes))
