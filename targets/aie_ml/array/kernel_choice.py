"""Which kernel the tiles of a mapping run: the block of accumulators and how epilogues meet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import inf

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.fit import program_bytes, schedules, tile_schedules
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.local import plan_local
from match_aie.targets.aie_ml.array.shapes import blocks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import Kernel, Variant, schedule_call
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.least import least_body

#: Block, how epilogues meet, blocks of the turn that requantises and of the first one where they
#: are others.
Choice = tuple[tuple[int, int], Variant, tuple[int, int] | None, tuple[int, int] | None]

#: Sums of a block of this size leave registers for any requantisation.
SINGLE = (1, 1)


def with_kernel(
    mapping: ArrayMapping,
    device: Device,
    variants: tuple[Variant, ...],
    shapes: tuple[tuple[int, int], ...] | None = None,
    *,
    alike: bool = False,
) -> ArrayMapping | None:
    """The mapping with the block that is fastest in the last tile of a chain; None if none fits.

    With what it loses to conflicts of banks, which hang on how often a block loads.

    Where registers do not hold what requantises sums of a block, calls of several turns do so in a
    last turn of single tiles. Where cores call by name, a first turn has the fastest block for it,
    and both have smaller ones where program memory holds no others. Among equals the first of
    `shapes`, of `blocks` where None, and of `variants`.

    Args:
        mapping: whose kernel is chosen.
        device: the array.
        variants: how epilogues may meet the next block.
        shapes: blocks that are tried.
        alike: whether a first turn has the block of those behind it.
    """
    choice = _choice(_Calls(mapping, device, variants, shapes or blocks(mapping), alike=alike))
    if choice is None:
        return None
    block, variant, last, first = choice
    return replace(mapping, block=block, variant=variant, last_block=last, first_block=first)


class _Calls:
    """The calls of a mapping as a key: equal where all that its kernels depend on is."""

    def __init__(
        self,
        mapping: ArrayMapping,
        device: Device,
        variants: tuple[Variant, ...],
        shapes: tuple[tuple[int, int], ...],
        *,
        alike: bool = False,
    ) -> None:
        m = mapping
        if mapping.tiling.waits:
            variants = ("overlapped",)
        ends = mapping.last_block or mapping.first_block
        plain = replace(mapping, last_block=None, first_block=None) if ends else mapping
        self.mapping, self.device, self.variants = plain, device, variants
        apart = device.named_calls and mapping.reduction_steps > 1 and not mapping.tiling.lanes
        #: Blocks that a turn may have which is not as those between.
        self.ends = blocks(plain) if apart and not alike else ()
        self.shapes = shapes
        self.size = m.call_rows, m.call_reduction, m.call_columns
        self._alike = (
            m.types,
            (m.tiling, min(m.cas_length, 3), m.reduction_steps, self.size, m.streamed),
            m.layer.shared,
            (device.architecture.name, variants, shapes, self.ends),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Calls) or other._alike != self._alike:
            return False
        mine, theirs = self.device.architecture, other.device.architecture
        return mine is theirs or mine == theirs

    def __hash__(self) -> int:
        return hash(self._alike)


def least_cycles(
    mapping: ArrayMapping, device: Device, variants: tuple[Variant, ...]
) -> int | None:
    """Cycles of a call that the kernel of `with_kernel` does not beat, with those that it loses.

    None if there is none. Nothing is scheduled but single steps.
    """
    options = _options(_Calls(mapping, device, variants, blocks(mapping)))
    return options[0][0] if options else None


@lru_cache(maxsize=65536)
def _options(calls: _Calls) -> tuple[tuple[int, int, ArrayMapping, int], ...]:
    """Kernels in the order of cycles that no schedule beats: (cycles, place, mapping, lost)."""
    options = [(block, variant) for block in calls.shapes for variant in calls.variants]
    least = []
    for place, (block, variant) in enumerate(options):
        tried = replace(calls.mapping, block=block, variant=variant)
        try:
            lost = _lost(tried, calls.device)
            least.append((_least(tried, calls) + lost, place, tried, lost))
        except TargetError:
            continue
    return tuple(sorted(least, key=lambda found: found[:2]))


@lru_cache(maxsize=65536)
def _choice(calls: _Calls) -> Choice | None:
    """The best kernel: they are scheduled in the order of `_options`, until none can be faster."""
    best: tuple[int, int, Choice] | None = None
    for cycles, place, option, lost in _options(calls):
        if best is not None and cycles > best[0]:
            break
        for number, tried in enumerate(_with_ends(_ending(option, calls.device), calls)):
            body = _body(tried, calls, inf if best is None else best[0] - lost)
            if body is None or (best is not None and (body + lost, place) >= best[:2]):
                if number == 0:  # less code is for what would be faster
                    break
                continue
            if _holds(tried, calls.device):
                ends = tried.last_block, tried.first_block
                best = body + lost, place, (tried.block, tried.variant, *ends)
                break
    return None if best is None else best[2]


def _with_ends(mapping: ArrayMapping, calls: _Calls) -> Iterator[ArrayMapping]:
    """With the fastest first turn, then with first and last turns that are less code.

    Those are in the order of the cycles that a call takes in the last tile, where the first turn of
    a chain's first tile comes to the same.
    """
    if not calls.ends:
        yield mapping
        return
    arch, size = calls.device.architecture, calls.size

    def ordered(at: int, turn: int, own: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        """(cycles, block) of a turn, the fastest first; among equals its own, then less code."""
        found = []
        for block in dict.fromkeys((own, *calls.ends)):
            with suppress(TargetError):
                made = schedule_call(mapping.kernel(at, turn, block), arch, *size)
                found.append((made.body, block != own, made.program_bytes, block))
        return [(body, block) for body, *_, block in sorted(found)]

    turn = mapping.reduction_steps - 1
    firsts = ordered(0, 0, mapping.block)
    own = mapping.last_block or mapping.block
    lasts = [(0, own)]
    if mapping.last_block is None:
        lasts = ordered(mapping.cas_length - 1, turn, own)
        lasts.sort(key=lambda one: one[1] != own)
    yield replace(mapping, first_block=_other(firsts[0][1], mapping.block)) if firsts else mapping
    pairs = sorted(itertools.product(firsts, lasts), key=lambda pair: pair[0][0] + pair[1][0])
    for (_, first), (_, last) in pairs:
        ends = _other(first, mapping.block), _other(last, mapping.block)
        yield replace(mapping, first_block=ends[0], last_block=ends[1])


def _other(block: tuple[int, int], than: tuple[int, int]) -> tuple[int, int] | None:
    return None if block == than else block


def _ending(mapping: ArrayMapping, device: Device) -> ArrayMapping:
    """The mapping, with a last turn of single tiles where registers hold no other."""
    turns, last = mapping.reduction_steps, mapping.cas_length - 1
    if turns == 1 or mapping.block == SINGLE or mapping.tiling.waits:
        return mapping
    size = mapping.call_rows, mapping.call_reduction, mapping.call_columns
    try:
        schedule_call(mapping.kernel(last, turns - 1), device.architecture, *size)
    except TargetError:
        return replace(mapping, last_block=SINGLE)
    return mapping


def _lost(mapping: ArrayMapping, device: Device) -> int:
    """Cycles of the turns of a call that conflicts of banks take."""
    if not mapping.streamed or mapping.reduction_steps == 1:
        return 0
    local = plan_local(mapping, device)
    return 0 if isinstance(local, Infeasible) else mapping.reduction_steps * local.stall(device)


def _least(mapping: ArrayMapping, calls: _Calls) -> int:
    key = ArchitectureKey(calls.device.architecture)
    last = mapping.cas_length - 1
    turns: list[tuple[int, tuple[Kernel, ...]]] = [
        (times, (kernel,)) for times, kernel in mapping.turns(last)
    ]
    for turn in (0, -1) if calls.ends else ():
        at = turn % mapping.reduction_steps
        others = (mapping.kernel(last, at, block) for block in calls.ends)
        turns[turn] = 1, (*turns[turn][1], *others) if at or last == 0 else turns[turn][1]
    return sum(
        times * min(least_body(kernel, key, calls.size) for kernel in kernels)
        for times, kernels in turns
    )


def _body(mapping: ArrayMapping, calls: _Calls, most: float) -> int | None:
    """Cycles of the last tile's turns; None where registers do not suffice, or they are more.

    Of those of the first tile where they are more, and its first turn has a block of its own.
    """
    last = mapping.cas_length - 1
    try:
        found = [
            tile_schedules(mapping, calls.device, at) for at in {last, 0 if calls.ends else last}
        ]
    except TargetError:
        return None
    if max(sum(turn.blocks_begun for turn in turns) for turns in found) > most:
        return None
    return max(sum(turn.body for turn in turns) for turns in found)


def _holds(mapping: ArrayMapping, device: Device) -> bool:
    """Whether registers and program memory of all tiles suffice."""
    most = device.architecture.core.program_memory_bytes
    try:
        made = schedules(mapping, device)
    except TargetError:
        return False
    return max(program_bytes(turns, device) for turns in made[:2] + made[-1:]) <= most
