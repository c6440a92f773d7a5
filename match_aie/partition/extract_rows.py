"""From a match of float32 operators on rows, or on single elements, to the layer that it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod

from match_aie.partition.activations import activation_of
from match_aie.partition.extract_norm import OPERATORS
from match_aie.partition.layer import Extracted
from match_aie.partition.real_values import activation, constant, last_axis, tail
from match_aie.partition.view import Refusal, View, integers
from match_aie.workload import Kind, function, layer_norm, real_pair, real_softmax, rms_norm


def _softmax(view: View) -> Extracted:
    node = view.node("nn.softmax")
    x = activation(view, "x")
    axis = node.attributes["axis"]
    last_axis(view, node, (axis,) if isinstance(axis, int) else ())
    workload = real_softmax(rows=prod(x.shape[:-1]), columns=x.shape[-1])
    return Extracted(workload, {}, (x.name,), view.root.output)


def _norm(view: View, kind: Kind) -> Extracted:
    operator, names = OPERATORS[kind]
    node = view.node(operator)
    x = activation(view, "x")
    last_axis(view, node, integers(node, "axes"))
    columns = x.shape[-1]
    epsilon = node.attributes["epsilon"]
    constants = {name: constant(view, name) for name in names}
    if node.inputs()[1 : 1 + len(names)] != tuple(view.named(name) for name in names):
        raise Refusal("weight and bias are called by each other's names")
    if any(data.shape != (columns,) for data in constants.values()):
        raise Refusal("weight and bias are not one value per element of a row")
    if not isinstance(epsilon, float):
        raise Refusal(f"epsilon is {epsilon!r}")
    made = layer_norm if kind == "layer_norm" else rms_norm
    workload = made(rows=prod(x.shape[:-1]), columns=columns, epsilon=epsilon)
    return Extracted(workload, constants, (x.name,), view.root.output)


def _function(view: View) -> Extracted:
    x = activation(view, "x")
    nodes = [view.graph.nodes[at] for at in dict.fromkeys(view.match.nodes)]
    kind = activation_of(view, nodes, x.name)
    if kind is None:
        raise Refusal("its operators are no function that has a name")
    for node in nodes:
        view.take(node)
    return Extracted(function(kind, elements=prod(x.shape)), {}, (x.name,), view.root.output)


def _pair(view: View, kind: Kind) -> Extracted:
    node = view.take(view.node(_OPERATORS[kind]))
    both = [activation(view, name) for name in ("x", "x1")]
    if node.inputs() != tuple(value.name for value in both):
        raise Refusal("its operands are not the tensors that it is told")
    shapes = {value.shape for value in both} | {view.value(node.output).shape}
    if len(shapes) > 1:
        raise Refusal(f"it combines tensors of shapes {[list(value.shape) for value in both]}")
    behind = tail(view, node.output)
    workload = real_pair(kind, elements=prod(both[0].shape), tail=behind)
    return Extracted(workload, {}, tuple(value.name for value in both), view.root.output)


#: Which operator a pair is.
_OPERATORS: Mapping[Kind, str] = {"add": "add", "mul": "multiply"}

#: How matches of these kinds are read.
ROWS: Mapping[Kind, Callable[[View], Extracted]] = {
    "softmax": _softmax,
    "layer_norm": partial(_norm, kind="layer_norm"),
    "rms_norm": partial(_norm, kind="rms_norm"),
    "function": _function,
    "add": partial(_pair, kind="add"),
    "mul": partial(_pair, kind="mul"),
}
