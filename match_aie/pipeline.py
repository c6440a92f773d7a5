"""The pipeline: from a model to a program, a line per stage."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from match_aie.collecting import collecting_seldom
from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.limits import Limits
from match_aie.options import OBJECTIVES, Arithmetic, CompileOptions, Selection
from match_aie.priced import (
    Clock,
    Decision,
    Progress,
    Resources,
    keyed,
    mapped_layers,
    price,
    shortened,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from match_aie.compilation import Compilation
    from match_aie.forms import Convolved
    from match_aie.frontend import Model
    from match_aie.hardware import MatchTarget, Objective
    from match_aie.hardware.graph import Graph
    from match_aie.lowering import NetworkProgram, Schedule
    from match_aie.mapping import SearchOptions
    from match_aie.partition import Assignment, Candidate
    from match_aie.ranges import Ranges, Shapes

_LOG = logging.getLogger(__name__)


def compile(
    model: Any,
    target: str | MatchTarget = "CPU",
    *,
    params: Any = None,
    name: str | None = None,
    shapes: Shapes | None = None,
    values: Mapping[str, Any] | None = None,
    arithmetic: Arithmetic = "module",
    memory_limit: int | None = None,
    integer_io: bool = False,
    selection: Selection = "cheapest",
    search: SearchOptions | None = None,
    objective: Objective = "latency",
    executor: Executor | None = None,
    cache: bool | str | os.PathLike[str] = True,
    progress: Progress | None = None,
    limits: Limits | None = None,
    states: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
) -> Compilation:
    """Compile a neural network for a chip; writes nothing.

    Args:
        model: an ONNX, TFLite or Relay file, its bytes, Relay text (or what gives it), ONNX's
            `ModelProto`, a `torch.export.ExportedProgram`, or a `tvm.IRModule` (Relax).
        params: values of Relay parameters: arrays by name, an `.npz` file, or `save_param_dict`'s.
        target: a `MatchTarget`, or the name of an installed one.
        name: of the network; the model's own by default.
        shapes: sizes for inputs with dynamic dimensions, by input name. A range ("1..128",
            "batch:1..8") is given by each run, see `match_aie.ranges`.
        values: of inputs of an ONNX model that are constants from there on, by input name.
        arithmetic: "module", "model" or "nearest", see `CompileOptions`.
        memory_limit: bytes the activations may take.
        integer_io: integer inputs and outputs where the model's are float only at its edge.
        selection: "cheapest" cover of the graph, or by MATCH's rule ("match").
        search: how mappings are searched, a `match_aie.mapping.SearchOptions`.
        objective: least modelled "latency", "energy", or product of both ("edp").
        executor: for the mapping searches: a `ProcessPoolExecutor`, Dask's `get_executor()`.
        cache: of searches: False for none, a folder, True for the platform's or MATCH_AIE_CACHE.
        progress: called with the name of each stage as it starts, and of each layer searched.
        limits: how large a model is read, a `match_aie.Limits`; its defaults where None.
        states: input name -> name of the output that it is in the next call, see `Project.stream`.
        pins: name of a layer as `explain` shows it -> the module that runs it, or "core".

    Raises:
        LimitError: the model is larger than `limits`.
        ModelError: the model cannot be read or compiled.
        TargetError: no such target.
        OptionError: an option makes no sense, a pin cannot be kept, or no energy is stated.
        InfeasibleError: the network does not fit in `memory_limit`.
    """
    from match_aie.ranges import of_model

    model, name = bind(model, values, name, limits)
    ranges = of_model(model, shapes, limits)
    how = (arithmetic, memory_limit, integer_io, selection, search, objective)
    options = CompileOptions(name, ranges.most, *how, dict(states or {}), dict(pins or {}))
    use = Resources(executor, cache, progress, limits)
    return _run(model, resolve(target), options, use, (params, ranges))


def _run(
    model: Any,
    target: MatchTarget,
    options: CompileOptions,
    use: Resources,
    more: tuple[Any, Ranges],
) -> Compilation:
    """For one size, or for a range of sizes.

    Args:
        model: as `compile` takes it.
        target: the chip.
        options: of the compilation, with the largest shapes.
        use: what it may use.
        more: parameters of a Relay module, and the ranges.
    """
    params, ranges = more
    if not ranges.sizes:
        return run(model, target, options, use, params)
    from match_aie.sized import run_sized

    return run_sized(model, target, options, ranges, use, params)


def bind(
    model: Any,
    values: Mapping[str, Any] | None,
    name: str | None = None,
    limits: Limits | None = None,
) -> tuple[Any, str | None]:
    """`model` with inputs bound to `values`, and the network's name; PyTorch's programs as ONNX.

    Args:
        model: as `compile` takes it.
        values: by input name; none where None or empty.
        name: of the network; that of the model's file where None and values are bound.
        limits: how large a file is read.

    Raises:
        ModelError: the model cannot be read.
        OptionError: no ONNX model, no such input, or a value that the input cannot have.
    """
    from match_aie.frontend.torch_program import exported

    model = exported(model)
    if not values:
        return model, name
    from match_aie.frontend.onnx_values import with_values

    bound, stem = with_values(model, values, limits or Limits())
    return bound, name or stem


def resolve(target: str | MatchTarget) -> MatchTarget:
    """A target by name or as it is."""
    from match_aie.hardware import MatchTarget, load_target

    if isinstance(target, str):
        return load_target(target)
    if isinstance(target, MatchTarget):
        return target
    raise TargetError(
        f"a target cannot be made from {type(target).__name__}",
        hint="give a name from `match-aie targets`, or an instance such as CPU()",
    )


def decide(
    model: Any,
    target: MatchTarget,
    options: CompileOptions,
    use: Resources = Resources(),
    clock: Clock | None = None,
    params: Any = None,
) -> Decision:
    """The stages up to selection, in order."""
    clock = clock or Clock(use.progress)
    from match_aie import forms, hardware, partition

    def decided(convolved: forms.Convolved) -> Decision:
        normal = normalised(model, target, options, use, clock, params, convolved)
        first = _decided(normal, target, options, use, clock)
        with clock.stage("partition"):
            later = partition.rewritten(normal, target, first.assignment.placed)
        return first if later is normal else _decided(later, target, options, use, clock)

    if hardware.facet(target, hardware.Rewrites).transposed == "cheapest":
        return forms.cheapest(decided, options)
    return decided(False)


def normalised(
    model: Any,
    target: MatchTarget,
    options: CompileOptions,
    use: Resources,
    clock: Clock,
    params: Any = None,
    convolved: Convolved = False,
) -> Model:
    """The model in canonical form, after the target's passes over it.

    Args:
        model: as `compile` takes it.
        target: the chip.
        options: of the compilation.
        use: how large the model may be.
        clock: of the stages.
        params: of a Relay module.
        convolved: which quantised transposed convolutions become convolutions, where the target
            does not say that all do.
    """
    with clock.stage("import"):
        from match_aie import frontend, partition
        from match_aie.hardware import ChipCosts, Rewrites, facet, refuse_objective
    refuse_objective(options.objective, target.name, facet(target, ChipCosts).energy)
    with clock.stage("load"):
        limits = use.limits or Limits()
        loaded = frontend.load(
            model, name=options.name, shapes=options.shapes, params=params, limits=limits
        )
    with clock.stage("normalize"):
        own = facet(target, Rewrites)
        normal = frontend.normalize(
            loaded,
            integer_io=options.integer_io,
            unsigned=own.activations == "unsigned",
            convolved=convolved or own.transposed == "convolutions",
        )
        normal = frontend.with_states(normal, options.states)
    with clock.stage("partition"):
        return partition.transformed(normal, target)


def _decided(
    normal: Model, target: MatchTarget, options: CompileOptions, use: Resources, clock: Clock
) -> Decision:
    """From candidates to selection."""
    from match_aie import partition

    with clock.stage("partition"):
        graph = partition.to_graph(normal)
        found = partition.candidates(graph, target, options.arithmetic)
    return selected(normal, (graph, found), target, options, use, clock)


def selected(
    normal: Model,
    found: tuple[Graph, Sequence[Candidate]],
    target: MatchTarget,
    options: CompileOptions,
    use: Resources,
    clock: Clock,
) -> Decision:
    """Who runs what, out of a graph's candidates.

    Args:
        normal: the model in canonical form.
        found: its graph, and the candidates there.
        target: the chip.
        options: of the compilation.
        use: for searches.
        clock: of the stages.
    """
    from match_aie import hardware, partition

    graph, candidates = found
    with clock.stage("map"):
        priced, searches = price(candidates, options, use)
        priced, forced = partition.pinned(graph, priced, options.pins, target)

    def select(unlimited: frozenset[str]) -> Assignment:
        with clock.stage("select"):
            return partition.select(
                graph,
                priced,
                target,
                rule=options.selection,
                unlimited=unlimited,
                objective=options.objective,
                forced=forced,
            )

    first = select(hardware.facet(target, hardware.ArrayChip).spared())
    return Decision(normal, first, searches, select)


@collecting_seldom()
def run(
    model: Any,
    target: MatchTarget,
    options: CompileOptions,
    use: Resources = Resources(),
    params: Any = None,
) -> Compilation:
    """The stages, in order; each takes what the ones before it made, and adds.

    What stays in inner memories is decided by a heuristic after mappings and selection, so that a
    plan for energy might in the end take more than one for latency. Where the objective is not
    latency the network is therefore planned for the others too, and the best plan is taken of those
    that fit.
    """
    wanted = options.objective
    left_out = {"latency": ("energy", "edp"), "energy": ("edp",), "edp": ()}[wanted]
    plans, refused = [], []
    for objective in sorted(OBJECTIVES, key=lambda each: each != wanted):
        if objective in left_out:
            continue
        try:
            plan = _plan(model, target, replace(options, objective=objective), use, params)
        except InfeasibleError as error:
            refused.append(error)
            continue
        plans.append(plan if objective == wanted else replace(plan, options=options))
    if not plans:
        raise refused[0]
    return plans[0] if len(plans) == 1 else min(plans, key=lambda plan: plan.measure(wanted))


def _plan(
    model: Any, target: MatchTarget, options: CompileOptions, use: Resources, params: Any
) -> Compilation:
    """The stages for one objective."""
    clock = Clock(use.progress)
    from match_aie import codegen, hardware
    from match_aie.compilation import Compilation

    decision = decide(model, target, options, use, clock, params)
    normal, assignment = decision.model, decision.assignment
    symbol = codegen.identifier(normal.name, ())
    program = _program(symbol, normal, assignment, target, options, (use, clock))
    if isinstance(program, Infeasible) and hardware.facet(target, hardware.ArrayChip).spared():
        assignment = decision.select(frozenset())
        program = _program(symbol, normal, assignment, target, options, (use, clock))
    if isinstance(program, Infeasible):
        raise InfeasibleError(program, where=normal.name)
    found, seconds = decision.searches, clock.seconds
    return Compilation(symbol, target, options, normal, assignment, program, found, seconds)


def _program(
    symbol: str,
    normal: Model,
    assignment: Assignment,
    target: MatchTarget,
    options: CompileOptions,
    by: tuple[Resources, Clock],
) -> NetworkProgram | Infeasible:
    """From who runs what to the program, or what there is too little of for it.

    Args:
        symbol: the network's name in C.
        normal: the model in canonical form.
        assignment: who runs what of it.
        target: the chip.
        options: of the compilation, which are also those of searches.
        by: what these may use, and the clock.
    """
    use, clock = by
    with clock.stage("fallback"):
        from match_aie import fallback, lowering, partition

        layers = mapped_layers(assignment)
        chosen = {key: o.candidate.layer for key, o in keyed(assignment) if o.candidate.layer}
        rest = partition.cut(normal, chosen)
        remainder = fallback.lower(rest.module, prefix=symbol, labels=rest.labels)
    with clock.stage("map"):
        remainder, layers = shortened(remainder, layers, options, use)
    with clock.stage("lower"):
        schedule = lowering.lower(symbol, remainder, layers)
    return placed(schedule, target, options, clock)


def placed(
    schedule: Schedule, target: MatchTarget, options: CompileOptions, clock: Clock
) -> NetworkProgram | Infeasible:
    """The calls with their memory planned, and the sources that the target adds.

    Args:
        schedule: the network's calls.
        target: the chip.
        options: of the compilation.
        clock: of the stages.
    """
    from match_aie import hardware, lowering

    with clock.stage("plan"):
        program = lowering.place(
            schedule, target, limit=options.memory_limit, objective=options.objective
        )
        if isinstance(program, Infeasible):
            return program
        program = lowering.share(program)
        companions = hardware.facet(target, hardware.ArrayChip).companions
        units = companions(schedule.name, program.schedule.chosen)
        return units if isinstance(units, Infeasible) else replace(program, units=tuple(units))
