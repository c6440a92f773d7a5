"""What `compile` gives: the program, and everything that was decided on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from match_aie import codegen
from match_aie.errors import MatchError
from match_aie.frontend import Model, Port
from match_aie.hardware import (
    BuiltFor,
    Cost,
    MatchTarget,
    Objective,
    Priced,
    Rewrites,
    SimulatedRun,
    Staged,
    facet,
    measure,
    reference_cycles,
)
from match_aie.lowering import NetworkProgram
from match_aie.mapping import SearchCounts
from match_aie.options import CompileOptions
from match_aie.partition import Candidate
from match_aie.partition.pricing import core_work
from match_aie.partition.select import Assignment

if TYPE_CHECKING:
    from match_aie.toolchain import Project


@dataclass(frozen=True, eq=False)
class Compilation:
    """A compiled network, in memory; `write` puts it on disk.

    Attributes:
        symbol: C identifier of the network.
        target: what it was compiled for.
        options: how.
        model: the normalised model.
        assignment: who runs what, and who else could.
        program: the final program.
        searches: how many mappings were searched, and how many were in the cache.
        seconds: wall-clock time of every stage; measured.
    """

    symbol: str
    target: MatchTarget
    options: CompileOptions
    model: Model = field(repr=False)
    assignment: Assignment = field(repr=False)
    program: NetworkProgram = field(repr=False)
    searches: SearchCounts
    seconds: Mapping[str, float] = field(repr=False)

    @property
    def name(self) -> str:
        """What the user calls the network."""
        return self.model.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Inputs, as the model names them."""
        return self.model.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Outputs, as the model names them."""
        return self.model.outputs

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the front end had to assume, and what emitted files lack."""
        lacking = (unit.warning for unit in self.program.units if unit.warning)
        return (*self.model.warnings, *dict.fromkeys(lacking))

    @property
    def picojoules(self) -> float | None:
        """Modelled, of an inference: layers as they are emitted, and what the core does for them.

        None where the target, or a module that runs a layer, states no energy.
        """
        energy = self.assignment.energy
        layers = [layer.cost.picojoules for layer in self.program.schedule.layers]
        if energy is None or any(each is None for each in layers):
            return None
        return sum(each or 0.0 for each in layers) + energy.fallback + energy.moves

    @property
    def cycles(self) -> float:
        """Modelled, of an inference, in cycles of the target's clock; as `picojoules`."""
        modules = {module.name: module for module in self.target.modules()}
        layers = (
            reference_cycles(self.target, modules[layer.module], layer.cost.cycles)
            for layer in self.program.schedule.layers
        )
        cost = self.assignment.cost
        return sum(layers) + cost.fallback + cost.moves

    def measure(self, objective: Objective) -> float:
        """What `objective` minimises, modelled, of an inference."""
        return measure(Cost(self.cycles, picojoules=self.picojoules), objective)

    def sources(self) -> codegen.Sources:
        """The emitted project, file by file; the same bytes each time."""
        return self._sources

    def code(self) -> codegen.Sources:
        """The same project as `sources`, without simulated cycles and without its page."""
        return self._project

    @cached_property
    def _sources(self) -> codegen.Sources:
        """The project with simulated cycles in its manifest, and the page that describes it."""
        from match_aie.report import network_page

        manifest = json.loads(self._project[codegen.sources.MANIFEST])
        manifest["simulated"], trace = self._simulated()
        page = codegen.render_page(network_page(manifest, trace))
        return codegen.described(self._project, manifest, page)

    def _simulated(self) -> tuple[dict[str, object] | None, str | None]:
        """Cycles of every step, modelled where no simulator knows them; and the run's trace."""
        if self.target.simulator() is None:
            return None, None
        try:
            run = self.simulate()
        except MatchError as error:
            return {"note": f"not simulated: {error.what}"}, None
        steps = [{"cycles": step.cycles, "simulated": step.simulated} for step in run.steps]
        numbers = {"microseconds": run.microseconds, "frequency_hz": run.frequency_hz}
        found = {"cycles": run.cycles, **numbers, "steps": steps, "provenance": "simulated"}
        # Only the page's timeline needs it: a simulator that keeps no events compiles all the same.
        trace = getattr(run, "trace_json", None)
        return found, None if trace is None else trace()

    @cached_property
    def _project(self) -> codegen.Sources:
        modules = {module.name: module for module in self.target.modules()}
        layers = {
            layer.symbol: codegen.render_layer(layer, modules[layer.module])
            for layer in self.program.schedule.layers
        }
        return codegen.render(
            self.program,
            layers,
            self._manifest(),
            profile=self.target.build_profile(),
            inputs=self.inputs,
            outputs=self.outputs,
            states=self.model.states,
            model=codegen.ModelFile(self.model.source, self.model.format),
            runtime=self.target.runtime(),
        )

    def _manifest(self) -> dict[str, object]:
        """What the program itself does not know."""
        own = facet(self.target, Rewrites)
        passes = [*(one.name for one in own.passes), *(one.name for one in own.placed_passes)]
        return {
            "name": self.name,
            "target": self.target.name,
            "target_options": dict(self.target.options()),
            "built_for": facet(self.target, BuiltFor).built_for(),
            "options": asdict(self.options),
            "warnings": list(self.warnings),
            "selection": _selection(self.assignment, self.options.objective),
            "considered": _considered(self.assignment),
            "roofs": self._roofs(),
            **({"passes": passes} if passes else {}),
            **self._stages(),
        }

    def _stages(self) -> dict[str, object]:
        """What the target says of layers that run side by side; nothing where it says nothing."""
        if not isinstance(self.target, Staged):
            return {}
        found = self.target.stages(self.program.schedule.chosen)
        return {"stages": [asdict(stage) for stage in found]} if found else {}

    def _roofs(self) -> dict[str, object]:
        """What the hardware bounds each layer by, by its symbol; without those nobody states."""
        modules = {module.name: module for module in self.target.modules()}
        found = {
            layer.symbol: facet(modules[layer.module], Priced).roof(layer.workload)
            for layer in self.program.schedule.layers
            if layer.workload.macs
        }
        return {symbol: asdict(roof) for symbol, roof in found.items() if roof is not None}

    def simulate(self, *, record: bool = True) -> SimulatedRun:
        """One inference in simulated cycles; `record` keeps what a trace needs.

        Raises:
            OptionError: the target has no simulator.
        """
        from match_aie.simulating import simulate
        from match_aie.toolchain.record import parse

        manifest = json.loads(self._project[codegen.sources.MANIFEST])
        made = parse(manifest, Path(self.symbol))
        return simulate(made, self.target, record_events=record)

    def summary(self) -> str:
        """The layer table, memory and fallback, as text."""
        from match_aie import report

        return report.summary(self)

    def numbers(self) -> dict[str, object]:
        """What `match-aie compile --json` prints, but for the folder: plain data for tables."""
        from match_aie import report

        return {
            **report.as_json(report.compiled_report(self)),
            "searches": asdict(self.searches),
            "seconds": dict(self.seconds),
        }

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Project:
        """Write the project to `folder`, whole or not at all.

        Raises:
            ProjectError: the folder exists and is not a project to overwrite, or cannot be
                written.
        """
        from match_aie.toolchain import write

        return write(self.sources(), folder, overwrite=overwrite)


