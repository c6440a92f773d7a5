"""From a compiled network's manifest to simulated cycles."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace

import numpy as np

from match_aie.errors import Infeasible, InfeasibleError, OptionError, ProjectError
from match_aie.hardware import (
    CORE,
    ArrayChip,
    ChosenLayer,
    Flow,
    MatchTarget,
    SimulatedRun,
    SimulatedStep,
    facet,
    flows,
    load_target,
    reference_cycles,
)
from match_aie.report import core_cycles
from match_aie.timed import timed
from match_aie.toolchain.record import Record, StepRecord, element_dtype

_LOG = logging.getLogger(__name__)


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
        ProjectError: what it would simulate is not what was emitted.
    """
    chip = target or target_of(record)
    simulator = chip.simulator()
    if simulator is None:
        raise OptionError(
            f"target {chip.name} has no simulator",
            hint="its cycles are modelled: match-aie explain shows them",
        )
    hold(record, chip)
    with timed(_LOG, f"simulate {record.network}"):
        return simulator.run(steps(record, chip), record=record_events)


def hold(record: Record, target: MatchTarget) -> None:
    """Hold what the target plans from the manifest to what was emitted.

    Raises:
        ProjectError: a file that follows from workloads and mappings alone would be another one.
    """
    from match_aie.codegen.sources import units

    found = facet(target, ArrayChip).companions(record.network, _chosen(record))
    if isinstance(found, Infeasible):
        raise InfeasibleError(found, where=record.network)
    for path, text in units([unit for unit in found if unit.structural]).items():
        if hashlib.sha256(text).hexdigest() != record.digests.get(path):
            raise ProjectError(
                f"{path} is not what this match_aie would emit, so it cannot be simulated",
                hint="compile the model again",
            )


def _chosen(record: Record) -> list[ChosenLayer]:
    """The network's layers with zeros for constants, in the order in which they run."""
    found = []
    for step, flow in zip(record.steps, _flows(record), strict=True):
        if step.layer is None:
            continue
        layer = record.layers[step.layer]
        zeros = {
            o.name: np.zeros(o.shape, element_dtype(o.dtype)) for o in layer.workload.constants
        }
        chosen = ChosenLayer(
            layer.symbol, step.label, layer.module, layer.workload, layer.mapping, zeros, flow
        )
        found.append(chosen)
    return found


def _flows(record: Record) -> tuple[Flow, ...]:
    calls = [(step.reads, step.writes) for step in record.steps]
    extents = {
        tensor.name: (owner, begin, begin + tensor.nbytes)
        for tensor in record.tensors
        for owner, begin in (record.places[tensor.name],)
    }
    return flows(calls, extents, [port.tensor for port in record.outputs])


def target_of(record: Record) -> MatchTarget:
    """The target that a project was compiled for, with the same options."""
    everything = record.everything
    return load_target(str(everything["target"]), everything.get("target_options") or {})


def steps(record: Record, target: MatchTarget) -> list[SimulatedStep]:
    """The network's calls as the target's simulator takes them, in cycles of its clock."""
    core = core_cycles(record.everything)
    scales = {m.name: reference_cycles(target, m, 1.0) for m in target.modules()}
    streams = record.everything.get("streams") or ()
    fetched = {int(stream["step"]): int(stream["nbytes"]) for stream in streams}
    late = {int(stream["step"]) for stream in streams if stream.get("late")}
    pairs = record.everything.get("beside") or ()
    orders = {int(pair["step"]): tuple(int(lane) for lane in pair["order"]) for pair in pairs}
    found = []
    for index, (step, flow) in enumerate(zip(record.steps, _flows(record), strict=True)):
        made = _step(record, index, step, core, scales)
        order = orders.get(index, ())
        nbytes = fetched.get(index, 0)
        found.append(replace(made, fetched=nbytes, flow=flow, order=order, late=index in late))
    return found


def _step(
    record: Record, index: int, step: StepRecord, core: dict[int, float], scales: dict[str, float]
) -> SimulatedStep:
    layer = record.layers[step.layer] if step.layer else None
    if layer is None:
        cycles = core.get(index, 0.0)
        return SimulatedStep(step.label, CORE, None, None, cycles, cycles)
    predicted = layer.cycles * scales.get(layer.module, 1.0)
    return SimulatedStep(
        step.label,
        layer.module,
        layer.workload,
        layer.tiles,
        predicted,
        predicted,
        mapping=layer.mapping,
    )
