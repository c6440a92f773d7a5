"""Constants that do not fit beside the activations: kept in a backing memory, and fetched in time.

A streamed step's constants, a layer's or the fallback's, are copied into the arena while the step
before it runs, and are forgotten after it. Where the constants of both do not fit at once, they are
copied after that step instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import Storage
from match_aie.lowering.plan import at_the_peak, plan
from match_aie.lowering.program import Constant, NetworkProgram, Schedule, Stream


def store(
    schedule: Schedule, storage: Storage, *, alignment: int = 64, limit: int | None = None
) -> NetworkProgram | Infeasible:
    """Plan the memory, and stream as few constants as make everything fit.

    The steps with the most bytes of constants are streamed first. Inputs, outputs, the arena and
    all constants that stay share `storage.bytes`. Where no number of streams fits, since those of
    neighbours lie there at once, some are fetched late.

    Args:
        schedule: the network's calls.
        storage: what the target has.
        alignment: of every placement and constant, in bytes.
        limit: bytes that the arena may take; None for no limit.
    """
    everything = streamable(schedule, alignment)
    most = len(everything) if storage.backing else 0
    tried: list[NetworkProgram] = []
    for count in range(most + 1):
        streams = tuple(sorted(everything[:count], key=lambda stream: stream.step))
        result = plan(schedule, alignment=alignment, limit=limit, streams=streams)
        if isinstance(result, Infeasible):
            if not tried:
                return result
            break
        program = NetworkProgram(schedule, result, streams)
        if storage.bytes is None or taken(program, alignment) <= storage.bytes:
            return program
        tried.append(program)
    assert storage.bytes is not None
    room = _Room(schedule, storage.bytes, alignment, limit)
    nearest = min(tried, key=lambda program: taken(program, alignment))
    if most:
        found = room.least(everything)
        if room.over(found) <= 0:
            return found
        nearest = min(nearest, found, key=room.over)
    return _refusal(nearest, storage, storage.bytes, alignment)


@dataclass(frozen=True, eq=False)
class _Room:
    """What has to fit, and plans in which some constants are fetched late.

    Attributes:
        schedule: the network's calls.
        bound: bytes of inputs, outputs, arena and constants that stay.
        alignment: of every placement, in bytes.
        limit: bytes that the arena may take; None for no limit.
    """

    schedule: Schedule
    bound: int
    alignment: int
    limit: int | None

    def over(self, program: NetworkProgram) -> int:
        """Bytes that are too many; 0 or less where it fits."""
        much = taken(program, self.alignment) - self.bound
        return much if self.limit is None else max(much, program.plan.nbytes - self.limit)

    def least(self, everything: Sequence[Stream]) -> NetworkProgram:
        """With as few of `everything` streamed as fit; with all of them where no number does.

        More streams leave more room to each, so that the least number is found by halving.
        """
        best = self.late(everything)
        low, high = 1, len(everything)
        while self.over(best) <= 0 and low < high:
            count = (low + high) // 2
            found = self.late(everything[:count])
            if self.over(found) <= 0:
                best, high = found, count
            else:
                low = count + 1
        return best

    def late(self, everything: Sequence[Stream]) -> NetworkProgram:
        """With these streamed, one after the other fetched late that lies in the fullest step."""
        streams = {stream.step: stream for stream in everything}
        while True:
            chosen = tuple(streams[step] for step in sorted(streams))
            result = plan(self.schedule, alignment=self.alignment, streams=chosen)
            assert not isinstance(result, Infeasible)  # without a limit
            program = NetworkProgram(self.schedule, result, chosen)
            waiting = streams.get(result.peak_step + 1)
            if self.over(program) <= 0 or waiting is None or waiting.late:
                return program
            streams[waiting.step] = replace(waiting, late=True)


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
    """What lies in the memory at the fullest step, and what would make it fit."""
    schedule, demand = program.schedule, taken(program, alignment)
    peak = schedule.steps[program.plan.peak_step]
    ports = (*schedule.inputs, *schedule.outputs)
    outside = float(sum(schedule.tensor(name).nbytes for name in ports))
    parts = [*at_the_peak(schedule, program.plan, program.streams), ("inputs and outputs", outside)]
    levers = [
        f"split or shrink the layer at the peak ({peak.label or peak.symbol})",
        "use a smaller input",
    ]
    floats = sum(t.nbytes for t in map(schedule.tensor, ports) if t.dtype == "float32")
    if demand - floats * 3 // 4 <= bound:  # 8 bits instead of 32
        levers.insert(0, "integer_io, where only ends of the network are float")
    if storage.option and demand <= storage.most:
        levers.insert(0, f"raise {storage.option} to {demand} bytes or more")
    if storage.backing is None:
        levers.append(f"give the target a memory behind {storage.memory}")
    rest = demand - sum(much for _, much in parts)
    kept = "constants that stay, and gaps" if storage.backing else "constants, and gaps"
    rows = sorted((row for row in (*parts, (kept, rest)) if row[1] > 0), key=lambda row: -row[1])
    return Infeasible(storage.memory, demand, bound, "bytes", tuple(levers), tuple(rows))
