"""A target's passes: each applied to the plain graph, written back, and held to what it got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import MatchError, TargetError, shorten
from match_aie.frontend.model import Model
from match_aie.frontend.rebuild import Emitter, Expr, rebuild
from match_aie.hardware import MatchTarget, Pass, PlacedPass, Rewrites, facet
from match_aie.hardware.graph import Argument, Graph, Node
from match_aie.hardware.passes import ADDED, JOINED, SLICED, WINDOWED
from match_aie.partition.meaning import evaluate, random_tensor
from match_aie.partition.to_graph import to_graph


def transformed(model: Model, target: MatchTarget) -> Model:
    """`model` after all passes of `target`, in order.

    Raises:
        TargetError: a pass fails, gives what no pass may give, or changes what is computed.
    """
    for one in _passes(target):
        before = to_graph(model)
        with _failing(f"pass {one.name} failed"):
            after = one(before)
        if after is before:
            continue
        _same_results(one, before, after)
        with _failing(f"pass {one.name} gives a graph that is no network"):
            model = _written(model, before, after, one.name)
            _compare(before, to_graph(model), one.name)
    return model


def rewritten(model: Model, target: MatchTarget, placed: Mapping[str, str]) -> Model:
    """`model` after all passes of `target` that see who runs what, in order.

    Args:
        model: that was decided on.
        target: whose passes.
        placed: names of modules by the name of the result of each node that they run.

    Raises:
        TargetError: as `transformed`.
    """
    passes = facet(target, Rewrites).placed_passes
    first = now = to_graph(model) if passes else Graph((), {})
    for one in _named(passes, "placed_passes"):
        with _failing(f"pass {one.name} failed"):
            after = cast(PlacedPass, one)(now, placed)
        if after is not now:
            _same_results(one, now, after)
            with _failing(f"pass {one.name} gives a graph that is no network"):
                _compare(now, after, one.name)
            now = after
    if now is first:
        return model
    who = ", ".join(one.name for one in passes)
    with _failing(f"passes {who} give a graph that is no network"):
        model = _written(model, first, now, who)
        _compare(first, to_graph(model), who)
    return model


def _passes(target: MatchTarget) -> tuple[Pass, ...]:
    return cast(tuple[Pass, ...], _named(facet(target, Rewrites).passes, "passes"))


def _named(found: object, which: str) -> tuple[Pass | PlacedPass, ...]:
    if not isinstance(found, list | tuple):
        given = shorten(repr(found), 80)
        raise TargetError(f"{which} are {given}, not a tuple", hint="passes = (pad_channels(16),)")
    for one in found:
        if isinstance(one, type) or not callable(one) or not isinstance(one, Pass):
            raise TargetError(
                f"{which} hold {shorten(repr(one), 80)}, which is no pass",
                hint="an object with a name, called with a graph, such as pad_channels(16)",
            )
    return tuple(found)


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Errors of a pass's author, or of TVM about what a pass made, with the pass's name."""
    try:
        yield
    except MatchError:
        raise
    except Exception as error:
        said = shorten(f"{type(error).__name__}: {error}", 300)
        raise TargetError(f"{what}: {said}") from error


def _same_results(one: Pass | PlacedPass, graph: Graph, after: object) -> None:
    if not isinstance(after, Graph):
        raise TargetError(f"pass {one.name} gives {type(after).__name__}, not a Graph")
    if after.outputs != graph.outputs:
        raise TargetError(f"pass {one.name} gives a network with other results")


