"""Schedules of recurrent kernels in float32: an input's products, a step, what a tile hands on.

Code of a chunk of eight units is a straight line, placed by `listed`; chunks and steps follow each
other without overlap. Weights lie in the near side of the memory, all else in the far one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES, TURNS, Doing, SingleCall
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall
from match_aie.targets.aie_ml.schedule.call import FRAME_BUNDLES, ArchitectureKey
from match_aie.targets.aie_ml.schedule.listed import Listed
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule
from match_aie.targets.aie_ml.schedule.recurrent_single_code import (
    ChunkProblem,
    SingleTimes,
    lines_of,
    link_of,
)


def single_schedules(
    call: SingleCall, arch: Architecture, times: SingleTimes = SingleTimes()
) -> Mapping[Doing, GroupSchedule]:
    """Modelled cycles of everything that a tile does in turn.

    Raises:
        TargetError: facts are missing, or registers do not suffice.
    """
    turn, chunks, gates = times.turn, call.chunks, len(call.spec.gates)
    if isinstance(call, LinkCall):
        return _link_schedules(call, arch, times)
    if call.role == "sent":
        return _sent_schedules(call, arch, times)
    if call.role == "keep":
        return _keep_schedules(call, arch, times)
    inputs: tuple[Listed, ...] = ()
    step: tuple[Listed, ...] = ()
    key = ArchitectureKey(arch)
    if "inputs" in call.parts:
        inputs = lines_of(ChunkProblem(None, call.inputs, gates, times, key))
    if "steps" in call.parts:
        step = lines_of(ChunkProblem(call.spec.cell, call.hidden, gates, times, key))
    seen, walked = (sum(chunks * (line.cycles + turn) for line in each) for each in (inputs, step))
    handed = arch.latency("vector_load_to_use") + 2 * chunks
    bundles = sum(line.cycles for line in (*inputs, *step)) + handed + FRAME_BUNDLES
    if call.role in ("rows", "gather"):  # words are read and stored as they come, without a loop
        bundles += call.exchanges * call.senders * (1 + 2 * call.units)
    kinds = (_times(inputs, chunks), _times(step, chunks))
    plain = GroupSchedule(0, walked, turn, 0, 0, bundles, kinds)
    collected = replace(plain, inputs=turn, quads=1)
    if call.role == "rows" and len(step) > 1:
        own, then = (
            replace(plain, steps=1, step=chunks * (line.cycles + turn), kinds=(Counter(), many))
            for line, many in ((line, _times((line,), chunks)) for line in step)
        )
        return {"own": own, "then": then, "end": plain}
    return {
        "inputs": replace(plain, inputs=call.group * (seen + turn), quads=1),
        "group": replace(plain, inputs=call.group * (seen + turn), quads=1, steps=call.group),
        "own": replace(plain, steps=1),
        "end": plain,
        "gather": collected,
        "then": collected,
    }


def _link_schedules(
    call: LinkCall, arch: Architecture, times: SingleTimes
) -> Mapping[Doing, GroupSchedule]:
    """Likewise of a tile along a cascade, whose words move chunk by chunk."""
    sizes = len(call.columns), len(call.spec.gates)
    lines = lines_of(
        ChunkProblem(call.spec.cell, *sizes, times, ArchitectureKey(arch), link_of(call))
    )
    each = lines[0].cycles + times.turn
    begins = [chunk * each for chunk in range(call.chunks)]
    reads, writes = (
        tuple(begin + cycle for begin in begins for cycle in moved)
        for moved in (lines[0].reads, lines[0].writes)
    )
    bundles = lines[0].cycles + FRAME_BUNDLES
    kinds = Counter[str](), _times(lines, call.chunks)
    end = GroupSchedule(0, call.chunks * each, times.turn, 0, 0, bundles, kinds)
    return {"link": replace(end, steps=1, reads=reads, writes=writes), "end": end}


def _sent_schedules(
    call: SingleCall, arch: Architecture, times: SingleTimes
) -> Mapping[Doing, GroupSchedule]:
    """Likewise of a tile without gates, turn by turn of a step."""
    key, beside = ArchitectureKey(arch), call.spec.cell == "gru"
    made = [
        ChunkProblem(None, call.hidden, len(gates), times, key, beside=beside)
        for gates in call.turns
    ]
    lines = [lines_of(each) for each in made]
    bundles = sum(line.cycles for (line,) in lines) + FRAME_BUNDLES
    found: dict[Doing, GroupSchedule] = {}
    for doing, each in zip(TURNS, lines, strict=False):
        cycles = call.chunks * (each[0].cycles + times.turn)
        kinds = Counter[str](), _times(each, call.chunks)
        found[doing] = GroupSchedule(0, cycles, times.turn, 1, 0, bundles, kinds)
    end = replace(found["sent"], steps=0)
    return {**found, "end": end}


def _keep_schedules(
    call: SingleCall, arch: Architecture, times: SingleTimes
) -> Mapping[Doing, GroupSchedule]:
    """Likewise of a tile that copies what comes in a step's last turn."""
    copied = arch.latency("vector_load_to_use") + 2 * call.whole // LANES
    bundles = 2 * len(call.turns) + copied + FRAME_BUNDLES
    whole = GroupSchedule(0, copied, times.turn, 1, 0, bundles, (Counter(), Counter()))
    return {"sent": replace(whole, step=0), TURNS[len(call.turns) - 1]: whole}


def _times(lines: tuple[Listed, ...], chunks: int) -> Counter[str]:
    total = sum((line.kinds for line in lines), Counter[str]())
    return Counter({kind: chunks * count for kind, count in total.items()})
