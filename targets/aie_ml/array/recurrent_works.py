"""What the tiles of recurrent layers do in a run: calls, buffers taken and given, packets."""

from __future__ import annotations

from dataclasses import replace

from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent import recurrent_uses
from match_aie.targets.aie_ml.array.recurrent_cascade import cascade_works
from match_aie.targets.aie_ml.array.recurrent_gates import gates_works
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined, sequence
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule, group_works
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes


def recurrent_works(
    call: RecurrentCall, arch: Architecture, times: GateTimes = GateTimes()
) -> tuple[Work, ...]:
    """What a tile of a layer does in a run, call after call.

    Args:
        call: its function.
        arch: of the array.
        times: that are assumed.
    """
    if isinstance(call, AnyJoined):
        return _joined_works(call, arch, times)
    if isinstance(call, AnyCascade):
        return cascade_works(call, arch, times)
    if isinstance(call, GatesCall):
        return gates_works(call, arch, times)
    return _group_works(call, tuple(group_works(call, arch, times)))


def _group_works(call: RecurrentCall, groups: tuple[GroupSchedule, ...]) -> tuple[Work, ...]:
    """Groups of steps one after the other: each takes its inputs, and room for its states.

    Schedules have two banks, near and far, in the places of activations and weights.
    """
    sums = () if "inputs" in call.parts else ("in0",)  # of another tile
    near = ("out",) if sums else ("in0", "out")
    ports, uses = ("in0", "out"), recurrent_uses(call, near, sums)
    return tuple(Work(group, ports, ports, at == 0, uses) for at, group in enumerate(groups))


def _joined_works(call: AnyJoined, arch: Architecture, times: GateTimes) -> tuple[Work, ...]:
    """What one of several tiles does in a run: inputs of groups, steps, and the last state."""
    whole = next(group_works(call, arch, times))
    if isinstance(call, AnyNeighbour):
        return _neighbour_works(call, whole)
    schedules = {
        "inputs": replace(whole, steps=0),
        "step": replace(whole, steps=1, quads=0),
        "end": replace(whole, steps=0, quads=0),
    }
    if isinstance(call, AnyPacket):
        return _packet_works(call, schedules, times)
    uses = recurrent_uses(call, ("in0", "out"), ("in1",))
    found: list[Work] = []
    for doing, number in sequence(call):
        takes: tuple[str, ...] = {"inputs": ("in0",), "step": ("in1", "out"), "end": ("in1",)}[
            doing
        ]
        if doing == "step" and not number:
            takes = ("out",)
        found.append(Work(schedules[doing], takes, takes, not found, uses))
    return tuple(found)


def _neighbour_works(call: AnyNeighbour, whole: GroupSchedule) -> tuple[Work, ...]:
    """Of a tile whose inputs' sums come in groups, and whose neighbour has the others' units."""
    step, end = replace(whole, steps=1), replace(whole, steps=0, reads=(), writes=())
    first = replace(step, reads=())  # no state is before it
    if call.takes:
        end = replace(end, reads=tuple(range(call.chunks)))
    sent, lent = () if call.hands else ("sent",), () if call.takes else ("in1",)
    uses = recurrent_uses(call, ("out", *sent), ("in0",))
    found: list[Work] = []
    for at in range(call.steps):
        last = at % call.group == call.group - 1 or at == call.steps - 1
        states, group = (*lent, *sent) if at else sent, ("in0", "out")
        takes = (*group, *states) if at % call.group == 0 else states
        gives = (*states, *group) if last else states
        found.append(Work(step if at else first, takes, gives, at == 0, uses))
    return (*found, Work(end, lent, lent, False, uses))


def _packet_works(
    call: AnyPacket, schedules: dict[str, GroupSchedule], times: GateTimes
) -> tuple[Work, ...]:
    """Likewise, where states come as packets: a step begins when the last one lies in its place.

    Words are read and stored as they come, by code without a loop.
    """
    more = call.tiles * (1 + 2 * call.words)
    schedules = {
        doing: replace(each, bundles=each.bundles + more) for doing, each in schedules.items()
    }
    step = schedules["step"]
    later = replace(step, step=step.step + times.packet)
    sent = ("sent",) if call.sent_size else ()
    uses = recurrent_uses(call, ("in0", "out"), sent)
    found: list[Work] = []
    for doing, number in sequence(call):
        takes = {"inputs": ("in0",), "step": ("out", *sent), "end": ()}[doing]
        reads = call.tiles if doing == "end" or (doing == "step" and number) else 0
        schedule = later if reads and doing == "step" else schedules[doing]
        found.append(Work(schedule, takes, takes, not found, uses, packets=reads))
    return tuple(found)
