"""What the tiles of a recurrent layer whose gates are spread over chains do in a run."""

from __future__ import annotations

from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent import recurrent_uses
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import GROUP
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, sequence
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes
from match_aie.targets.aie_ml.schedule.recurrent_gates import gates_schedules


def gates_works(
    call: GatesCall, arch: Architecture, times: GateTimes = GateTimes()
) -> tuple[Work, ...]:
    """Calls of one of the tiles, in their order.

    Steps wait for the packets of the state before, but for the first one. A tile with the state
    gives its packet in each step but the last one, and a group's results with its last step.
    """
    schedules = gates_schedules(call, arch, times)
    uses = recurrent_uses(call, ("out", "sent") if call.ends else ("in0",) * call.begins, ())
    found: list[Work] = []
    for doing, number in sequence(call):
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
