"""A product whose quantised result is added to something: one layer, which stores the sum only.

The pattern calls what is added `residual`; where two sums follow each other, what the second one
adds is `residual1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.layer import Extracted
from match_aie.partition.match import Match
from match_aie.partition.view import Refusal, View
from match_aie.workload import Kind, with_sum

#: What is added, the first first.
NAMES = ("residual", "residual1")


def adds(view: View) -> bool:
    """Whether the match has a sum behind its product."""
    return NAMES[0] in view.match.bound


def added_layer(view: View, kind: Kind, alone: Callable[[View, Kind], Extracted]) -> Extracted:
    """The layer of the match, its last sum behind what `alone` says of everything before it.

    Raises:
        Refusal: the sum is none of a layer's result with a tensor of its shape, or a constant of
            an element per channel.
    """
    name = [each for each in NAMES if each in view.match.bound][-1]
    node, before = _summed(view, name)
    bound = {key: value for key, value in view.match.bound.items() if key != name}
    root = view.graph.producers[before]
    members = _behind(view, root)
    inner = View(view.graph, Match(root.index, members, bound), view.accounted)
    layer = alone(inner, kind)
    y, tail = view.result()
    result, step = view.activation(str(node.arguments[0]))
    other, quantised = view.activation(str(node.arguments[1]))
    if result.name != before:
        (result, step), (other, quantised) = (other, quantised), (result, step)
    workload = layer.workload
    last = workload.added[-1].tail if workload.added else workload.tail
    if last is None or workload.fixed_point or last.zero_point != step.zero_point:
        raise Refusal("what is added to is not the result as it is stored")
    shape, known = view.value(node.output).shape, other.constant is not None
    per_channel = other.shape != shape
    if result.shape != shape or (per_channel and not (known and _is_vector(other, shape[-1]))):
        raise Refusal(f"a sum of {result.shape} and {other.shape} is not element by element")
    taken = with_sum(
        workload, quantised, y, tail=tail, scale=step.scale, constant=known, per_channel=per_channel
    )
    constants: Mapping[str, np.ndarray] = layer.constants
    if known:
        operand = taken.operand(taken.added[-1].operand)
        assert other.constant is not None
        constants = {**constants, operand.name: other.constant.reshape(operand.shape)}
    inputs = layer.inputs if known else (*layer.inputs, other.name)
    return replace(
        layer, workload=taken, constants=constants, inputs=inputs, output=view.root.output
    )


def _is_vector(value: Value, channels: int) -> bool:
    """Whether a constant has an element for every one of `channels`, the last axis."""
    size = int(np.prod(value.shape))
    return size == channels and bool(value.shape) and value.shape[-1] == channels


def _summed(view: View, name: str) -> tuple[Node, str]:
    """The sum that adds `name`, and the name of the layer's result in it."""
    quantize = view.node("quantize")
    node = view.producer(str(quantize.arguments[0]))
    if node.operator != "add":
        raise Refusal("there is no sum behind the product")
    members = set(view.match.nodes)
    for argument in node.inputs():
        value, _ = view.dequantized(argument)
        made = view.graph.producers.get(value.name)
        if made is not None and made.index in members and value.name != view.match.bound[name]:
            return node, value.name
    raise Refusal("the product's result is not in the sum")


def _behind(view: View, root: Node) -> tuple[int, ...]:
    """Matched nodes that `root` hangs on, itself first, in the order of the match."""
    members, found, left = set(view.match.nodes), set(), [root]
    while left:
        node = left.pop()
        if node.index in members and node.index not in found:
            found.add(node.index)
            made = (view.graph.producers.get(name) for name in node.inputs())
            left += [each for each in made if each is not None]
    order = dict.fromkeys(view.match.nodes)
    return (root.index, *(index for index in order if index in found and index != root.index))
