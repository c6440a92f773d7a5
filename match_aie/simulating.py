"""From a compiled network's manifest to simulated cycles."""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import OptionError
from match_aie.hardware import CORE, MatchTarget, SimulatedRun, SimulatedStep, load_target
from match_aie.toolchain.record import Record, StepRecord


def simulate(
    record: Record, target: MatchTarget | None = None, *, record_events: bool = True
) -> SimulatedRun:
    """One inference of a compiled network in simulated cycles.

    What runs on the core is not simulated: its modelled cycles are taken as they are.

    Args:
        record: the project's manifest.
        target: the chip; by default the installed one that the manifest names.
        record_events: keep what a trace needs.

    Raises:
        TargetError: the target is not installed.
        OptionError: it has no simulator.
    """
    chip = target or target_of(record)
    simulator = chip.simulator()
    if simulator is None:
        raise OptionError(
            f"target {chip.name} has no simulator",
            hint="match-aie targets says which ones have",
        )
    return simulator.run(steps(record), record=record_events)


def target_of(record: Record) -> MatchTarget:
    """The target that a project was compiled for, with the same options."""
    everything = record.everything
    return load_target(str(everything["target"]), everything.get("target_options") or {})


def steps(record: Record) -> list[SimulatedStep]:
    """The network's calls as a simulator takes them."""
    core = _core_cycles(record)
    streams = record.everything.get("streams") or ()
    fetched = {int(stream["step"]): int(stream["nbytes"]) for stream in streams}
    return [
        replace(_step(record, index, step, core), fetched=fetched.get(index, 0))
        for index, step in enumerate(record.steps)
    ]


def _step(record: Record, index: int, step: StepRecord, core: dict[int, float]) -> SimulatedStep:
    layer = record.layers[step.layer] if step.layer else None
    if layer is None:
        cycles = core.get(index, 0.0)
        return SimulatedStep(step.label, CORE, None, None, cycles, cycles)
    predicted = layer.cycles
    return SimulatedStep(
        step.label, layer.module, layer.workload, layer.tiles, predicted, predicted
    )


def _core_cycles(record: Record) -> dict[int, float]:
    """Modelled cycles of every fallback step by index.

    A step may compute several operators, and an operator's label may be another's: each one's
    cycles go to the step of its label, or to the first fallback step where there is none.
    """
    fallback = [at for at, step in enumerate(record.steps) if step.layer is None]
    found = dict.fromkeys(fallback, 0.0)
    labels = {record.steps[at].label: at for at in reversed(fallback)}
    for item in record.everything["selection"].get("core", ()):
        if fallback:
            found[labels.get(item["label"], fallback[0])] += float(item["cycles"])
    return found
