"""One program for a range of sizes.

Front end and fallback know tensors of fixed sizes only. So the network is taken as far as calls at
several sizes, with the same choices at each, and what they have in common becomes the program:
what is equal stays, a number that grows with a size becomes an expression (`workload.extent`), and
anything else is refused. The sizes are primes spread over the range, more than an expression has
coefficients, so that what depends on a size in another way (a division, a branch) shows. Who runs
a layer, mappings, and memory are decided at the largest size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from match_aie import fallback, lowering, partition
from match_aie.collecting import collecting_seldom
from match_aie.compilation import Compilation
from match_aie.errors import (
    Infeasible,
    InfeasibleError,
    MatchError,
    OptionError,
    UnsupportedOperatorError,
)
from match_aie.hardware import MatchTarget, Sized, facet
from match_aie.pipeline import normalised, placed, selected
from match_aie.priced import Clock, Resources, keyed, mapped_layers
from match_aie.trials import trials
from match_aie.workload import Workload
from match_aie.workload.codec import to_json
from match_aie.workload.extent import Different, Extent, Fit

if TYPE_CHECKING:
    from match_aie.fallback import Remainder
    from match_aie.frontend import Model, Port
    from match_aie.hardware.graph import Graph
    from match_aie.lowering.lower import MappedLayer
    from match_aie.options import CompileOptions
    from match_aie.partition import Assignment, Candidate
    from match_aie.ranges import Ranges

#: Composites whose steps the fallback writes out.
STEPS = ("onnx.GRU", "onnx.LSTM", "onnx.RNN")

#: Where a candidate stands: root, nodes, module, pattern.
_Key = tuple[object, ...]


@collecting_seldom()
def run_sized(
    model: Any,
    target: MatchTarget,
    options: CompileOptions,
    ranges: Ranges,
    use: Resources,
    params: Any = None,
) -> Compilation:
    """One program for all sizes of `ranges`; memory is planned for the largest.

    Args:
        model: as `match_aie.compile` takes it.
        target: the chip.
        options: with the largest shapes.
        ranges: sizes and shapes.
        use: for searches.
        params: of a Relay module.

    Raises:
        UnsupportedOperatorError: an operator has no one form for all sizes.
        OptionError: the target runs networks of fixed sizes only, or the model keeps a state.
        MatchError: as `match_aie.compile` raises.
    """
    _refuse_target(target, options)
    work = _Work(model, target, options, ranges, use, params)
    last: MatchError | None = None
    for points in trials(ranges.sizes):
        try:
            return work.compiled(points)
        except MatchError as error:
            last = last or error
            if all(_within(point, ranges) for point in points):
                break
    assert last is not None
    raise last


def _within(point: Sequence[int], ranges: Ranges) -> bool:
    return all(s.low <= v <= s.high for v, s in zip(point, ranges.sizes, strict=True))


def _shared(point: Sequence[int], other: Sequence[int]) -> int:
    """How many sizes two points have in common."""
    return sum(one == two for one, two in zip(point, other, strict=True))


def _refuse_target(target: MatchTarget, options: CompileOptions) -> None:
    if target.runtime().entry or target.simulator() is not None:
        raise OptionError(
            f"target {target.name} runs networks of fixed sizes only",
            hint="give each axis one size (--shape x=1,384), or compile for CPU",
        )
    if options.states:
        raise OptionError("a network that keeps a state has fixed sizes", hint="leave out states")


@dataclass(frozen=True)
class _Sighted:
    """The network at fixed sizes: its model, graph and candidates."""

    model: Model
    graph: Graph
    found: Mapping[_Key, Candidate]


@dataclass(frozen=True)
class _Tried:
    """The network at fixed sizes, as far as calls."""

    remainder: Remainder
    layers: Mapping[str, Workload]
    ports: tuple[tuple[int, ...], ...]


class _Work:
    """A compilation for several sizes."""

    def __init__(
        self,
        model: Any,
        target: MatchTarget,
        options: CompileOptions,
        ranges: Ranges,
        use: Resources,
        params: Any,
    ) -> None:
        """Take the network to its candidates at the largest sizes.

        Args:
            model: as `match_aie.compile` takes it.
            target: the chip.
            options: of the compilation.
            ranges: sizes and shapes.
            use: for searches.
            params: of a Relay module.
        """
        self._given = (model, params)
        self._target, self._options, self._ranges, self._use = target, options, ranges, use
        self._clock = Clock(use.progress)
        self._whole = self._sighted(ranges.largest)

    def compiled(self, points: Sequence[tuple[int, ...]]) -> Compilation:
        """The program that is right at `points`, and at the largest sizes."""
        whole, sizes = self._whole, self._ranges.sizes
        # Loops whose sizes a run gives are told by comparing the largest sizes with quite others.
        points = sorted(points, key=lambda point: _shared(point, self._ranges.largest))
        first = self._sighted(points[0])
        self._same_operators(first.graph)
        found = [_judged(candidate, first.found.get(key)) for key, candidate in whole.found.items()]
        how = (self._target, self._options, self._use, self._clock)
        decision = selected(whole.model, (whole.graph, found), *how)
        from match_aie import codegen

        symbol = codegen.identifier(whole.model.name, ())
        chosen = {key: _key(option.candidate) for key, option in keyed(decision.assignment)}
        _refuse_steps(whole.graph, first.graph, decision.assignment)
        tried = [self._tried(first, chosen, symbol)]
        tried += [self._tried(self._sighted(point), chosen, symbol) for point in points[1:]]
        with self._clock.stage("fallback"):
            fit = Fit(points, sizes)
            largest = cache(lambda: self._tried(whole, chosen, symbol).remainder)
            remainder = fallback.common([t.remainder for t in tried], fit, sizes, largest, symbol)
            model = self._with_extents(fit, tried)
        layers = _layers(decision.assignment, tried, Fit([*points, self._ranges.largest], sizes))
        with self._clock.stage("lower"):
            schedule = lowering.lower(symbol, remainder, layers, sizes)
        program = placed(schedule, self._target, self._options, self._clock)
        if isinstance(program, Infeasible):
            raise InfeasibleError(program, where=model.name)
        made = (symbol, self._target, self._options, model, decision.assignment, program)
        return Compilation(*made, decision.searches, self._clock.seconds)

    def _sighted(self, point: Sequence[int]) -> _Sighted:
        model, params = self._given
        options = replace(self._options, shapes=self._ranges.at(point))
        normal = normalised(model, self._target, options, self._use, self._clock, params)
        if normal.states:
            raise OptionError("a model that keeps a state has fixed sizes")
        with self._clock.stage("partition"):
            graph = partition.to_graph(normal)
            found = partition.candidates(graph, self._target, options.arithmetic)
        return _Sighted(normal, graph, {_key(candidate): candidate for candidate in found})

    def _same_operators(self, other: Graph) -> None:
        """Refuse a network that has other operators at another size.

        Raises:
            UnsupportedOperatorError: names the first that is another.
        """
        ours, theirs = self._whole.graph.nodes, other.nodes
        for one, two in zip(ours, theirs, strict=False):
            if one.operator != two.operator:
                why = f"at another size {two.operator} stands in its place"
                raise UnsupportedOperatorError([(one.operator, one.label, why)])
        if len(ours) != len(theirs):
            node = max(ours, theirs, key=len)[min(len(ours), len(theirs))]
            why = "it is not there at all sizes"
            raise UnsupportedOperatorError([(node.operator, node.label, why)])

    def _tried(self, seen: _Sighted, chosen: Mapping[str, _Key], symbol: str) -> _Tried:
        self._same_operators(seen.graph)
        layers = {}
        for key, place in chosen.items():
            candidate = seen.found.get(place)
            if candidate is None or candidate.layer is None:
                label = candidate.label if candidate else ""
                why = f"module {place[2]} cannot run it at all sizes"
                raise UnsupportedOperatorError([(str(place[3]), label, why)])
            layers[key] = candidate.layer
        with self._clock.stage("fallback"):
            rest = partition.cut(seen.model, layers)
            made = fallback.lower(rest.module, prefix=symbol, labels=rest.labels, alike=True)
        ports = tuple(port.shape for port in (*seen.model.inputs, *seen.model.outputs))
        return _Tried(made, {key: layer.workload for key, layer in layers.items()}, ports)

    def _with_extents(self, fit: Fit, tried: Sequence[_Tried]) -> Model:
        """The model of the largest sizes, whose ports say what depends on sizes."""
        model = self._whole.model
        ports = (*model.inputs, *model.outputs)
        made = [
            _port(port, fit, [t.ports[index] for t in tried], self._ranges.largest)
            for index, port in enumerate(ports)
        ]
        count = len(model.inputs)
        return replace(model, inputs=tuple(made[:count]), outputs=tuple(made[count:]))


def _refuse_steps(ours: Graph, theirs: Graph, assignment: Assignment) -> None:
    """Refuse a recurrent layer over an open number of steps before they are written out.

    Args:
        ours: at the largest sizes.
        theirs: at others.
        assignment: who runs what; the core runs the rest.
    """
    for one, two in zip(ours.nodes, theirs.nodes, strict=True):
        if one.operator not in STEPS or one.output in assignment.placed:
            continue
        sizes = [
            graph.values[node.inputs()[0]].shape for graph, node in ((ours, one), (theirs, two))
        ]
        if sizes[0] != sizes[1]:
            why = "its steps are written out, and their number is not the same at all sizes"
            raise UnsupportedOperatorError([(one.operator, one.label, why)])


def _port(
    port: Port, fit: Fit, shapes: Sequence[tuple[int, ...]], largest: tuple[int, ...]
) -> Port:
    try:
        extents = tuple(map(fit.number, zip(*shapes, strict=True)))
    except (Different, ValueError) as error:
        why = f"its shape is no polynomial in the sizes: {error}"
        raise UnsupportedOperatorError([("output", port.name, why)]) from error
    if not any(isinstance(extent, Extent) for extent in extents):
        return port
    return replace(port, extents=extents)


def _key(candidate: Candidate) -> _Key:
    match = candidate.match
    return (match.root, match.nodes, candidate.module.name, candidate.pattern.name)


def _judged(candidate: Candidate, other: Candidate | None) -> Candidate:
    """`candidate` with the loops that a run gives the sizes of, or refused.

    Args:
        candidate: at the largest sizes.
        other: the same at another size, if there is one.
    """
    layer = candidate.layer
    if layer is None:
        return candidate
    if other is None or other.layer is None:
        gone = "at another size it is no layer of this kind"
        return replace(candidate, layer=None, refusal=gone)
    theirs = other.layer.workload
    why: str | None = _apart(layer.workload, theirs)
    ours, sizes = layer.workload, theirs.sizes
    run_time = tuple(dim for dim, size in ours.dims if sizes.get(dim) != size)
    if not why and not all(
        _corner(value, other.layer.constants[name]) for name, value in layer.constants.items()
    ):
        why = "a constant of it depends on a run's sizes"
    if not why and run_time:
        ours = replace(ours, run_time=run_time)
        why = (
            "its own arithmetic was proven for fixed sizes"
            if layer.original is not None
            else facet(candidate.module, Sized).refuses_sizes(ours)
        )
    if why:
        return replace(candidate, layer=None, refusal=why)
    return replace(candidate, layer=replace(layer, workload=ours))


def _corner(largest: np.ndarray, other: np.ndarray) -> bool:
    """Whether a constant of another size is the first elements of every axis of the largest one."""
    part = largest[tuple(map(slice, other.shape))] if largest.ndim == other.ndim else largest
    return part.shape == other.shape and part.tobytes() == other.tobytes()


def _apart(ours: Workload, theirs: Workload) -> str | None:
    """Why two workloads are not one layer at two sizes; None where they are."""

    def plain(workload: Workload) -> object:
        operands = [
            (o.name, o.dtype, o.axes, o.constant, o.scale, o.zero_point) for o in workload.operands
        ]
        dims = [name for name, _ in workload.dims]
        what = (workload.kind, workload.window, workload.tail, workload.real, workload.parameters)
        return dims, operands, what, workload.added

    if plain(ours) != plain(theirs):
        return "at another size it is another layer"
    return None


def _layers(assignment: Assignment, tried: Sequence[_Tried], fit: Fit) -> dict[str, MappedLayer]:
    """The chosen layers with what depends on sizes."""
    layers = mapped_layers(assignment)
    for key, layer in layers.items():
        run_time = layer.workload.run_time
        several = [replace(each.layers[key], run_time=run_time) for each in tried]
        try:
            sized = fit.tree([to_json(each) for each in (*several, layer.workload)])
        except Different as error:
            why = f"it has no one form for all sizes: {error}"
            raise UnsupportedOperatorError([(layer.workload.kind, layer.label, why)]) from error
        if run_time:
            layers[key] = replace(layer, sized=sized)
        elif sized != to_json(layer.workload):
            why = "its sizes change in another way than those of its loops"
            raise UnsupportedOperatorError([(layer.workload.kind, layer.label, why)])
    return layers
