"""Layers that change the unit, to run beside a layer of another branch that keeps it.

Modules are chosen layer by layer, so both of two branches may be on the faster unit, one after the
other, while the slower one has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from match_aie.hardware import ExecModule
from match_aie.hardware.move import unit
from match_aie.lowering.constants import packed_constants
from match_aie.lowering.division import Half, Way, on_both, whole_on
from match_aie.lowering.division import together as beside
from match_aie.lowering.program import Constant, LayerProgram, Schedule, Step
from match_aie.lowering.tiles import tile_program


@dataclass(frozen=True, eq=False)
class Moved:
    """Step `step` on another module, beside a step that stays; `gain` is modelled.

    `pair` are functions of both, first the one that is started first.
    """

    step: int
    symbol: str
    half: Half
    pair: tuple[str, str]
    gain: float


def moves(
    schedule: Schedule,
    modules: Mapping[str, ExecModule],
    before: Sequence[Set[int]],
    divided: Mapping[int, float],
) -> list[tuple[int, Moved]]:
    """Layers that would better change the unit, each with the step of a partner of its own.

    Args:
        schedule: the network's calls.
        modules: which may run beside others, by name.
        before: for every step those that it waits for.
        divided: what steps gain that may be divided in halves instead.
    """
    used: set[int] = set()
    waits, units = _all_before(before), _Units(schedule, modules)
    chosen = []
    for index, step in enumerate(schedule.steps):
        if index in used or step.layer is None or step.layer.module not in modules:
            continue
        if step.layer.pinned:
            continue
        apart = [
            other
            for other, one in enumerate(schedule.steps)
            if other not in used | {index}
            and one.layer is not None
            and one.layer.module == step.layer.module
            and other not in waits[index]
            and index not in waits[other]
        ]
        found = [
            (moved.gain - divided.get(index, 0.0) - divided.get(other, 0.0), other, moved)
            for other in apart
            for moved in _moved(units, index, other)
        ]
        gain, partner, best = max(found, key=lambda one: one[0], default=(0.0, index, None))
        if best is not None and gain > 0:
            used |= {index, partner}
            chosen.append((partner, best))
    return chosen


def _all_before(before: Sequence[Set[int]]) -> list[set[int]]:
    """All that a step waits for, whoever is between."""
    found: list[set[int]] = []
    for steps in before:
        found.append(set(steps).union(*(found[step] for step in steps)))
    return found


class _Units:
    """Layers whole on units, each worked out once however many partners it is tried with."""

    def __init__(self, schedule: Schedule, modules: Mapping[str, ExecModule]) -> None:
        """Nothing yet."""
        self._schedule = schedule
        self._modules = modules
        self._stays: dict[int, Half | None] = {}
        self._elsewhere: dict[int, tuple[Half, ...]] = {}

    def layer(self, step: int) -> LayerProgram:
        """Of a step that is one."""
        layer = self._schedule.steps[step].layer
        assert layer is not None
        return layer

    def stays(self, step: int) -> Half | None:
        """All of a layer where it is; None where that does not fit."""
        if step not in self._stays:
            layer = self.layer(step)
            self._stays[step] = whole_on(_way(layer, self._modules[layer.module]))
        return self._stays[step]

    def elsewhere(self, step: int) -> tuple[Half, ...]:
        """All of a layer on other units, in its arithmetic, so that nobody sees where it ran."""
        if step not in self._elsewhere:
            layer = self.layer(step)
            here = self._modules[layer.module]
            others = (m for m in self._modules.values() if unit(m) != unit(here))
            ways = (on_both(layer, here, module) for module in others)
            kept = (way[1] for way in ways if way and way[0].workload == layer.workload)
            halves = (whole_on(way) for way in kept)
            self._elsewhere[step] = tuple(half for half in halves if half is not None)
        return self._elsewhere[step]


def _moved(units: _Units, index: int, other: int) -> Iterator[Moved]:
    """Step `index` on another unit beside step `other`, where that is modelled faster."""
    stays, was = units.stays(other), units.stays(index)
    if stays is None or was is None:
        return
    symbols = units.layer(index).symbol, units.layer(other).symbol
    for half in units.elsewhere(index):
        orders = {symbols: (half, stays), symbols[::-1]: (stays, half)}
        taken = {order: beside(halves) for order, halves in orders.items()}
        order = min(taken, key=lambda order: taken[order])
        gain = was.cost.cycles + stays.cost.cycles - taken[order]
        if gain > 0:
            yield Moved(index, symbols[0], half, order, gain)


def _way(layer: LayerProgram, module: ExecModule) -> Way:
    return Way(module, layer.pattern, layer.workload, dict(layer.constants), layer.original)


def move(schedule: Schedule, found: Sequence[Moved]) -> Schedule:
    """`schedule` with these layers on their other modules."""
    steps = list(schedule.steps)
    constants = {constant.name: constant for constant in schedule.constants}
    for moved in found:
        step, changed = on_way(steps[moved.step], moved.half)
        steps[moved.step] = step
        constants |= {constant.name: constant for constant in changed}
    return replace(schedule, steps=tuple(steps), constants=tuple(constants.values()))


def on_way(step: Step, half: Half) -> tuple[Step, list[Constant]]:
    """A step as all of it would run in another way, and its constants."""
    layer, way = step.layer, half.way
    assert layer is not None
    packed = packed_constants(way.workload, way.module, half.mapping, half.constants)
    names = [operand.name for operand in way.workload.constants]
    changed = replace(
        layer,
        module=way.module.name,
        pattern=way.pattern,
        template=way.module.template(way.workload),
        workload=way.workload,
        mapping=half.mapping,
        cost=half.cost,
        constants=tuple((name, np.asarray(value)) for name, value in half.constants.items()),
        tiles=tile_program(way.workload, way.module, half.mapping),
    )
    known = {a.name for a in step.arguments if a.kind == "constant"}
    assert known == {f"{layer.symbol}_{name}" for name in names}
    return replace(step, layer=changed, in_place=()), [
        Constant(f"{layer.symbol}_{name}", packed[name]) for name in names
    ]
