"""Banks and calls of a tile that runs a recurrent layer in float32 (`kernels.recurrent_single`).

Weights have half of the banks to themselves, so that each product's are loaded while all else is
read in the other half.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent import in_halves
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Architecture, Device
from match_aie.targets.aie_ml.kernels.recurrent_single import (
    TURNS,
    Doing,
    SingleCall,
    sequence,
)
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import KeepCall, SentCall
from match_aie.targets.aie_ml.schedule.recurrent_single import single_schedules
from match_aie.targets.aie_ml.schedule.recurrent_single_code import SingleTimes

#: Bytes of a float.
FLOAT = 4


def lends(call: SingleCall) -> frozenset[str]:
    """Inputs that lie in the memory of the tile next to it."""
    mine = call.parts != ("steps",) or call.role == "link"
    return frozenset(() if mine else {"in0"})


def single_banks(call: SingleCall, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Everything in the tile's memory; why it does not fit."""
    count, size = logical_banks(device)
    far, near = tuple(range(count // 2)), tuple(range(count // 2, count))
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    found = [Banked("stack", far, stack + call.stack_bytes, 1, "stack")]
    for at, elements in enumerate(call.input_sizes):
        if f"in{at}" not in lends(call):
            found.append(Banked(f"in{at}", far, FLOAT * elements, 2, "a"))
    for name, elements in (("out", call.output_size), ("sent", call.sent_size)):
        if elements:
            found.append(Banked(name, far, FLOAT * elements, 2, "out"))
    for p in call.parameters:
        side, role = (near, "w") if p.name == "w" else (far, "bias")
        found.append(Banked(p.name, side, FLOAT * p.size, 1, role))
    return in_halves(found, (near, far), size, call.symbol)


def single_met_bytes(call: SingleCall) -> int:
    """Bytes of a call that others move while the core loads from their banks, at most.

    All that comes into the tile's memory and is fetched from it, by streams or a neighbour's core.
    """
    own = sum(size for at, size in enumerate(call.input_sizes) if f"in{at}" not in lends(call))
    if isinstance(call, LinkCall):  # a call is a step, what comes and leaves is of a group
        own = call.x_width if call.sees else own
        return FLOAT * (own + call.output_size // call.group + call.sent_size)
    return FLOAT * (own + call.output_size)


def single_met_cycles(call: SingleCall, device: Device) -> int:
    """Cycles that a call loses so, as the simulator counts them."""
    return device.lost_cycles(single_met_bytes(call))


def single_works(
    call: SingleCall, arch: Architecture, times: SingleTimes = SingleTimes()
) -> tuple[Work, ...]:
    """What a tile does in a run, in order.

    Raises:
        TargetError: as `single_schedules`.
    """
    schedules = single_schedules(call, arch, times)
    own = [f"in{at}" for at in range(len(call.input_sizes)) if f"in{at}" not in lends(call)]
    stored = ("out",) * bool(call.output_size) + ("sent",) * bool(call.sent_size)
    far = (*own, *stored, "stack", *(p.name for p in call.parameters if p.name != "w"))
    near = tuple(p.name for p in call.parameters if p.name == "w")
    uses = (*(("w", name) for name in near), *(("a", name) for name in far))
    found = []
    for at, (doing, number) in enumerate(sequence(call)):
        schedule = schedules[doing]
        if doing == "group" and number == call.passes - 1:
            schedule = replace(schedule, steps=call.last)
        packets = call.senders if doing in ("gather", "then", "end") or number else 0
        packets = packets if call.role in ("rows", "gather") else 0
        if packets and doing in ("own", "then") and call.role == "rows":
            schedule = replace(schedule, step=schedule.step + times.packet)
        buffers = _buffers(call, doing, number)
        found.append(Work(schedule, *buffers, at == 0, uses, packets=packets))
    return tuple(found)


def _buffers(
    call: SingleCall, doing: Doing, number: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What it waits for, and what it is done with: room for results first, and results first."""
    if doing in ("inputs", "group"):
        return ("in0", "out"), ("in0", "out")
    if doing == "end":
        return 2 * (("in1",) * isinstance(call, SentCall) or ("in0",) * isinstance(call, LinkCall),)
    begins = number % call.group == 0
    ends = number % call.group == call.group - 1 or number == call.steps - 1
    if isinstance(call, SentCall | KeepCall):
        begins, ends = begins and doing == "sent", ends and doing == TURNS[len(call.turns) - 1]
        if isinstance(call, KeepCall):
            return ("in0", *("out",) * begins), (*("out",) * ends, "in0")
        came = ("in1",) * (number > 0 or doing == "then")
        return (*("in0",) * begins, *came, "out"), ("out", *came, *("in0",) * ends)
    if isinstance(call, LinkCall):
        sent, group = ("sent",) * bool(call.sent_size), "in0" if call.sees else "out"
        if call.sees or call.ends:
            return (*(group,) * begins, *sent), (*sent, *(group,) * ends)
        return 2 * (("in0",) * (number > 0),)
    begins, ends = begins and doing != "then", ends and (doing == "then" or call.exchanges == 1)
    if call.role == "gather":
        return ("out",) * begins, ("out",) * ends
    return (*("in0",) * begins, "out"), ("out", *("in0",) * ends)
