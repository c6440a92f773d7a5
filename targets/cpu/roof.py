"""What bounds a layer on a processor whose vectors and caches are known."""

from __future__ import annotations

from match_aie.cost_models.processor import Dot, Machine
from match_aie.hardware import Roof
from match_aie.workload import Workload

#: Products that a lane of 32 bits sums at a time.
PER_LANE: dict[Dot, int] = {"dpbusd": 4, "sdot": 4, "madd": 2, "plain": 1}


def roof(machine: Machine, workload: Workload) -> Roof:
    """The peak of the layer's arithmetic, and the innermost cache that holds all its operands.

    Of several cores, each is taken to have the bandwidths that the facts state for one, as the
    cost model takes them (`match_aie.cost_models.cores`).
    """
    peaks, nbytes = machine.peaks, workload.nbytes
    if workload.real is not None:
        macs = peaks.fmas * machine.lanes
    else:
        macs = peaks.dots * machine.lanes * PER_LANE[machine.dot]
    memory, rate = "main memory", machine.memory_bytes_per_cycle
    for level, cache in enumerate(machine.caches, 1):
        if nbytes <= cache.bytes:
            memory, rate = f"L{level} cache", cache.bytes_per_cycle
            break
    source = f"facts of {machine.name}" + (
        f", times {machine.cores} cores" if machine.cores > 1 else ""
    )
    return Roof(macs * machine.cores, rate * machine.cores, memory, nbytes, source)