def _selection(assignment: Assignment, objective: Objective) -> dict[str, object]:
    """What the cover costs, in cycles of the reference clock, and what MATCH's rule would."""
    cost, energy = assignment.cost, assignment.energy
    return {
        "rule": assignment.rule,
        "cycles": cost.total,
        "layers": cost.layers,
        "fallback": cost.fallback,
        "moves": cost.moves,
        "match_cycles": assignment.match_cost.total,
        "objective": objective,
        "picojoules": None if energy is None else energy.total,
        "core_picojoules": None if energy is None else energy.fallback,
        "move_picojoules": None if energy is None else energy.moves,
        "proven": assignment.proven,
        "core": [
            {"label": label, "operator": operator, "cycles": cycles}
            for label, operator, cycles in core_work(assignment.pricing, assignment.chosen)
        ],
        "provenance": "modelled",
    }


def _considered(assignment: Assignment) -> list[dict[str, object]]:
    """The rows of `explain`: who could run which layer, at what cost, or why not.

    `cycles` are of the module's clock, `reference_cycles` of the target's; `fallback_cycles` is
    what the core would take for the same operators, `error_lsb` the proven bound of the difference
    from the model's arithmetic where the module computes in its own.
    """
    chosen = {id(option) for option in assignment.chosen}
    pricing = assignment.pricing
    rows: list[dict[str, object]] = []
    for option in assignment.considered:
        candidate = option.candidate
        place = pricing.place(option)
        rows.append(
            {
                "layer": candidate.label,
                "module": candidate.module.name,
                "pattern": candidate.pattern.name,
                "cycles": option.cost.cycles if option.cost else None,
                "reference_cycles": pricing.option(option) if option.cost else None,
                "fallback_cycles": sum(pricing.fallback(index) for index in sorted(place.nodes)),
                "error_lsb": _error_lsb(candidate),
                "chosen": id(option) in chosen,
                "provenance": "modelled",
                "reason": option.reason,
            }
        )
    return rows


def _error_lsb(candidate: Candidate) -> float | None:
    original = candidate.layer.original if candidate.layer else None
    return original.error_lsb if original else None
