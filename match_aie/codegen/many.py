"""Runs of a network that follow each other in one call: where the calls of a run are divided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match_aie.lowering import NetworkProgram, Schedule
from match_aie.lowering.plan import storages


@dataclass(frozen=True)
class Many:
    """Where the calls of a run are divided.

    Attributes:
        last: number of the call whose result is taken later.
        symbol: of that layer.
        result: C expression of where its result goes.
        ahead: runs that begin before a result is taken.
    """

    last: int
    symbol: str
    result: str
    ahead: int


def divided(schedule: Schedule) -> int | None:
    """The call whose result is taken in a later run; None where there is no such call.

    Before it and after it lie calls of different runs. So nothing but that result may be handed
    over in the arena; inputs and outputs belong to one run each.
    """
    found = [at for at, step in enumerate(schedule.steps) if step.layer and step.layer.ahead]
    if len(found) != 1:
        return None
    (last,) = found
    owners = storages(schedule)
    outside = {*schedule.inputs, *schedule.outputs}
    early = {owners[name] for step in schedule.steps[:last] for name in step.writes()}
    late = {owners[name] for step in schedule.steps[last + 1 :] for name in step.reads()}
    return None if (early & late) - outside else last


def many(program: NetworkProgram, address: Callable[[str], str]) -> Many | None:
    """How runs of `program` follow each other; None where they do not.

    Args:
        program: schedule and memory plan.
        address: C expression of where a tensor lies.
    """
    last = divided(program.schedule)
    if last is None or program.streams:
        return None
    step = program.schedule.steps[last]
    (result,) = step.writes()
    ahead = step.layer.ahead if step.layer is not None else 0
    return Many(last, step.symbol, address(result), ahead)
