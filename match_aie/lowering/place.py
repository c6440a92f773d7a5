"""From a schedule to a program: orders, joins, storage, hand-over, side by side, lists in L1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import MatchTarget, Objective, SharedMemory, facet
from match_aie.lowering.beside import side_by_side
from match_aie.lowering.handover import hand_over
from match_aie.lowering.handover_choice import Known
from match_aie.lowering.held import held
from match_aie.lowering.joining import join, refused
from match_aie.lowering.near import near
from match_aie.lowering.program import NetworkProgram, Schedule
from match_aie.lowering.reorder import reordered
from match_aie.lowering.slicing import sliced
from match_aie.lowering.streams import store


def place(
    schedule: Schedule,
    target: MatchTarget,
    *,
    limit: int | None = None,
    objective: Objective = "latency",
) -> NetworkProgram | Infeasible:
    """Everything at its place: operands of concatenations within them, where that fits.

    A concatenation in place lives longer than a copy, so where it does not fit, copies are tried.

    Args:
        schedule: the network's calls.
        target: the chip.
        limit: bytes that the arena may take.
        objective: what decides what stays in an inner memory.

    Raises:
        TargetError: constants may be fetched, and the target's runtime cannot.
    """
    found: NetworkProgram | Infeasible | None = None
    schedule = reordered(schedule, target)
    for attempt in _attempts(schedule, target.build_profile().inner_alignment):
        schedule = held(attempt, target)
        plan = partial(_place, target=target, limit=limit, objective=objective, known=Known())
        found = plan(schedule)
        if not isinstance(found, Infeasible):
            found = side_by_side(found, schedule, target, objective, plan)
            return near(found, facet(target, SharedMemory).list_bytes)
    assert found is not None
    return found


def _attempts(schedule: Schedule, alignment: int) -> Iterator[Schedule]:
    schedule = sliced(schedule, alignment)
    yield join(schedule, alignment)
    if any(one.parts for one in schedule.joins):
        yield refused(schedule, "in one place with its operands it does not fit in memory")


def _place(
    schedule: Schedule,
    target: MatchTarget,
    limit: int | None,
    objective: Objective,
    known: Known,
) -> NetworkProgram | Infeasible:
    """With every layer's tensors at their places.

    Args:
        schedule: the network's calls.
        target: the chip.
        limit: bytes that the arena may take.
        objective: what decides what stays in an inner memory.
        known: of other plans of the network.
    """
    alignment, storage = target.build_profile().alignment, target.storage()
    if storage.backing and not target.runtime().entry:
        raise TargetError(
            f"target {target.name} has {storage.backing} behind {storage.memory}, and a runtime "
            "without an entry, which has no function that fetches from there",
            hint='Runtime(files, headers, entry="ma_network") with SCRATCHPAD_FILES, or no backing',
        )
    program = store(schedule, storage, alignment=alignment, limit=limit)
    if isinstance(program, Infeasible):
        return program
    return hand_over(program, target, limit=limit, objective=objective, known=known)
