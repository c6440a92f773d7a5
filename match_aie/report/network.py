"""A compiled network as rows, read from its `match_aie.json`; everything shown comes from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from match_aie.errors import OptionError, ProjectError, TargetError, shorten
from match_aie.hardware import Roof, Stage
from match_aie.report.joins import JoinRow, join_rows
from match_aie.report.stages import stage_rows
from match_aie.report.totals import (
    CoverDetail,
    EnergyDetail,
    SimulatedDetail,
    core_cycles,
    cover_detail,
    energy_detail,
    simulated_detail,
)
from match_aie.workload import Lost, Size, Workload
from match_aie.workload.codec import from_json

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class Attempt:
    """A module and pattern that matched somewhere in the graph.

    Attributes:
        layer: what users know the place by.
        module: who.
        pattern: as what.
        cycles: modelled, of the module's clock; None where it cannot run or no mapping fits.
        reason: why it cannot; empty where it can.
        chosen: whether it runs there.
        reference_cycles: the same time in cycles of the target's clock, as selection adds up.
        fallback_cycles: modelled, what the core would take for the same operators.
        error_lsb: as of a `LayerDetail`.
    """

    layer: str
    module: str
    pattern: str
    cycles: float | None
    reason: str
    chosen: bool
    reference_cycles: float | None = None
    fallback_cycles: float | None = None
    error_lsb: float | None = None

    @property
    def outcome(self) -> str:
        """In a few words."""
        if self.chosen:
            return "chosen"
        return f"refused: {self.reason}" if self.reason else "could run it, another was preferred"


@dataclass(frozen=True)
class LayerDetail:
    """What a module runs, as the manifest states it.

    Attributes:
        module: who.
        pattern: as what.
        cycles: modelled, in the module's cycles.
        parts: (name, cycles) that add up to `cycles`.
        workload: what it computes.
        spatial: (loop dimension, size) that the hardware unrolls.
        temporal: (loop dimension, size) in time, outermost first.
        error_lsb: proven bound of the difference from the model's arithmetic, in steps of the
            output, where the module computes in its own; else None.
        picojoules: modelled; None where the module states no energy.
        roof: what bounds it; None where the module states nothing.
        lost: measured difference from exact sums, in steps, of a layer whose partial sums are
            rounded while they wait, on drawn numbers; else None.
    """

    module: str
    pattern: str
    cycles: float
    parts: tuple[tuple[str, float], ...]
    workload: Workload
    spatial: tuple[tuple[str, int], ...]
    temporal: tuple[tuple[str, int], ...]
    error_lsb: float | None = None
    picojoules: float | None = None
    roof: Roof | None = None
    lost: Lost | None = None


@dataclass(frozen=True)
class StepRow:
    """One call of the network, in order.

    Attributes:
        index: position.
        name: what users know it by.
        symbol: its C function.
        output: (dtype, shape) of the first tensor written.
        layer: who runs it and how; None where the fallback made it.
        operators: what a function of the fallback computes.
        simulated: cycles in the target's simulator, of the target's clock; None where it has none,
            or takes the modelled ones.
        core: modelled cycles of a function of the fallback, of the target's clock; 0 where a
            module runs it, or nothing is known.
        reads: names of tensors; of a view the tensor that it is a view of.
        writes: likewise.
    """

    index: int
    name: str
    symbol: str
    output: tuple[str, tuple[int, ...]]
    layer: LayerDetail | None
    operators: str = ""
    simulated: float | None = None
    core: float = 0.0
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryUse:
    """A planned memory: bytes used, the least any plan could use, the step that needs most."""

    name: str
    nbytes: int
    lower_bound: int
    peak: str


@dataclass(frozen=True)
class NetworkReport:
    """All that is shown of a compiled network.

    Attributes:
        name: the user's name of the network.
        target: name of the chip.
        steps: every call.
        memory: of activations and workspaces.
        constant_bytes: of weights and tables, as the emitted code reads them.
        attempts: everything that was considered, chosen or not.
        warnings: what the compiler assumed.
        cover: what the choice costs; None in projects of versions that did not say.
        simulated: one inference; None where no step was simulated.
        joins: concatenations.
        energy: modelled; None where the target, or a module that runs a layer, states none.
        stages: layers that run side by side.
        sizes: what a run gives; all numbers are then of the largest.
    """

    name: str
    target: str
    steps: tuple[StepRow, ...]
    memory: tuple[MemoryUse, ...]
    constant_bytes: int
    attempts: tuple[Attempt, ...]
    warnings: tuple[str, ...]
    cover: CoverDetail | None = None
    simulated: SimulatedDetail | None = None
    joins: tuple[JoinRow, ...] = ()
    energy: EnergyDetail | None = None
    stages: tuple[Stage, ...] = ()
    sizes: tuple[Size, ...] = ()

    @property
    def layers(self) -> tuple[StepRow, ...]:
        """Steps that a module runs."""
        return tuple(step for step in self.steps if step.layer is not None)

    @property
    def fallback(self) -> tuple[StepRow, ...]:
        """Steps that the fallback made."""
        return tuple(step for step in self.steps if step.layer is None)

    @property
    def cycles(self) -> float:
        """Modelled cycles of all layers, without the fallback."""
        return sum(step.layer.cycles for step in self.steps if step.layer is not None)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all layers, without the fallback."""
        return sum(step.layer.workload.macs for step in self.steps if step.layer is not None)

    def steps_called(self, wanted: str) -> list[StepRow]:
        """All steps of which `wanted` is the name or C symbol, in their order.

        A change of layout bears the layer's name too, and halves of a layer say which rows.
        """
        rows = f"{wanted} rows "
        return [s for s in self.steps if wanted in (s.name, s.symbol) or s.name.startswith(rows)]

    def step(self, wanted: str) -> StepRow:
        """The step called `wanted`: its name, C symbol, or position.

        Raises:
            OptionError: there is none; the nearest names are given.
        """
        if found := self.steps_called(wanted):
            return max(found, key=lambda s: s.layer.workload.macs if s.layer else 0)
        if wanted.isascii() and wanted.isdigit() and int(wanted) < len(self.steps):
            return self.steps[int(wanted)]
        names = [step.name for step in self.steps]
        near = get_close_matches(wanted, names, n=3, cutoff=0.4) or names[:3]
        raise OptionError(
            f"no layer is called {shorten(wanted, 60)!r}",
            hint="one of " + ", ".join(shorten(name, 60) for name in near),
        )


