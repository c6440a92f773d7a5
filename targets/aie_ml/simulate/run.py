"""One run of a layer from the chip's memory back to it: what a network's step takes."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.simulation import Timeline
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.program import ArrayProgram, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.array import ArraySimulation
from match_aie.targets.aie_ml.simulate.outside import Beyond

#: Calls of all cores that are simulated one by one. Longer runs are simulated from the first to a
#: number of calls, and go on at the pace of the second half.
MOST_CALLS = 1_000_000


@dataclass(frozen=True)
class LayerRun:
    """Simulated cycles of one run, of the array's clock.

    Attributes:
        cycles: from the first request of an input to the last word of the output in memory.
        busy: cycles in which each core's kernel runs and is not stalled, by tile.
        stalled: cycles in which it waits for a cascade in the middle of a call.
        whole: whether every call was simulated.
        written: when the last word was written into each buffer of a memory tile, by its name, and
            when each result was computed that stays in a core's tile.
        moved: bytes from the chip's memory and to it: counted where every call was simulated, else
            what the program's streams carry.
        timeline: where a trace was asked for.
    """

    cycles: float
    busy: dict[Tile, float]
    stalled: dict[Tile, float]
    whole: bool
    written: dict[str, float]
    moved: int
    timeline: Timeline | None = None


def run_layer(
    program: ArrayProgram,
    device: Device,
    *,
    assumed: Assumed | None = None,
    beyond: Beyond | None = None,
    trace: bool = False,
) -> LayerRun:
    """Simulate a single run of `program`.

    Raises:
        TargetError: a fact that it needs is not known of the device.
        DeadlockError: the program cannot go on: a defect.
    """
    calls = sum(len(core.work) for core in program.cores)

    def enough(times: list[float]) -> bool:
        wanted = max(8, run.progress.per_run * MOST_CALLS // max(1, calls))
        return len(times) >= wanted and calls > MOST_CALLS

    run = ArraySimulation(
        program,
        device,
        assumed or Assumed(),
        1,
        enough=enough,
        trace=trace,
        beyond=beyond,
    )
    times, per_run = run.run().done, run.progress.per_run
    whole = len(times) == per_run
    cycles, share = run.timeline.cycles, 1.0
    if not whole:
        half = len(times) // 2
        pace = (times[-1] - times[half]) / (len(times) - 1 - half)
        share = per_run / len(times)
        cycles = times[-1] + pace * (per_run - len(times))
    return LayerRun(
        cycles,
        {tile: much * share for tile, much in run.books.busy.items()},
        {tile: much * share for tile, much in run.books.stalled.items()},
        whole,
        {
            **{name: now for (at, name), now in run.books.written.items() if not run.is_core(at)},
            **run.books.kept,
        },
        run.progress.moved[-1] if whole else run.memory_bytes,
        run.timeline if trace else None,
    )