def _written(model: Model, before: Graph, after: Graph, who: str) -> Model:
    """`model` as `after` has it, where `before` is what it was."""
    main = model.module["main"]
    variables = {tvm_api.variable_name(p): p for p in main.params}
    variables.update((tvm_api.variable_name(var), var) for var, _ in tvm_api.bindings(main))
    old, ahead = before.producers, _ahead(before, after, who)
    calls = {tvm_api.variable_name(var): call for var, call in tvm_api.bindings(main)}
    likes = {_alike(node): calls[node.output] for node in before.nodes}
    made: dict[str, Expr] = {}

    def found(emitter: Emitter, name: Argument) -> Expr:
        if isinstance(name, tuple):
            return relax.Tuple([found(emitter, cast(Argument, each)) for each in name])
        if not isinstance(name, str):
            raise TargetError(f"pass {who} gives {name!r} for an argument, not a value's name")
        constant = after.values[name].constant
        if constant is not None:
            return relax.const(constant, after.values[name].dtype)
        return made[name] if name in made else emitter.env[variables[name]]

    def new(emitter: Emitter, node: Node) -> Expr:
        like = likes.get(_alike(node))
        if like is None:
            return _added(node, [found(emitter, tensor) for tensor in node.inputs()], who)
        pairs = zip(node.arguments, like.args, strict=True)
        read = [found(emitter, a) if isinstance(a, str) else same for a, same in pairs]
        if node.operator in WINDOWED:
            return tvm_api.operator(node.operator)(*read, **node.attributes)
        return relax.Call(like.op, read, like.attrs, like.ty_args)

    def visit(emitter: Emitter, var: Any, value: Expr) -> Expr:
        name = tvm_api.variable_name(var)
        node = after.producers.get(name)
        if node is None:
            return value
        label = emitter.label
        for fresh in ahead.get(name, ()):
            emitter.label = fresh.label or label
            made[fresh.output] = emitter.emit(new(emitter, fresh))
        emitter.label = label
        if node.operator != old[name].operator:
            return new(emitter, node)
        if node.arguments == old[name].arguments:
            return value
        pairs = zip(value.args, node.arguments, old[name].arguments, strict=True)
        arguments = [
            given if one is was or one == was else found(emitter, one) for given, one, was in pairs
        ]
        return relax.Call(value.op, arguments, value.attrs, value.ty_args)

    module, labels = rebuild(model.module, model.labels, visit)
    return replace(model, module=module, labels=labels)


def _ahead(before: Graph, after: Graph, who: str) -> Mapping[str, list[Node]]:
    """Nodes that a pass added, by the result of the next one that was there."""
    old = before.producers
    found: dict[str, list[Node]] = {}
    waiting: list[Node] = []
    for node in after.nodes:
        if node.output not in old:
            waiting.append(node)
            continue
        was = old[node.output]
        same = (node.operator, dict(node.attributes)) == (was.operator, dict(was.attributes))
        if not same and node.operator != JOINED:
            raise TargetError(f"pass {who} makes {node.output} another operator: {node.operator}")
        found[node.output], waiting = waiting, []
    if waiting:
        raise TargetError(f"pass {who} adds {waiting[0].operator} where nobody reads it")
    return found


def _alike(node: Node) -> tuple[object, ...]:
    """What nodes that differ in the tensors that they read have in common; None where none may."""
    if any(isinstance(argument, tuple) for argument in node.arguments):
        return (node.output,)
    rest = tuple(None if isinstance(a, str) else a for a in node.arguments)
    read = tuple(isinstance(a, str) for a in node.arguments)
    own = {"padding"} if node.operator in WINDOWED else set()
    how = {name: value for name, value in node.attributes.items() if name not in own}
    return node.operator, repr(sorted(how.items())), rest, read


def _added(node: Node, read: list[Expr], who: str) -> Expr:
    how: Mapping[str, Any] = node.attributes
    if node.operator == "nn.pad":
        width = [int(n) for n in how["pad_width"]]
        return relax.op.nn.pad(read[0], width, "constant", float(how.get("pad_value", 0)))
    if node.operator == "permute_dims":
        return relax.op.permute_dims(read[0], [int(a) for a in how["axes"]])
    if node.operator == JOINED:
        return relax.op.concat(read, int(how["axis"]))
    if node.operator == SLICED:
        axes, begin, end = ([int(n) for n in cast(Any, each)] for each in node.arguments[1:4])
        return relax.op.strided_slice(read[0], axes, begin, end)
    raise TargetError(
        f"pass {who} adds {node.operator}",
        hint=f"passes may add {', '.join(ADDED)}, and copies of what is there",
    )


def _compare(before: Graph, after: Graph, who: str) -> None:
    """Both on random inputs: equal results, and equal arguments of what is not evaluated."""
    made = {node.output for node in before.nodes}
    free = [v for v in before.values.values() if v.constant is None and v.name not in made]
    inputs = {v.name: random_tensor(v.name, v.dtype, v.shape) for v in free}
    one, other = evaluate(before, inputs), evaluate(after, inputs)
    pairs = list(zip(one.results, other.results, strict=True))
    if one.read.keys() != other.read.keys():
        raise TargetError(f"pass {who} adds or removes operators that cannot be compared")
    for key, read in one.read.items():
        pairs += zip(read, other.read[key], strict=True)
    for was, now in pairs:
        if was.shape != now.shape or not _equal(was, now):
            raise TargetError(
                f"pass {who} changes what the network computes, on random inputs",
                hint="a pass keeps every result as it was, bit for bit",
            )


def _equal(was: np.ndarray, now: np.ndarray) -> bool:
    if was.dtype.kind == "f":
        return bool(np.allclose(was, now, rtol=1e-9, atol=1e-12))
    return bool(np.array_equal(was, now))