def network_report(manifest: Manifest) -> NetworkReport:
    """The rows of a `match_aie.json`.

    Raises:
        ProjectError: it is damaged.
    """
    try:
        return _report(manifest)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, TargetError) as error:
        raise ProjectError(
            f"match_aie.json is damaged: {type(error).__name__}: {shorten(str(error), 100)}",
            hint="compile the model again",
        ) from error


def _report(manifest: Manifest) -> NetworkReport:
    layers = {str(layer["symbol"]): layer for layer in manifest["layers"]}
    functions = {str(f["symbol"]): str(f["operators"]) for f in manifest["fallback"]}
    tensors = {str(t["name"]): (str(t["dtype"]), tuple(t["shape"])) for t in manifest["tensors"]}
    steps, simulated, core = [], manifest.get("simulated") or {}, core_cycles(manifest)
    roofs = manifest.get("roofs") or {}
    bases = {str(alias["view"]): str(alias["base"]) for alias in manifest.get("aliases", ())}
    for index, step in enumerate(manifest["steps"]):
        written = next(a["name"] for a in step["arguments"] if a["access"] == "write")
        symbol = str(step["symbol"])
        steps.append(
            StepRow(
                index,
                str(step["label"]) or symbol,
                symbol,
                tensors[written],
                _layer(layers[symbol], roofs.get(symbol)) if step["layer"] is not None else None,
                functions.get(symbol, ""),
                _simulated_step(simulated, index),
                core.get(index, 0.0),
                _named(step, "read", bases),
                _named(step, "write", bases),
            )
        )
    return NetworkReport(
        name=str(manifest.get("name") or manifest["network"]),
        target=str(manifest["target"]),
        steps=tuple(steps),
        memory=(_memory(manifest["memory"], steps),),
        constant_bytes=sum(int(c["nbytes"]) for c in manifest["constants"]),
        attempts=tuple(_attempt(a) for a in manifest.get("considered", ())),
        warnings=(
            *(str(w) for w in manifest.get("warnings", ())),
            *([str(simulated["note"])] if "note" in simulated else []),
        ),
        cover=cover_detail(manifest["selection"]) if "selection" in manifest else None,
        simulated=simulated_detail(simulated),
        joins=join_rows(manifest),
        energy=energy_detail(
            manifest.get("selection") or {},
            [step.layer.picojoules for step in steps if step.layer is not None],
        ),
        stages=stage_rows(manifest),
        sizes=tuple(Size(**size) for size in manifest.get("sizes", ())),
    )


def _named(step: Manifest, access: str, bases: Mapping[str, str]) -> tuple[str, ...]:
    """Tensors that a step accesses, each once."""
    names = (a["name"] for a in step["arguments"] if a["access"] == access)
    return tuple(dict.fromkeys(bases.get(str(name), str(name)) for name in names))


def _simulated_step(simulated: Manifest, index: int) -> float | None:
    """The simulator's own cycles of a step; None where it took the modelled ones."""
    step = simulated["steps"][index] if "steps" in simulated else {}
    return float(step["cycles"]) if step and step["simulated"] else None


def _layer(layer: Manifest, roof: Manifest | None) -> LayerDetail:
    return LayerDetail(
        str(layer["module"]),
        str(layer["pattern"]),
        float(layer["cost"]["cycles"]),
        tuple((str(name), float(cycles)) for name, cycles in layer["cost"]["parts"]),
        from_json(layer["workload"]),
        tuple((str(loop["dim"]), int(loop["size"])) for loop in layer["mapping"]["spatial"]),
        tuple((str(loop["dim"]), int(loop["size"])) for loop in layer["mapping"]["temporal"]),
        _number((layer.get("original") or {}).get("error_lsb")),
        _number(layer["cost"].get("picojoules")),
        None if roof is None else Roof(**roof),
        _lost(layer.get("rounded_sums")),
    )


def _lost(found: Manifest | None) -> Lost | None:
    """Of a layer whose partial sums are rounded."""
    if found is None:
        return None
    return Lost(float(found["mean"]), float(found["largest"]), int(found["elements"]))


def _number(value: str | float | None) -> float | None:
    return None if value is None else float(value)


def _memory(memory: Manifest, steps: list[StepRow]) -> MemoryUse:
    peak = int(memory["peak_step"])
    return MemoryUse(
        str(memory["memory"]),
        int(memory["nbytes"]),
        int(memory["lower_bound"]),
        steps[peak].name if 0 <= peak < len(steps) else "",
    )


def _attempt(attempt: Manifest) -> Attempt:
    numbers = {
        name: _number(attempt.get(name))
        for name in ("cycles", "reference_cycles", "fallback_cycles", "error_lsb")
    }
    return Attempt(
        layer=str(attempt["layer"]),
        module=str(attempt["module"]),
        pattern=str(attempt["pattern"]),
        reason=str(attempt["reason"]),
        chosen=bool(attempt.get("chosen")),
        **numbers,
    )
