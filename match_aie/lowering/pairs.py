"""Which steps of a schedule may run at the same time, and a schedule in which they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from match_aie.hardware import ExecModule
from match_aie.hardware.move import unit
from match_aie.hardware.tables import is_listed
from match_aie.lowering.company import all_beside_cycles
from match_aie.lowering.handover_choice import Choices
from match_aie.lowering.lanes import Beside
from match_aie.lowering.plan import places
from match_aie.lowering.program import Schedule, Step


@dataclass(frozen=True)
class Pair:
    """Two steps by index: `first` is started first; `other` moves to `module` if that is said."""

    first: int
    other: int
    module: str = ""


class Pairs:
    """Which steps of a schedule may run at the same time."""

    def __init__(
        self, schedule: Schedule, modules: Mapping[str, ExecModule], given: Sequence[Pair] = ()
    ) -> None:
        """Works out who waits for whom; pairs that are `given` are not looked for."""
        self._given = {step for pair in given for step in (pair.first, pair.other)}
        self._schedule = schedule
        self._modules = modules
        self._choices = Choices(schedule, modules)
        self._before = dependencies(schedule)

    def found(self) -> Iterator[tuple[Pair, float]]:
        """Pairs of steps, none in two of them, each ready when its partner is; cycles saved."""
        done: set[int] = set()
        for step in range(len(self._schedule.steps)):
            if step in done or step in self._given:
                done.add(step)
                continue
            gains = {other: self._gain(step, other) for other in self._ready(step, done)}
            done.add(step)
            best = max(gains, key=lambda other: gains[other][0], default=None)
            if best is not None and gains[best][0] > 0:
                done.add(best)
                saved, pair = gains[best]
                yield pair, saved

    def _ready(self, step: int, done: set[int]) -> list[int]:
        """Steps that could run beside `step`, all before it being done."""
        return [
            other
            for other in range(step + 1, len(self._schedule.steps))
            if other not in done | self._given
            and self._before[other] <= done
            and self._apart(step, other)
        ]

    def _apart(self, one: int, other: int) -> bool:
        layers = [self._schedule.steps[at].layer for at in (one, other)]
        first, second = (self._modules.get(layer.module) if layer else None for layer in layers)
        if first is None or second is None:
            return False
        if unit(first) == unit(second) and not self._twin(second):
            return False
        return all(layer and layer.tiles and is_listed(layer.tiles) for layer in layers)

    def _twin(self, module: ExecModule) -> str:
        """Another unit of the same kind, which runs the module's layers as well; "" without."""
        facts = {key: value for key, value in vars(module).items() if key not in ("name", "unit")}
        for name, twin in self._modules.items():
            if unit(twin) == unit(module) or type(twin) is not type(module):
                continue
            if facts == {k: v for k, v in vars(twin).items() if k not in ("name", "unit")}:
                return name
        return ""

    def _module(self, step: int) -> ExecModule:
        layer = self._schedule.steps[step].layer
        assert layer is not None
        return self._modules[layer.module]

    def _gain(self, one: int, other: int) -> tuple[float, Pair]:
        """Cycles saved in the worst case, and who goes first."""
        module, second = self._module(one), self._module(other)
        moved = self._twin(second) if unit(module) == unit(second) else ""
        pairs = (Pair(one, other, moved), Pair(other, one, moved))
        return max(((self._saved(p), p) for p in pairs), key=lambda found: found[0])

    def _saved(self, pair: Pair) -> float:
        lanes = [self._choices.lane(step) for step in (pair.first, pair.other)]
        return lanes[0].alone + lanes[1].alone - max(all_beside_cycles(*lanes))


def arranged(schedule: Schedule, pairs: Sequence[Pair]) -> Schedule | None:
    """`schedule` with these steps side by side, the others in their order.

    None where a step would then run before one that it waits for: whose own pair was given up.
    """
    partner = {p.first: p for p in pairs} | {p.other: p for p in pairs}
    order: list[int] = []
    beside = []
    for step in range(len(schedule.steps)):
        if step in order:
            continue
        if step not in partner:
            order.append(step)
            continue
        pair = partner[step]
        beside.append(Beside(len(order)))
        order += [pair.first, pair.other]
    at = {step: position for position, step in enumerate(order)}
    before = dependencies(schedule)
    if any(at[other] > at[step] for step in at for other in before[step]):
        return None
    moved = {p.other: p.module for p in pairs if p.module}
    steps = tuple(_on(schedule.steps[at], moved.get(at, "")) for at in order)
    return replace(schedule, steps=steps, beside=tuple(beside))


def _on(step: Step, module: str) -> Step:
    """The step, its layer on another module if one is named."""
    if not module or step.layer is None:
        return step
    return replace(step, layer=replace(step.layer, module=module))


def dependencies(schedule: Schedule) -> list[set[int]]:
    """For every step those before it that it waits for: what they touch, and one of them writes."""
    found = places(schedule)
    sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}

    waits: list[set[int]] = []
    touched: dict[str, list[_Touch]] = {}
    for index, step in enumerate(schedule.steps):
        now = [
            (found[name].owner, _Touch(index, found[name].offset, sizes[name], writes))
            for names, writes in ((step.reads(), False), (step.writes(), True))
            for name in names
        ]
        waits.append(
            {one.step for owner, t in now for one in touched.get(owner, ()) if t.waits_for(one)}
        )
        for owner, touch in now:
            touched.setdefault(owner, []).append(touch)
    return waits


@dataclass(frozen=True)
class _Touch:
    """A step reads or writes some bytes of a storage."""

    step: int
    offset: int
    nbytes: int
    writes: bool

    def waits_for(self, other: _Touch) -> bool:
        """Whether both share a byte, and one writes it."""
        apart = self.offset >= other.offset + other.nbytes
        apart |= other.offset >= self.offset + self.nbytes
        return not apart and (self.writes or other.writes)
