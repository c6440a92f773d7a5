"""Layers that start when the one before them on their unit is done, beside what still runs.

Where two layers run side by side, and what follows does not wait for both, it is entered unit by
unit: two lanes, each with several layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from match_aie.hardware import ExecModule
from match_aie.hardware.move import unit
from match_aie.hardware.tables import is_listed
from match_aie.lowering.lanes import Beside, members
from match_aie.lowering.linked import read_of
from match_aie.lowering.pairs import dependencies
from match_aie.lowering.program import Schedule, Step

#: Layers in two lanes at most: what the emulation has room for.
MOST = 12


def joined(schedule: Schedule, modules: Mapping[str, ExecModule], first: int) -> Iterator[Schedule]:
    """`schedule` with what runs from step `first` on, and what follows it, in two lanes.

    In each order in which the layers that follow can be entered; nothing where none can be.

    Args:
        schedule: with layers side by side, not planned.
        modules: which may run beside others, by name.
        first: the first one of steps that run at the same time.
    """
    one = next(among for among in schedule.beside if among.step == first)
    after = members(schedule.beside).get(one.end, Beside(one.end, lanes=(0,)))
    if after.end > len(schedule.steps) or after.end - first > MOST:
        return
    units = [_unit(schedule.steps[step], modules) for step in range(first, after.end)]
    if None in units or len(set(units)) != 2 or _linked(schedule, one) or _linked(schedule, after):
        return
    lanes = [int(found != units[0]) for found in units]
    waits = dependencies(schedule)
    for entered in permutations(after.steps):
        order = (*one.steps, *entered)
        made = Beside(first, lanes=tuple(lanes[step - first] for step in order))
        at = {step: first + place for place, step in enumerate(order)}
        if all(
            made.span(at[before])[1] < at[step]
            for step in order
            for before in waits[step] & at.keys()
        ):
            steps = list(schedule.steps)
            steps[first : after.end] = [schedule.steps[step] for step in order]
            others = tuple(other for other in schedule.beside if other not in (one, after))
            beside = tuple(sorted((*others, made), key=lambda among: among.step))
            yield replace(schedule, steps=tuple(steps), beside=beside)


def _unit(step: Step, modules: Mapping[str, ExecModule]) -> str | None:
    """Which unit runs a step; None where that runs beside no other, or its tiles are loops."""
    layer = step.layer
    if layer is None or layer.module not in modules or layer.tiles is None:
        return None
    return unit(modules[layer.module]) if is_listed(layer.tiles) else None


def _linked(schedule: Schedule, among: Beside) -> bool:
    """Whether one of two reads tile by tile what the other one makes."""
    steps: Sequence[Step] = schedule.steps[among.step : among.end]
    return len(steps) > 1 and bool(read_of(*steps[:2]))
