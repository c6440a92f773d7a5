"""`match-aie map`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, cast

from match_aie import pipeline, priced, report
from match_aie.cli.options import load, parse_limits, parse_shapes, parse_values
from match_aie.cli.terminal import say, say_json, working
from match_aie.errors import Infeasible, InfeasibleError, OptionError, shorten
from match_aie.options import CompileOptions

if TYPE_CHECKING:
    from match_aie.hardware import Cost, Mapping, Objective
    from match_aie.mapping.options import Engine
    from match_aie.partition import Assignment, Option


@dataclass(frozen=True)
class MapRequest:
    """What the user typed."""

    model: Path
    target: str
    layer: str
    module: str | None
    engine: str
    shapes: tuple[str, ...]
    cache: bool
    params: Path | None = None
    limits: tuple[str, ...] = ()
    objective: str = "latency"
    values: tuple[str, ...] = ()
    target_options: Path | None = None


def map_layer(request: MapRequest, as_json: bool) -> None:
    """Search a network's mappings, and show those of one layer.

    Raises:
        OptionError: no such layer or module, or no module can run the layer.
        InfeasibleError: no mapping of the layer fits the module.
    """
    from match_aie.mapping import SearchOptions
    from match_aie.ranges import of_model

    objective = cast("Objective", request.objective)
    search = SearchOptions(engine=cast("Engine", request.engine), objective=objective)
    with working(f"mapping {request.model.name}") as progress:
        limits = parse_limits(request.limits)
        use = priced.Resources(cache=request.cache, progress=progress, limits=limits)
        target = pipeline.resolve(load(request.target, request.target_options))
        model, _ = pipeline.bind(request.model, parse_values(request.values), limits=limits)
        shapes = of_model(model, parse_shapes(request.shapes), limits).most
        options = CompileOptions(shapes=shapes, search=search, objective=objective)
        decision = pipeline.decide(model, target, options, use, params=request.params)
    view = _view(decision.assignment, request)
    if as_json:
        say_json(report.mapping_json(view))
    else:
        say(report.mapping_text(view))


def _view(assignment: Assignment, request: MapRequest) -> report.LayerMapping:
    option = _option(assignment, request)
    candidate = option.candidate
    assert candidate.layer is not None
    assert option.mapping is not None
    assert option.cost is not None
    return report.LayerMapping(
        candidate.label,
        candidate.module,
        candidate.pattern.name,
        any(option is chosen for chosen in assignment.chosen),
        candidate.layer.workload,
        option.mapping,
        option.cost,
        _others(option, cast("Objective", request.objective)),
    )


def _others(option: Option, objective: Objective) -> tuple[tuple[Mapping, Cost], ...]:
    """Further mappings, best first: the search's own, and where those are few, the exact ones."""
    from match_aie import mapping
    from match_aie.hardware import measure

    candidate = option.candidate
    if candidate.layer is None or len(option.others) >= report.NEXT:
        return option.others
    known = [(option.mapping, option.cost), *option.others]
    how = mapping.SearchOptions("exact", objective=objective, runners_up=report.NEXT)
    found = mapping.search(candidate.layer.workload, candidate.module, how)
    more = [] if isinstance(found, Infeasible) else [(row.mapping, row.cost) for row in found]
    seen = {mapped for mapped, _ in known}
    others = [*option.others, *(row for row in more if row[0] not in seen)]
    return tuple(sorted(others, key=lambda row: measure(row[1], objective)))


def _option(assignment: Assignment, request: MapRequest) -> Option:
    """The option that runs the layer, or else the best that could."""
    here = [o for o in assignment.considered if o.candidate.label == request.layer]
    if not here:
        raise _unknown(request.layer, [o.candidate.label for o in assignment.considered])
    if request.module is not None:
        there = [o for o in here if o.candidate.module.name == request.module]
        if not there:
            names = dict.fromkeys(o.candidate.module.name for o in here)
            raise OptionError(
                f"no pattern of module {shorten(request.module, 60)!r} matches this layer",
                where=request.layer,
                hint=f"modules with a pattern for it: {', '.join(names)}",
            )
        here = there
    chosen = [o for o in here if any(o is c for c in assignment.chosen)]
    able = [o for o in here if o.cost is not None]
    able.sort(key=lambda o: (-len(o.candidate.match.nodes), o.cost.cycles if o.cost else 0.0))
    if not chosen and not able:
        raise _refused(here)
    return (chosen or able)[0]


def _unknown(layer: str, labels: Sequence[str]) -> OptionError:
    names = list(dict.fromkeys(labels))
    near = get_close_matches(layer, names, n=3, cutoff=0.4) or names[:3]
    shown = ", ".join(shorten(name, 60) for name in near)
    return OptionError(
        f"no module has a pattern for a layer called {shorten(layer, 60)!r}",
        hint=f"one of {shown}" if shown else "the target's modules match nothing in this model",
    )


def _refused(here: Sequence[Option]) -> Exception:
    """Why nothing can run the layer: that it does not fit, or else what each module says."""
    where = here[0].candidate.label
    for option in here:
        if option.infeasible is not None:
            return InfeasibleError(option.infeasible, where=where)
    reasons = "; ".join(f"{o.candidate.module.name}: {o.reason}" for o in here)
    return OptionError(f"no module can run this layer: {shorten(reasons)}", where=where)
