"""Slices without copies: a block of a tensor that layers read where it lies.

The fallback copies each out of a view of what it is of (`match_aie.fallback.slices`). Such a copy
is dropped here, and its readers have the view, wherever the target's code takes its address.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.lowering.joining import COPY, without_unused_copies
from match_aie.lowering.plan import places
from match_aie.lowering.program import Alias, Schedule


def sliced(schedule: Schedule, alignment: int) -> Schedule:
    """`schedule` with slices read where they lie.

    Args:
        schedule: in which every slice is copied.
        alignment: of tensors within other tensors, in bytes, as the target's code needs it.
    """
    where, sizes = places(schedule), {t.name: t.nbytes for t in schedule.tensors}
    copies = {f.symbol for f in schedule.functions if f.operators == COPY}
    views = {alias.view: alias for alias in schedule.aliases}
    made: dict[str, Alias] = {}
    dropped = set()
    for index, step in enumerate(schedule.steps):
        if step.symbol not in copies or step.arguments[0].kind != "tensor":
            continue
        part, copy = (argument.name for argument in step.arguments)
        inside = part in views and sizes[part] < sizes[where[part].owner]
        kept = where[copy].owner != copy or copy in schedule.outputs
        if inside and not kept and where[part].offset % alignment == 0:
            made[part] = Alias(copy, views[part].base, views[part].offset)
            dropped.add(index)
    if not dropped:
        return schedule
    changed = replace(
        schedule,
        tensors=tuple(tensor for tensor in schedule.tensors if tensor.name not in made),
        aliases=tuple(made.get(alias.view, alias) for alias in schedule.aliases),
        steps=tuple(step for index, step in enumerate(schedule.steps) if index not in dropped),
    )
    return without_unused_copies(changed)
