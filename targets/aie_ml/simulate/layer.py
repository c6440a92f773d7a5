"""Simulating a layer: short runs until a steady state shows, then arithmetic."""

from __future__ import annotations

from math import ceil

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.simulation import Steady, extrapolate, find_steady
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import program_of
from match_aie.targets.aie_ml.simulate.array import ArraySimulation, leaving
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.result import ArrayResult
from match_aie.targets.aie_ml.simulate.returning import returning_routes

#: Results after which a steady state is looked for first, and at most; the number doubles between.
FIRST_CALLS = 24
#: Whole runs that are simulated at least, where they are short.
RUNS = 6
MOST_CALLS = 192
#: Part of what runs need of the chip's memory that may lack in a pattern: transfers count whole.
SHORT = 0.02


def simulate(
    mapping: ArrayMapping,
    device: Device,
    *,
    assumed: Assumed | None = None,
    trace: bool = False,
) -> ArrayResult:
    """How long `mapping` takes on `device`.

    Args:
        mapping: chosen by the search or given by the caller.
        device: the array.
        assumed: times that no document states.
        trace: whether to keep a timeline of the simulated calls.

    Raises:
        InfeasibleError: the mapping does not fit.
        TargetError: a fact that it needs is not known of the device.
        DeadlockError: the program cannot go on: a defect.
    """
    program = program_of(mapping, device)
    if isinstance(program, Infeasible):
        raise InfeasibleError(program, where=f"{mapping.tiles} tiles of {device.name}")
    return simulate_program(program, device, assumed=assumed, trace=trace)


def simulate_program(
    program: ArrayProgram,
    device: Device,
    *,
    assumed: Assumed | None = None,
    beyond: Beyond | None = None,
    trace: bool = False,
) -> ArrayResult:
    """How long `program` takes when it is repeated for ever; as `simulate`."""
    per_run = max(way.sends for way in leaving(program, device))
    rounds = program.merges or program.logics or returning_routes(program)
    watch = _Watch(per_run, whole=bool(rounds) or any(core.lent for core in program.cores))
    run = ArraySimulation(
        program,
        device,
        assumed or Assumed(),
        ceil(watch.most / per_run) + 2,
        enough=watch,
        trace=trace,
        beyond=beyond,
    )
    watch.follow(run.progress.moved, run.memory_bytes)
    times = run.run().done
    interval, latency = watch.figures(times)
    end = times[-1] - (run.books.first or 0)
    return ArrayResult(
        interval=interval,
        latency=latency,
        macs=program.macs,
        clock_ghz=device.clock_ghz,
        peak=program.core_macs * device.core_tiles,
        steady=watch.found is not None,
        simulated=len(times),
        busy={tile: cycles / end for tile, cycles in run.books.busy.items()},
        stalled={tile: cycles / end for tile, cycles in run.books.stalled.items()},
        timeline=run.timeline if trace else None,
    )


class _Watch:
    """Looks for a steady state now and then.

    Runs of a few results are compared as wholes, since buffers that a run fills or empties once
    hold it up once, and so are those that have a first step; of longer ones single results are.
    While results leave faster than inputs come, since the array gives away what it holds, a pattern
    is no steady state.
    """

    def __init__(self, per_run: int, *, whole: bool) -> None:
        self._per_run = per_run
        self._whole = whole or RUNS * per_run <= MOST_CALLS
        self.most = max(2 * MOST_CALLS, 2 * RUNS * per_run) if self._whole else MOST_CALLS
        self.found: Steady | None = None
        self._moved: list[int] = []
        self._each = 0
        self._next = max(FIRST_CALLS, RUNS * per_run) if self._whole else FIRST_CALLS

    def follow(self, moved: list[int], each: int) -> None:
        """Look at the chip's memory, too.

        Args:
            moved: bytes until each result.
            each: bytes of a run.
        """
        self._moved, self._each = moved, each

    def __call__(self, times: list[float]) -> bool:
        """Whether one is found, or has been looked for long enough."""
        if len(times) < self._next:
            return False
        self._next *= 2
        step = self._per_run if self._whole else 1
        if self._whole:
            self.found = find_steady(times[step - 1 :: step], longest=8)
        else:
            self.found = find_steady(times, longest=64, least=len(times) // 2)
        if self.found is not None and not self._supplied(self.found.first * step + step - 1):
            self.found = None
        return self.found is not None or len(times) >= self.most

    def _supplied(self, first: int) -> bool:
        """Whether, since result number `first`, as much came in as went out."""
        moved, last = self._moved, len(self._moved) - 1
        if not self._each or last <= first:
            return True
        wanted = self._each * (last - first) / self._per_run
        return moved[last] - moved[first] >= (1 - SHORT) * wanted

    def figures(self, times: list[float]) -> tuple[float, float]:
        """(cycles between runs, of the first run)."""
        per_run = self._per_run
        if self._whole:
            ends = times[per_run - 1 :: per_run]
            half = len(ends) // 2
            mean = (ends[-1] - ends[half]) / (len(ends) - 1 - half)
            return self.found.interval if self.found else mean, ends[0]
        if self.found is not None:
            return self.found.interval * per_run, extrapolate(times, self.found, per_run)
        half = len(times) // 2
        each = (times[-1] - times[half]) / (len(times) - 1 - half)
        reached = min(per_run, len(times))
        return each * per_run, times[reached - 1] + each * (per_run - reached)
