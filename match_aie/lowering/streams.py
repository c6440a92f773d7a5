"""Constants that do not fit beside the activations: kept in a backing memory, and fetched in time.

A streamed step's constants, a layer's or the fallback's, are copied into the arena while the step
before it runs, and are forgotten after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.errors import Infeasible
from match_aie.hardware import Storage
from match_aie.lowering.plan import plan
from match_aie.lowering.program import Constant, MemoryPlan, NetworkProgram, Schedule, Stream


def store(
    schedule: Schedule, storage: Storage, *, alignment: int = 64, limit: int | None = None
) -> NetworkProgram | Infeasible:
    """Plan the memory, and stream as few constants as make everything fit.

    The steps with the most bytes of constants are streamed first. Inputs, outputs, the arena and
    all constants that stay share `storage.bytes`.

    Args:
        schedule: the network's calls.
        storage: what the target has.
        alignment: of every placement and constant, in bytes.
        limit: bytes that the arena may take; None for no limit.
    """
    everything = streamable(schedule, alignment)
    most = len(everything) if storage.backing else 0
    result: MemoryPlan | Infeasible | None = None
    for count in range(most + 1):
        streams = tuple(sorted(everything[:count], key=lambda stream: stream.step))
        result = plan(schedule, alignment=alignment, limit=limit, streams=streams)
        if isinstance(result, Infeasible):
            break
        program = NetworkProgram(schedule, result, streams)
        if storage.bytes is None or taken(program, alignment) <= storage.bytes:
            return program
    if isinstance(result, Infeasible):
        return result
    assert result is not None
    assert storage.bytes is not None
    return _refusal(NetworkProgram(schedule, result, streams), storage, storage.bytes, alignment)


def streamable(schedule: Schedule, alignment: int) -> list[Stream]:
    """Steps whose constants no other step reads, most bytes first."""
    readers: dict[str, int] = {}
    for step in schedule.steps:
        for name in {a.name for a in step.arguments if a.kind == "constant"}:
            readers[name] = readers.get(name, 0) + 1
    sizes = {c.name: _aligned(c, alignment) for c in schedule.constants}
    found = []
    for index, step in enumerate(schedule.steps):
        names = tuple(a.name for a in step.arguments if a.kind == "constant")
        if not names or any(readers[name] > 1 for name in names):
            continue
        # Two steps of the fallback may call one function.
        owner = step.layer.symbol if step.layer else f"{step.symbol}_{index}"
        nbytes = sum(sizes[name] for name in names)
        found.append(Stream(index, names, f"{owner}_constants", nbytes))
    return sorted(found, key=lambda stream: (-stream.nbytes, stream.step))


def taken(program: NetworkProgram, alignment: int) -> int:
    """Bytes of arena, inputs, outputs, and constants that are not streamed."""
    schedule = program.schedule
    streamed = {name for stream in program.streams for name in stream.constants}
    constants = sum(_aligned(c, alignment) for c in schedule.constants if c.name not in streamed)
    ports = (*schedule.inputs, *schedule.outputs)
    return program.plan.nbytes + constants + sum(schedule.tensor(n).nbytes for n in ports)


def _aligned(constant: Constant, alignment: int) -> int:
    return -(-max(1, constant.value.nbytes) // alignment) * alignment


def _refusal(program: NetworkProgram, storage: Storage, bound: int, alignment: int) -> Infeasible:
    levers: Sequence[str] = ("use a smaller input", "split or shrink the largest layer")
    if storage.backing is None:
        levers = (*levers, f"give the target a memory behind {storage.memory}")
    demand = taken(program, alignment)
    parts = (("arena", float(program.plan.nbytes)), ("rest", float(demand - program.plan.nbytes)))
    return Infeasible(storage.memory, demand, bound, "bytes", tuple(levers), parts)
