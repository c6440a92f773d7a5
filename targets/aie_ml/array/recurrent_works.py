"""What the tiles of recurrent layers do in a run: calls, buffers taken and given, packets."""

from __future__ import annotations

from dataclasses import replace

from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent import recurrent_uses
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade
from match_aie.targets.aie_ml.kernels.recurrent_cascade import sequence as cascade_sequence
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.kernels.recurrent_gates import sequence as gates_sequence
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined, sequence
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule, group_works
from match_aie.targets.aie_ml.schedule.recurrent_cascade import cascade_schedules
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes
from match_aie.targets.aie_ml.schedule.recurrent_gates import gates_schedules


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
        return _cascade_works(call, arch, times)
    if isinstance(call, GatesCall):
        return _gates_works(call, arch, times)
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
    """What one of several tiles does in a run: inputs of groups, steps, and the last state.

    Where states come as packets a step begins when the last one lies in its place. Words are read
    and stored as they come, by code without a loop.
    """
    whole = next(group_works(call, arch, times))
    if isinstance(call, AnyNeighbour):
        return _neighbour_works(call, whole)
    sent: tuple[str, ...] = ("sent",) * bool(call.sent_size)
    states: tuple[str, ...] = ("in1",)
    wait = packets = 0
    if isinstance(call, AnyPacket):
        wait, packets, states = times.packet, call.tiles, ()
        whole = replace(whole, bundles=whole.bundles + packets * (1 + 2 * call.words))
    first = replace(whole, steps=1, quads=0)
    schedules = {
        "inputs": replace(whole, steps=0),
        "step": replace(first, step=first.step + wait),
        "end": replace(whole, steps=0, quads=0),
    }
    uses = recurrent_uses(call, ("in0", "out"), (*states, *sent))
    found: list[Work] = []
    for doing, number in sequence(call):
        came = doing == "end" or (doing == "step" and number > 0)
        own = {"inputs": ("in0",), "step": ("out", *sent), "end": ()}[doing]
        takes = (*states * came, *own)
        schedule = schedules[doing] if came or doing == "inputs" else first
        found.append(Work(schedule, takes, takes, not found, uses, packets=packets * came))
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


def _cascade_works(call: AnyCascade, arch: Architecture, times: GateTimes) -> tuple[Work, ...]:
    """Calls of one of the tiles, in their order.

    A tile in the middle takes the state before from the second step on, and the last one, which no
    step reads.
    """
    schedules = cascade_schedules(call, arch, times)
    sent = ("sent",) if call.sent_size else ()
    sides = {"first": (("in0",), ()), "middle": ((), ("in0",)), "last": (("out",), sent)}
    uses = recurrent_uses(call, *sides[call.role])
    ports = ("out", *sent) if call.role == "last" else ("in0",)
    found: list[Work] = []
    for doing, number in cascade_sequence(call):
        free = doing == "send" or (call.role == "middle" and doing == "step" and not number)
        takes = () if free else ports
        found.append(Work(schedules[doing], takes, takes, not found, uses))
    return tuple(found)


def _gates_works(call: GatesCall, arch: Architecture, times: GateTimes) -> tuple[Work, ...]:
    """Calls of one of the tiles, in their order.

    Steps wait for the packets of the state before, but for the first one. A tile with the state
    gives its packet in each step but the last one, and a group's results with its last step.
    """
    schedules = gates_schedules(call, arch, times)
    uses = recurrent_uses(call, ("out", "sent") if call.ends else ("in0",) * call.begins, ())
    found: list[Work] = []
    for doing, number in gates_sequence(call):
        later = doing == "step" and number > 0
        # A group's inputs are there from its first gate's products to its last one's.
        at = number % GROUP if doing == "ahead" else -1
        takes: tuple[str, ...] = ("in0",) * (doing == "inputs" or at == 0)
        gives = ("in0",) * (doing == "inputs" or at == len(call.spec.gates) - 1)
        if doing == "step" and call.ends:
            last = number == call.steps - 1
            sent = () if last else ("sent",)
            takes = (*("out",) * (number % call.group == 0), *sent)
            gives = (*sent, *("out",) * (last or number % call.group == call.group - 1))
        schedule = schedules["later" if later else doing]
        packets = call.chains if later else 0
        found.append(Work(schedule, takes, gives, not found, uses, packets=packets))
    return tuple(found)
