"""What all ways through the pipeline share: resources, a clock, prices, the chosen layers."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from match_aie.errors import Infeasible, LimitError
from match_aie.limits import Limits
from match_aie.options import CompileOptions

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from match_aie.fallback import Remainder
    from match_aie.frontend import Model
    from match_aie.lowering.lower import MappedLayer
    from match_aie.mapping import SearchCounts
    from match_aie.partition import Assignment, Candidate, Option

Progress = Callable[[str], None]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resources:
    """What a compilation may use; none of it changes the result.

    Attributes:
        executor: runs the mapping searches; this process, one after the other, where None.
        cache: of search results: False for none, a folder, True for the usual one.
        progress: called with the name of each stage as it starts, and of each layer searched.
        limits: how large a model is read; the defaults where None.
    """

    executor: Executor | None = None
    cache: bool | str | os.PathLike[str] = True
    progress: Progress | None = None
    limits: Limits | None = None


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
        try:
            yield
        except (RecursionError, MemoryError) as error:
            raise LimitError(
                f"the model is too deep or too large for stage {name!r}: {type(error).__name__}",
                hint="a smaller model, or a machine with more memory",
            ) from error
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        _LOG.info("%s: %.3f s", name, self.seconds[name])


@dataclass(frozen=True, eq=False)
class Decision:
    """Who runs what, before anything is lowered.

    Attributes:
        model: normalised.
        assignment: who runs what, and who else could.
        searches: how many mappings were searched.
        select: decides again, with some of the target's capacities left out.
    """

    model: Model
    assignment: Assignment
    searches: SearchCounts
    select: Callable[[frozenset[str]], Assignment]


def price(
    found: Sequence[Candidate], options: CompileOptions, use: Resources
) -> tuple[list[Option], SearchCounts]:
    """What the mapping search says of every candidate."""
    from match_aie import mapping
    from match_aie.partition import Option

    allowed = [_allowed(candidate, options) for candidate in found]
    tasks = [
        mapping.Task(c.layer.workload, c.module, c.label) for c in allowed if c.layer is not None
    ]
    how = replace(options.search or mapping.SearchOptions(), objective=options.objective)
    with mapping.open_cache(use.cache) as cache:
        results, counts = mapping.search_all(tasks, how, use.executor, cache, use.progress)
    answers = iter(results)
    priced = []
    for candidate in allowed:
        answer = next(answers) if candidate.layer is not None else None
        if answer is None:
            priced.append(Option(candidate))
        elif isinstance(answer, Infeasible):
            priced.append(Option(candidate, infeasible=answer))
        else:
            best, *others = answer
            rest = tuple((row.mapping, row.cost) for row in others)
            priced.append(Option(candidate, best.mapping, best.cost, others=rest))
    return priced, counts


def _allowed(candidate: Candidate, options: CompileOptions) -> Candidate:
    """`candidate`, refused where its module does not compute what was asked for."""
    from match_aie.hardware import computes_model

    if candidate.layer is None or options.arithmetic != "model":
        return candidate
    if computes_model(candidate.module, candidate.layer.original):
        return candidate
    refusal = "requantises in the module's own arithmetic, and the model's was asked for"
    return replace(candidate, layer=None, refusal=refusal)


def mapped_layers(assignment: Assignment) -> dict[str, MappedLayer]:
    """The chosen layers by the key under which the fallback's call list names them."""
    from match_aie.hardware import OwnArithmetic, facet
    from match_aie.lowering.lower import MappedLayer

    layers: dict[str, MappedLayer] = {}
    for key, option in keyed(assignment):
        candidate = option.candidate
        if candidate.layer and option.mapping and option.cost:
            own = facet(candidate.module, OwnArithmetic)
            layers[key] = MappedLayer(
                candidate.label,
                candidate.module,
                candidate.pattern.name,
                own.mapped(candidate.layer.workload, option.mapping),
                candidate.layer.constants,
                option.mapping,
                option.cost,
                candidate.layer.original,
                option.pinned,
            )
    return layers


def shortened(
    remainder: Remainder, layers: dict[str, MappedLayer], options: CompileOptions, use: Resources
) -> tuple[Remainder, dict[str, MappedLayer]]:
    """With tensors between layers in fewer bits, where all layers fit so and are modelled better.

    Args:
        remainder: the network's calls.
        layers: by the key that calls name.
        options: of the compilation.
        use: for searches.
    """
    from match_aie import hardware, lowering, mapping

    rest, changed = lowering.shorter(remainder, layers)
    if not changed:
        return remainder, layers
    tasks = [mapping.Task(w, layers[key].module, layers[key].label) for key, w in changed.items()]
    how = replace(options.search or mapping.SearchOptions(), objective=options.objective)
    with mapping.open_cache(use.cache) as cache:
        results, _ = mapping.search_all(tasks, how, use.executor, cache, use.progress)
    fresh = dict(layers)
    for (key, workload), found in zip(changed.items(), results, strict=True):
        if isinstance(found, Infeasible):
            return remainder, layers
        best = found[0]
        fresh[key] = replace(layers[key], workload=workload, mapping=best.mapping, cost=best.cost)

    def total(of: dict[str, MappedLayer]) -> float:
        return sum(hardware.measure(of[key].cost, options.objective) for key in changed)

    return (rest, fresh) if total(fresh) < total(layers) else (remainder, layers)


def keyed(assignment: Assignment) -> list[tuple[str, Option]]:
    """The chosen options by the key under which the call list names them."""
    return [(f"ma_{index}", option) for index, option in enumerate(assignment.chosen)]
