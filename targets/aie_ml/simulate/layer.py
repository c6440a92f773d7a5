"""Simulating a layer: short runs until a steady state shows, then arithmetic."""

from __future__ import annotations

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.simulation import Steady, extrapolate, find_steady
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.build import build
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.array import ArraySimulation
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.result import ArrayResult

#: Results after which a steady state is looked for first, and at most; the number doubles between.
FIRST_CALLS = 24
MOST_CALLS = 192


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
    program = build(mapping, device)
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
    watch = _Watch()
    per_run = max(route.sends for route in program.routes if route.role == "out")
    watch.longest = max(8, min(64, 2 * per_run))
    runs = -(-(MOST_CALLS + 8) // per_run)
    run = ArraySimulation(
        program,
        device,
        assumed or Assumed(),
        runs,
        enough=watch,
        trace=trace,
        beyond=beyond,
    )
    times = run.run().done
    steady = watch.found
    if steady is not None:
        each = steady.interval
        latency = extrapolate(times, steady, per_run)
    else:
        half = len(times) // 2
        each = (times[-1] - times[half]) / (len(times) - 1 - half)
        latency = (
            times[per_run - 1]
            if per_run <= len(times)
            else times[-1] + each * (per_run - len(times))
        )
    end = times[-1] - (run.books.first or 0)
    return ArrayResult(
        interval=each * per_run,
        latency=latency,
        macs=program.macs,
        clock_ghz=device.clock_ghz,
        peak=program.core_macs * device.core_tiles,
        steady=steady is not None,
        simulated=len(times),
        busy={tile: cycles / end for tile, cycles in run.books.busy.items()},
        stalled={tile: cycles / end for tile, cycles in run.books.stalled.items()},
        timeline=run.timeline if trace else None,
    )


class _Watch:
    """Looks for a steady state now and then."""

    def __init__(self) -> None:
        self.longest = 64
        self.found: Steady | None = None
        self._next = FIRST_CALLS

    def __call__(self, times: list[float]) -> bool:
        """Whether one is found, or has been looked for long enough."""
        if len(times) < self._next:
            return False
        self._next *= 2
        self.found = find_steady(times, repeats=3, longest=self.longest)
        return self.found is not None or len(times) >= MOST_CALLS
