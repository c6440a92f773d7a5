"""Which kernel the tiles of a mapping run: the block of accumulators and how epilogues meet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import inf

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.fit import program_bytes, schedules, tile_schedules
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.local import plan_local
from match_aie.targets.aie_ml.array.shapes import blocks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import Variant, schedule_call
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.least import least_body

#: Block, how epilogues meet, block of the turn that requantises where that is another one.
Choice = tuple[tuple[int, int], Variant, tuple[int, int] | None]

#: Sums of a block of this size leave registers for any requantisation.
SINGLE = (1, 1)


def with_kernel(
    mapping: ArrayMapping,
    device: Device,
    variants: tuple[Variant, ...],
    shapes: tuple[tuple[int, int], ...] | None = None,
) -> ArrayMapping | None:
    """The mapping with the block that is fastest in the last tile of a chain; None if none fits.

    With what it loses to conflicts of banks, which hang on how often a block loads.

    Where registers do not hold what requantises sums of a block, calls of several turns do so in a
    last turn of single tiles. Among equals the first of `shapes`, of `blocks` where None, and of
    `variants`.
    """
    choice = _choice(_Calls(mapping, device, variants, shapes or blocks(mapping)))
    if choice is None:
        return None
    block, variant, last = choice
    return replace(mapping, block=block, variant=variant, last_block=last)


class _Calls:
    """The calls of a mapping as a key: equal where all that its kernels depend on is."""

    def __init__(
        self,
        mapping: ArrayMapping,
        device: Device,
        variants: tuple[Variant, ...],
        shapes: tuple[tuple[int, int], ...],
    ) -> None:
        m, layer = mapping, mapping.layer
        if mapping.tiling.waits:
            variants = ("overlapped",)
        plain = mapping if mapping.last_block is None else replace(mapping, last_block=None)
        self.mapping, self.device, self.variants = plain, device, variants
        self.shapes = shapes
        self.size = m.call_rows, m.call_reduction, m.call_columns
        self._alike = (
            (layer.a, layer.w, layer.out, layer.bias, layer.relu, layer.requantise),
            (m.tiling, min(m.cas_length, 3), m.reduction_steps, self.size, m.streamed),
            (device.architecture.name, variants, shapes),
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
        tried = _ending(option, calls.device)
        body = _body(tried, calls.device, inf if best is None else best[0] - lost)
        better = body is not None and (best is None or (body + lost, place) < best[:2])
        if body is not None and better and _holds(tried, calls.device):
            best = body + lost, place, (tried.block, tried.variant, tried.last_block)
    return None if best is None else best[2]


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
    turns = mapping.turns(mapping.cas_length - 1)
    return sum(times * least_body(kernel, key, calls.size) for times, kernel in turns)


def _body(mapping: ArrayMapping, device: Device, most: float) -> int | None:
    """Cycles of the last tile's turns; None where registers do not suffice, or they are more."""
    try:
        turns = tile_schedules(mapping, device, mapping.cas_length - 1)
    except TargetError:
        return None
    if sum(turn.blocks_begun for turn in turns) > most:
        return None
    return sum(turn.body for turn in turns)


def _holds(mapping: ArrayMapping, device: Device) -> bool:
    """Whether registers and program memory of all tiles suffice."""
    most = device.architecture.core.program_memory_bytes
    try:
        made = schedules(mapping, device)
    except TargetError:
        return False
    return max(program_bytes(turns) for turns in made[:2] + made[-1:]) <= most
