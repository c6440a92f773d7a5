"""What the tiles of a recurrent layer along a cascade do in a run."""

from __future__ import annotations

from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent import recurrent_uses
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, sequence
from match_aie.targets.aie_ml.schedule.recurrent_cascade import cascade_schedules
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes


def cascade_works(
    call: AnyCascade, arch: Architecture, times: GateTimes = GateTimes()
) -> tuple[Work, ...]:
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
    for doing, number in sequence(call):
        free = doing == "send" or (call.role == "middle" and doing == "step" and not number)
        takes = () if free else ports
        found.append(Work(schedules[doing], takes, takes, not found, uses))
    return tuple(found)
