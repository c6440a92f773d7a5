"""Kernels of a function by the turns of its calls, and what program memory functions take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, names_bytes
from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.devices import Architecture, Device
from match_aie.targets.aie_ml.graph.plan import Call
from match_aie.targets.aie_ml.kernels.attention import HEAD_PIECES, AttentionCall
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.schedule import Scheduled, Variant
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.primed import (
    PrimedSchedule,
    closing_schedule,
    passing_schedule,
    primed_schedule,
)
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule

#: Turns of a call that has kernels of all roles: the first one, pairs between, and the last one.
ROLES = 4


def program_bytes(work: tuple[Work, ...], call: Call, device: Device) -> int:
    """Estimate of a tile's program memory: its kernels and run time.

    Kernels of a function share its entry and exit, but for those of a kernel that several of them
    call: each of these is a function under its own name.
    """
    different = _functions(one.schedule for one in work)
    apart = any(isinstance(one, PrimedSchedule) for one in different)
    # Attention's code holds the entry of a product that is inlined, which is more than its names.
    named = not apart and not isinstance(call, PartsCall | AttentionCall)
    around = RUNTIME_BYTES + (names_bytes(kinds_of(call), device) if named else 0)
    if all(isinstance(schedule, GroupSchedule) for schedule in different):
        return around + different[0].program_bytes  # the last group has fewer steps
    frames = 0 if apart else (len(different) - 1) * FRAME_BUNDLES * BUNDLE_BYTES
    return around + sum(one.program_bytes for one in different) - frames


def kinds_of(call: Call) -> int:
    """Pieces of a function, each of which has a name where cores call by name."""
    if isinstance(call, Nest):
        return len(call.kernels)
    if isinstance(call, PartsCall):
        return 1 + len(call.kinds)
    if isinstance(call, AttentionCall):
        return HEAD_PIECES
    return 2 if isinstance(call, RecurrentCall) else 1


def _functions(schedules: Iterable[Scheduled]) -> list[Scheduled]:
    """Each once, and kernels that several of them call."""
    every = list(schedules)
    called = [one.turn for one in every if isinstance(one, PrimedSchedule)]
    every += [one for one in called if one is not None]
    return list({id(one): one for one in every}.values())


def schedules_of(nest: Nest, arch: Architecture) -> list[Scheduled]:
    """Of the roles that turns of a call have."""
    variant: Variant | None = "exposed" if nest.exposed else None
    beside = nest.numbers > 0 and not nest.halved
    found: list[Scheduled] = [
        schedule_of(kernel, arch, variant, beside=beside) for kernel in nest.kernels
    ]
    if nest.primed and nest.k_tiles > 1:
        between = found[1:-1]
        found[:-1] = primed_schedule(nest, arch), *(passing_schedule(nest, arch) for _ in between)
    if nest.halved and nest.k_tiles > 1:
        found[-1] = closing_schedule(nest, arch)
    return found


def bytes_of_roles(nest: Nest, arch: Architecture) -> int:
    """Program memory of a core that links calls of all roles, however few turns calls have.

    Each is a function, with an entry and an exit of its own.
    """
    every = replace(nest, m_tiles=1, n_tiles=1, k_tiles=ROLES)
    return RUNTIME_BYTES + sum(one.program_bytes for one in _functions(schedules_of(every, arch)))
