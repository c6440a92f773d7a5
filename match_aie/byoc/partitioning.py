"""A Relax module in, the same module with our layers as functions for `RunCodegen` out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from match_aie import tvm_api
from match_aie.byoc.composite import composite, composite_name, target_text
from match_aie.byoc.glue import between
from match_aie.byoc.naming import numbered
from match_aie.byoc.points import as_main, entry_points, merged, renamed
from match_aie.byoc.relaxed import relaxed
from match_aie.fallback.rewrite import channel_first
from match_aie.frontend.rebuild import Emitter, Expr, rebuild
from match_aie.hardware import MatchTarget
from match_aie.hardware.graph import Graph
from match_aie.options import CompileOptions
from match_aie.partition import Option, to_graph
from match_aie.pipeline import decide, resolve
from match_aie.priced import Decision, Resources


def partition(
    module: Any,
    target: str | MatchTarget = "CPU",
    *,
    params: Mapping[str, Any] | None = None,
    cache: bool | str = True,
) -> Any:
    """`module` with the layers that `target` runs as functions of code generator "match_aie".

    Layers are chosen by the cheapest exact cover, each a function with attribute
    `Composite="match_aie.MODULE.PATTERN"`; neighbours share a function with
    `Codegen="match_aie"`. Images between layers are NHWC. What no module of the target claims
    stays Relax, in TVM's hands; a module without any layer for the target comes back as it is.

    Args:
        module: a `tvm.IRModule` with a Relax `main`, or Relay text. Where there is no `main`, all
            Relax functions that the module exports are partitioned.
        target: what to compile for: a `MatchTarget`, or the name of an installed one.
        params: values of parameters, by name, or what `relax.frontend.detach_params` gave; they
            become constants.
        cache: of mapping searches, as `match_aie.compile` takes it.

    Raises:
        ModelError: `main` is no straight-line Relax function with static shapes, or a parameter is
            not there or of another type.
        TargetError: no such target.
    """
    chip = resolve(target)
    module = relaxed(module, params)
    for name in entry_points(module):
        alone = as_main(module, name)
        made = _main_partitioned(alone, chip, cache)
        module = module if made.same_as(alone) else renamed(made, module, name)
    return module


def _main_partitioned(module: Any, target: MatchTarget, cache: bool | str) -> Any:
    """`module` with the layers of `main` as functions; the same object where there are none."""
    decision = decide(module, target, CompileOptions(None, {}), Resources(cache=cache))
    chosen = [option for option in decision.assignment.chosen if option.candidate.layer]
    if not chosen:
        return module
    marked = _with_composites(module, decision, chosen, target)
    return numbered(merged(marked))


@tvm.transform.module_pass(opt_level=0, name="match_aie.Partition")
class Partition:
    """`partition` as a pass, for `tvm.transform.Sequential`; arguments as there."""

    def __init__(
        self,
        target: str | MatchTarget = "CPU",
        *,
        params: Mapping[str, Any] | None = None,
        cache: bool | str = True,
    ) -> None:
        """Look up the target.

        Raises:
            TargetError: no such target.
        """
        self._target = resolve(target)
        self._params = params
        self._cache = cache

    def transform_module(self, module: Any, context: Any) -> Any:
        """The partitioned module."""
        del context
        return partition(module, self._target, params=self._params, cache=self._cache)


def _with_composites(
    original: Any, decision: Decision, chosen: list[Option], target: MatchTarget
) -> Any:
    """The normalised module with every chosen layer a call of its own function."""
    model = decision.model
    main = model.module["main"]
    layers = _layers(to_graph(model), chosen)
    variables = {tvm_api.variable_name(var): var for var in main.params}
    values: dict[str, Any] = {}
    for var, value in tvm_api.bindings(main):
        variables[tvm_api.variable_name(var)] = var
        values[tvm_api.variable_name(var)] = value
    text = target_text(target)

    def call_layer(emitter: Emitter, var: Any, value: Expr) -> Expr:
        layer = layers.get(tvm_api.variable_name(var))
        if layer is None:
            transposed = tvm_api.operator_name(value) == "nn.conv2d_transpose"
            first = channel_first(value) if transposed else None
            return value if first is None else first
        name, members = layer
        function, inputs = composite(members, variables, values, name, text)
        made = emitter.builder.add_func(function, name.replace(".", "_"))
        return relax.Call(made, [emitter.env[read] for read in inputs])

    parameters = _user_parameters(original, main)
    module, _ = rebuild(model.module, model.labels, call_layer, parameters)
    return tvm_api.with_main_attributes(module, original["main"].attrs)


def _layers(graph: Graph, chosen: list[Option]) -> dict[str, tuple[str, list[str]]]:
    """Composite's name and members, in execution order, by the value that they give."""
    found: dict[str, tuple[str, list[str]]] = {}
    taken: set[int] = set()
    for option in chosen:
        indices = sorted(set(option.candidate.match.nodes))
        taken |= set(indices)
        name = composite_name(option.candidate.module.name, option.candidate.pattern.name)
        root = graph.nodes[option.candidate.match.root].output
        found[root] = (name, [graph.nodes[index].output for index in indices])
    for index in between(graph, taken, set(found)):
        node = graph.nodes[index]
        found[node.output] = (composite_name("core", node.operator), [node.output])
    return found


def _user_parameters(original: Any, main: Any) -> dict[str, Any]:
    """The parameters under the names that the user gave them."""
    return {
        tvm_api.variable_name(ours): relax.Var(tvm_api.variable_name(given), ours.ty)
        for ours, given in zip(main.params, original["main"].params, strict=True)
    }
