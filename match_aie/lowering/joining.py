"""Concatenations without copies: operands that are made where they belong in the result.

The fallback copies every operand into a view of the result (`match_aie.fallback.joins`). Where
nothing but steps of this network makes an operand, and it lies nowhere else, its storage becomes
that view, and the copy is dropped: the step that makes it, and all that read it, find it inside the
result. The result then lives from the first of its operands on.
"""

from __future__ import annotations

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
    return replace(without_unused_copies(schedule), joins=tuple(joins))


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


class _Joining:
    """One concatenation of a schedule while its operands find their places, one after the other."""

    def __init__(self, schedule: Schedule, alignment: int) -> None:
        """Nothing is in place yet."""
        self._schedule, self._alignment = schedule, alignment
        self._places = dict(places(schedule))
        self._bytes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}
        self._views: dict[str, set[str]] = {}
        for name, place in self._places.items():
            self._views.setdefault(place.owner, set()).add(name)
        self._writer = {
            name: index for index, step in enumerate(schedule.steps) for name in step.writes()
        }
        self._callers = frozenset((*schedule.inputs, *schedule.outputs))
        self._given = {alias.view: alias for alias in schedule.aliases}
        self._added: list[Alias] = []
        self._dropped: set[int] = set()

    def copy_to(self, part: str) -> _Copy:
        """The step that makes `part`."""
        index = self._writer[part]
        return _Copy(index, self._schedule.steps[index].arguments[0], part)

    def nbytes(self, name: str) -> int:
        """Bytes of a tensor."""
        return self._bytes[name]

    def obstacle(self, copy: _Copy) -> str | None:
        """Why an operand has to be copied; None where its storage may become its part."""
        if copy.source.kind != "tensor":
            return "an operand is a constant"
        operand, part = self._places[copy.source.name], self._places[copy.part]
        if operand.owner in self._callers:
            whose = "input of the network"
            if operand.owner not in self._schedule.inputs:
                whose = "output of the network too"
            return f"an operand is an {whose}"
        if self._bytes[operand.owner] != self._bytes[copy.part]:
            return "an operand is a part of another concatenation, or occurs twice"
        if part.offset % self._alignment:  # of what lies in the operand, all were multiples before
            return f"an operand would begin at a byte that is no multiple of {self._alignment}"
        return None

    def in_place(self, copy: _Copy) -> str:
        """The operand's owner has the place of the part, which is no tensor of its own any more."""
        owner = self._places[copy.source.name].owner
        given, where = self._given.pop(copy.part), self._places.pop(copy.part)
        self._added.append(Alias(owner, given.base, given.offset))
        self._dropped.add(copy.index)
        self._views[where.owner].remove(copy.part)
        for name in self._views.pop(owner):
            self._places[name] = Place(where.owner, where.offset + self._places[name].offset)
            self._views[where.owner].add(name)
        return owner

    def schedule(self) -> Schedule:
        """With what is in place by now."""
        whole = self._schedule
        kept = (alias for alias in whole.aliases if alias.view in self._given)
        return replace(
            whole,
            tensors=tuple(tensor for tensor in whole.tensors if tensor.name in self._places),
            aliases=(*kept, *self._added),
            steps=tuple(step for n, step in enumerate(whole.steps) if n not in self._dropped),
        )


def _join(schedule: Schedule, one: Join, alignment: int) -> tuple[Schedule, Join]:
    """The schedule with operands of one concatenation in place, and what is known of it then."""
    joining = _Joining(schedule, alignment)
    copied, parts, reasons = 0, [], []
    for part in one.parts:
        copy = joining.copy_to(part)
        reason = joining.obstacle(copy)
        if reason is None:
            parts.append(joining.in_place(copy))
        else:
            parts.append(part)
            reasons.append(reason)
            copied += joining.nbytes(part)
    return joining.schedule(), replace(
        one, copied=copied, parts=tuple(parts), reasons=tuple(dict.fromkeys(reasons))
    )


def without_unused_copies(schedule: Schedule) -> Schedule:
    """`schedule` without functions that copy and that nothing calls any more."""
    called = {step.symbol for step in schedule.steps}
    functions = (f for f in schedule.functions if f.symbol in called or f.operators != COPY)
    return replace(schedule, functions=tuple(functions))
