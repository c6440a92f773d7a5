"""Layers whose results only their module ever holds, and what they cost then."""

from __future__ import annotations

from dataclasses import replace

from match_aie.hardware import ArrayChip, MatchTarget, facet
from match_aie.lowering.program import Schedule


def held(schedule: Schedule, target: MatchTarget) -> Schedule:
    """`schedule` with what `target` hands over from layer to layer within its modules."""
    found = facet(target, ArrayChip).handed_over(schedule.chosen)
    if not found:
        return schedule
    steps = list(schedule.steps)
    for index, step in enumerate(steps):
        over = found.get(step.layer.symbol) if step.layer else None
        if step.layer is not None and over is not None:
            layer = replace(
                step.layer, cost=over.cost, held_until=over.held_until, ahead=over.ahead
            )
            steps[index] = replace(step, layer=layer)
    return replace(schedule, steps=tuple(steps))
