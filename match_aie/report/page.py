"""What `report.html` shows: a compiled network as rows and rectangles; pure data.

Every number comes with where it is from: `modelled` by a cost model, `simulated`, `proven` (a
bound), or `planned` (final numbers of the emitted code).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from match_aie.errors import shorten
from match_aie.hardware import Stage
from match_aie.report.clock import all_cycles, emitted_cycles, target_cycles
from match_aie.report.figures import Figure, figures, javascript, missing
from match_aie.report.network import (
    Attempt,
    LayerDetail,
    NetworkReport,
    StepRow,
    network_report,
)
from match_aie.report.stages import stage_facts
from match_aie.report.table import count, extent
from match_aie.report.text import FALLBACK, sums_text

#: Characters of a name from the model that are shown.
LONGEST = 80


@dataclass(frozen=True)
class Number:
    """A quantity, its unit, and where it is from; an empty `text` where there is none."""

    text: str
    origin: str = ""
    unit: str = ""


NONE = Number("")


@dataclass(frozen=True)
class PortRow:
    """An input or output of the network."""

    role: str
    name: str
    tensor: str


@dataclass(frozen=True)
class Considered:
    """Who could or could not run a layer."""

    module: str
    pattern: str
    cycles: Number
    core: Number
    outcome: str
    chosen: bool


@dataclass(frozen=True)
class LayerRow:
    """A call of the network.

    Attributes:
        index: position.
        name: what users know it by.
        module: who runs it.
        pattern: as what, or the operators of a fallback function.
        output: element type and shape.
        macs: multiply-accumulates.
        predicted: cycles.
        simulated: cycles.
        share: of the network's predicted cycles, in percent, for a bar.
        deviation: bound of the difference from the model's arithmetic, in steps of the output.
        facts: (what, text) of the layer's details.
        parts: what the predicted cycles consist of.
        considered: everything tried for it.
    """

    index: int
    name: str
    module: str
    pattern: str
    output: str
    macs: Number
    predicted: Number
    simulated: Number
    share: float
    deviation: Number
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, Number], ...]
    considered: tuple[Considered, ...]


@dataclass(frozen=True)
class Page:
    """The whole page.

    Attributes:
        title: name of the network.
        target: name of the chip, and what the code was built for.
        headline: (what, number).
        ports: inputs and outputs.
        rows: every call.
        unmatched: what was considered at places that are no call of their own.
        figures: drawings.
        missing: (name, why) of those that this network has not.
        library: the script that draws them.
        warnings: what the compiler assumed, and what the page lacks.
        origins: (name, meaning) of everything a number may be from.
    """

    title: str
    target: str
    headline: tuple[tuple[str, Number], ...]
    ports: tuple[PortRow, ...]
    rows: tuple[LayerRow, ...]
    unmatched: tuple[tuple[str, Considered], ...]
    figures: tuple[Figure, ...]
    missing: tuple[tuple[str, str], ...]
    library: str
    warnings: tuple[str, ...]
    origins: tuple[tuple[str, str], ...]


ORIGINS = (
    (
        "modelled",
        "a cost model's word; a layer's in cycles of its module's clock, all else the chip's",
    ),
    (
        "simulated",
        "one inference in the target's simulator; it may take a kernel's cycles as the cost model",
    ),
    ("proven", "a bound that holds for every input"),
    ("planned", "counted in the emitted code: final"),
)


def network_page(manifest: Mapping[str, Any], trace: str | None = None) -> Page:
    """The page of a `match_aie.json`, and of a simulated run's trace where there was one.

    Raises:
        ProjectError: it is damaged.
    """
    report = network_report(manifest)
    names = {step.name for step in report.steps}
    attempts: dict[str, list[Attempt]] = {}
    for attempt in report.attempts:
        attempts.setdefault(attempt.layer, []).append(attempt)
    stages = {stage.symbol: stage for stage in report.stages}
    total = all_cycles(report)
    built = str(manifest.get("built_for") or "")
    return Page(
        title=_name(report.name),
        target=report.target + (f" ({built})" if built else ""),
        headline=_headline(report),
        ports=_ports(manifest),
        rows=tuple(
            _row(
                step,
                100 * target_cycles(report, step) / total if total else 0.0,
                attempts.get(step.name, ()),
                stages.get(step.symbol),
            )
            for step in report.steps
        ),
        unmatched=tuple(
            (_name(a.layer), _considered(a)) for a in report.attempts if a.layer not in names
        ),
        figures=figures(manifest, trace),
        missing=tuple(missing(manifest, trace).items()),
        library=javascript(),
        warnings=report.warnings,
        origins=ORIGINS,
    )


def _name(text: str) -> str:
    return shorten(text, LONGEST)


def _cycles(value: float | None, origin: str = "modelled") -> Number:
    return NONE if value is None else Number(count(value), origin, "cycles")


def _headline(report: NetworkReport) -> tuple[tuple[str, Number], ...]:
    made: list[tuple[str, Number]] = []
    if report.cover is not None:
        # As emitted, layers take less than when each was priced by itself: they hand over results,
        # and run at the same time.
        cover, emitted = report.cover, emitted_cycles(report)
        made.append(("in all", _cycles(emitted + cover.fallback + cover.moves)))
        made.append(("in modules", _cycles(emitted)))
        made.append(("on the core", _cycles(cover.fallback)))
        made.append(("to hand over", _cycles(cover.moves)))
        if abs(emitted - cover.layers) > 0.5:
            made.append(("in modules, each layer by itself", _cycles(cover.layers)))
    if report.energy is not None:
        much = Number(f"{report.energy.total / 1e6:,.3f}", "modelled", "uJ")
        made.append(("in all", much))
    if report.simulated is not None:
        run = report.simulated
        known = f", of which {count(run.modelled)} modelled" if run.modelled else ""
        made.append((f"in all{known}", _cycles(run.cycles, "simulated")))
        time = f"{run.microseconds:,.1f}"
        made.append((f"at {run.frequency_hz / 1e6:g} MHz", Number(time, "simulated", "us")))
    made.append(("work in modules", Number(count(report.macs), "planned", "MACs")))
    for use in report.memory:
        made.append((use.name, Number(count(use.nbytes), "planned", "bytes")))
    if report.joins:
        copied = sum(row.copied for row in report.joins)
        every = sum(row.nbytes for row in report.joins)
        what = f"copied by concatenations, of {count(every)}"
        made.append((what, Number(count(copied), "planned", "bytes")))
    made.append(("constants", Number(count(report.constant_bytes), "planned", "bytes")))
    return tuple(made)


def _ports(manifest: Mapping[str, Any]) -> tuple[PortRow, ...]:
    return tuple(
        PortRow(role, _name(str(port["name"])), f"{port['dtype']} {extent(port['shape'])}")
        for role in ("input", "output")
        for port in manifest[f"{role}s"]
    )


def _row(step: StepRow, share: float, attempts: Sequence[Attempt], stage: Stage | None) -> LayerRow:
    """A row of the table.

    Args:
        step: of the network.
        share: of the network's modelled cycles, in percent.
        attempts: who could have run it.
        stage: what the target says of it among others.
    """
    layer, (dtype, shape) = step.layer, step.output
    return LayerRow(
        index=step.index,
        name=_name(step.name),
        module=layer.module if layer else FALLBACK,
        pattern=layer.pattern if layer else step.operators,
        output=f"{dtype} {extent(shape)}",
        macs=_macs(layer),
        predicted=_cycles(layer.cycles if layer else step.core or None),
        simulated=_cycles(step.simulated, "simulated"),
        share=share,
        deviation=_deviation(layer),
        facts=(*_facts(step), *(stage_facts(stage) if stage is not None else ())),
        parts=tuple((name, _cycles(cycles)) for name, cycles in (layer.parts if layer else ())),
        considered=tuple(map(_considered, attempts)),
    )


def _macs(layer: LayerDetail | None) -> Number:
    if layer is None or not layer.workload.macs:
        return NONE
    return Number(count(layer.workload.macs), "planned", "MACs")


def _deviation(layer: LayerDetail | None) -> Number:
    """0 where a layer computes in the model's own arithmetic; no bound of sums that are rounded."""
    if layer is None or layer.workload.real is not None or layer.lost is not None:
        return NONE
    error = layer.error_lsb or 0.0
    return Number(f"{error:.3g}", "proven", "LSB")


def _facts(step: StepRow) -> tuple[tuple[str, str], ...]:
    made = [("C function", step.symbol)]
    if step.layer is None:
        return tuple(made)
    workload = step.layer.workload
    made.append(("computes", f"{workload.kind} " + _sizes(workload.dims)))
    for operand in workload.operands:
        kind = "constant " if operand.constant else ""
        made.append((operand.name, f"{kind}{operand.dtype} {extent(operand.shape)}"))
    if step.layer.lost is not None:
        made.append(("partial sums", sums_text(workload, step.layer.lost)))
    made.append(("in space", _sizes(step.layer.spatial) or "one at a time"))
    if step.layer.temporal:
        made.append(("in time, outermost first", _sizes(step.layer.temporal)))
    return tuple(made)


def _sizes(loops: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{dim} {size}" for dim, size in loops)


def _considered(attempt: Attempt) -> Considered:
    return Considered(
        attempt.module,
        attempt.pattern,
        _cycles(attempt.cycles),
        _cycles(attempt.fallback_cycles),
        attempt.outcome,
        attempt.chosen,
    )
