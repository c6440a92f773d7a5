"""Simulating a layer: short runs until a steady state shows, then arithmetic."""

from __future__ import annotations

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.simulation import extrapolate, find_steady
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.build import build
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.array import ArraySimulation
from match_aie.targets.aie_ml.simulate.result import ArrayResult

#: Calls that are simulated at first, and at most; the number doubles until a steady state shows.
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
    trace: bool = False,
) -> ArrayResult:
    """How long `program` takes; as `simulate`."""
    mapping = program.mapping
    per_run = mapping.calls
    calls = FIRST_CALLS
    while True:
        run = ArraySimulation(program, device, assumed or Assumed(), calls, trace=trace)
        books = run.run()
        # The last results leave an array that no longer works on further ones.
        times = books.done[: calls - 2]
        steady = find_steady(times, repeats=3, longest=max(8, min(64, 2 * per_run)))
        if steady is not None or calls >= MOST_CALLS:
            break
        calls *= 2
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
    end = books.done[-1]
    peak = device.architecture.core.macs_of(mapping.layer.a, mapping.layer.w) or 1
    return ArrayResult(
        interval=each * per_run,
        latency=latency,
        macs=mapping.layer.macs,
        clock_ghz=device.clock_ghz,
        peak=peak * device.core_tiles,
        steady=steady is not None,
        simulated=calls,
        busy={tile: cycles / end for tile, cycles in books.busy.items()},
        stalled={tile: cycles / end for tile, cycles in books.stalled.items()},
        timeline=run.timeline if trace else None,
    )
