"""The pipeline: from a model to a program, a line per stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.options import Arithmetic, CompileOptions

if TYPE_CHECKING:
    from match_aie.compilation import Compilation
    from match_aie.hardware import MatchTarget
    from match_aie.lowering.lower import MappedLayer
    from match_aie.partition import Assignment, Candidate, Option

Progress = Callable[[str], None]


@dataclass
class Clock:
    """Wall-clock seconds of the stages of one compilation, in order; measured."""

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what runs inside, and tell `progress` that it starts."""
        if self.progress is not None:
            self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def compile(
    model: Any,
    target: str | MatchTarget = "CPU",
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    arithmetic: Arithmetic = "module",
    memory_limit: int | None = None,
    integer_io: bool = False,
    progress: Progress | None = None,
) -> Compilation:
    """Compile a neural network for a chip; writes nothing.

    Args:
        model: path of an ONNX or TFLite file, its bytes, an `onnx.ModelProto`, or a
            `tvm.IRModule` whose Relax function `main` is the network.
        target: a `MatchTarget`, or the name of an installed one.
        name: of the network; the model's own by default.
        shapes: sizes for inputs with dynamic dimensions, by input name.
        arithmetic: "module" or "model", see `CompileOptions`.
        memory_limit: bytes the activations may take.
        integer_io: integer inputs and outputs where the model's are float only at its edge.
        progress: called with the name of each stage as it starts.

    Raises:
        ModelError: the model cannot be read or compiled.
        TargetError: no such target.
        OptionError: an option makes no sense.
        InfeasibleError: the network does not fit in `memory_limit`.
    """
    sizes = {key: tuple(int(s) for s in shape) for key, shape in (shapes or {}).items()}
    options = CompileOptions(name, sizes, arithmetic, memory_limit, integer_io)
    return run(model, resolve(target), options, progress)


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


def run(
    model: Any, target: MatchTarget, options: CompileOptions, progress: Progress | None = None
) -> Compilation:
    """The stages, in order; each takes what the ones before it made, and adds."""
    clock = Clock(progress)
    with clock.stage("import"):
        from match_aie import codegen, fallback, frontend, lowering, partition
        from match_aie.compilation import Compilation
    with clock.stage("load"):
        loaded = frontend.load(model, name=options.name, shapes=options.shapes)
        symbol = codegen.identifier(loaded.name, ())
    with clock.stage("normalize"):
        normal = frontend.normalize(loaded, integer_io=options.integer_io)
    with clock.stage("partition"):
        graph = partition.to_graph(normal)
        found = partition.candidates(graph, target)
    with clock.stage("map"):
        priced = [price(candidate, options) for candidate in found]
    with clock.stage("select"):
        assignment = partition.select(graph, priced)
    with clock.stage("fallback"):
        layers = mapped_layers(assignment)
        chosen = {key: o.candidate.layer for key, o in _keyed(assignment) if o.candidate.layer}
        rest = partition.cut(normal, chosen)
        remainder = fallback.lower(rest.module, prefix=symbol, labels=rest.labels)
    with clock.stage("lower"):
        schedule = lowering.lower(symbol, remainder, layers)
    with clock.stage("plan"):
        alignment = target.build_profile().alignment
        memory = lowering.plan(schedule, alignment=alignment, limit=options.memory_limit)
        if isinstance(memory, Infeasible):
            raise InfeasibleError(memory, where=loaded.name)
    program = lowering.NetworkProgram(schedule, memory)
    return Compilation(symbol, target, options, normal, assignment, program, clock.seconds)


def price(candidate: Candidate, options: CompileOptions) -> Option:
    """What the mapping search says of a candidate."""
    from match_aie import mapping
    from match_aie.partition import Option

    if candidate.layer is None:
        return Option(candidate)
    if options.arithmetic == "model" and candidate.module.arithmetic != "model":
        refusal = "requantises in the module's own arithmetic, and the model's was asked for"
        return Option(replace(candidate, layer=None, refusal=refusal))
    found = mapping.search(candidate.layer.workload, candidate.module)
    if isinstance(found, Infeasible):
        return Option(candidate, infeasible=found)
    return Option(candidate, found[0].mapping, found[0].cost)


def mapped_layers(assignment: Assignment) -> dict[str, MappedLayer]:
    """The chosen layers by the key under which the fallback's call list names them."""
    from match_aie.lowering.lower import MappedLayer

    layers: dict[str, MappedLayer] = {}
    for key, option in _keyed(assignment):
        candidate = option.candidate
        if candidate.layer and option.mapping and option.cost:
            layers[key] = MappedLayer(
                candidate.label,
                candidate.module,
                candidate.pattern.name,
                candidate.layer.workload,
                candidate.layer.constants,
                option.mapping,
                option.cost,
            )
    return layers


def _keyed(assignment: Assignment) -> list[tuple[str, Option]]:
    return [(f"ma_{index}", option) for index, option in enumerate(assignment.chosen)]
