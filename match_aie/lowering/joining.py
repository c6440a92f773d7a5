"""Concatenations without copies: operands that are made where they belong in the result.

The fallback copies every operand into a view of the result (`match_aie.fallback.joins`). Where
nothing but steps of this network makes an operand, and it lies nowhere else, its storage becomes
that view, and the copy is dropped: the step that makes it, and all that read it, find it inside the
result. The result then lives from the first of its operands on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from match_aie.lowering.plan import Place, places
from match_aie.lowering.program import Alias, Argument, Join, Schedule

#: What the fallback says of a function that copies a tensor.
COPY = "copy"


def join(schedule: Schedule, alignment: int) -> Schedule:
    """`schedule` with as many operands of concatenations made in place as may be.

    Args:
        schedule: in which every operand is copied.
        alignment: of tensors within other tensors, in bytes, as the target's code needs it.
    """
    joins = []
    for one in schedule.joins:
        if one.parts:
            schedule, one = _join(schedule, one, alignment)
        joins.append(one)
    return replace(_without_unused_copies(schedule), joins=tuple(joins))


def refused(schedule: Schedule, reason: str) -> Schedule:
    """`schedule` with all operands copied, for one reason."""
    joins = (replace(one, reasons=(reason,)) if one.parts else one for one in schedule.joins)
    return replace(schedule, joins=tuple(joins))


@dataclass(frozen=True)
class _Copy:
    """Step `index` copies `source` to the tensor `part`."""

    index: int
    source: Argument
    part: str


def _join(schedule: Schedule, one: Join, alignment: int) -> tuple[Schedule, Join]:
    """The schedule with operands of one concatenation in place, and what is known of it then."""
    copied, parts, reasons = 0, [], []
    for part in one.parts:
        copy = _copy_to(schedule, part)
        where = places(schedule)
        reason = _obstacle(schedule, copy, where, alignment)
        if reason is None:
            parts.append(where[copy.source.name].owner)
            schedule = _in_place(schedule, copy, parts[-1])
        else:
            parts.append(part)
            reasons.append(reason)
            copied += schedule.tensor(part).nbytes
    return schedule, replace(
        one, copied=copied, parts=tuple(parts), reasons=tuple(dict.fromkeys(reasons))
    )


def _copy_to(schedule: Schedule, part: str) -> _Copy:
    for index, step in enumerate(schedule.steps):
        if part in step.writes():
            return _Copy(index, step.arguments[0], part)
    raise KeyError(part)


def _obstacle(
    schedule: Schedule, copy: _Copy, where: Mapping[str, Place], alignment: int
) -> str | None:
    """Why an operand has to be copied; None where its storage may become its part."""
    if copy.source.kind != "tensor":
        return "an operand is a constant"
    operand, part = where[copy.source.name], where[copy.part]
    if operand.owner in schedule.inputs:
        return "an operand is an input of the network"
    if operand.owner in schedule.outputs:
        return "an operand is an output of the network too"
    if schedule.tensor(operand.owner).nbytes != schedule.tensor(copy.part).nbytes:
        return "an operand is a part of another concatenation, or occurs twice"
    if part.offset % alignment:  # of what lies in the operand, all were multiples before
        return f"an operand would begin at a byte that is no multiple of {alignment}"
    return None


def _in_place(schedule: Schedule, copy: _Copy, owner: str) -> Schedule:
    """`owner` has the place of the part, which is no tensor of its own any more."""
    given = next(alias for alias in schedule.aliases if alias.view == copy.part)
    aliases = [alias for alias in schedule.aliases if alias.view != copy.part]
    aliases.append(Alias(owner, given.base, given.offset))
    steps = list(schedule.steps)
    del steps[copy.index]
    return replace(
        schedule,
        tensors=tuple(tensor for tensor in schedule.tensors if tensor.name != copy.part),
        aliases=tuple(aliases),
        steps=tuple(steps),
    )


def _without_unused_copies(schedule: Schedule) -> Schedule:
    called = {step.symbol for step in schedule.steps}
    functions = (f for f in schedule.functions if f.symbol in called or f.operators != COPY)
    return replace(schedule, functions=tuple(functions))
