"""What the names that a pattern binds stand for, in layers of float32."""

from __future__ import annotations

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.activations import activation_of
from match_aie.partition.view import Refusal, View
from match_aie.workload import RealTail


def bound(view: View, name: str) -> Value:
    """The value that the pattern calls `name`; float32."""
    value = view.value(view.named(name))
    if value.dtype != "float32":
        raise Refusal(f"{name} is {value.dtype}")
    return value


def activation(view: View, name: str) -> Value:
    """As `bound`, for what must arrive at run time."""
    value = bound(view, name)
    if view.known(value):
        raise Refusal(f"{name} is known at compile time")
    return value


def constant(view: View, name: str) -> np.ndarray:
    """Contents of the constant that the pattern calls `name`."""
    value = bound(view, name)
    if value.constant is None:
        raise Refusal(f"{name} is known only at run time")
    return value.constant


def scalar(view: View, name: str) -> float:
    """The one element of a constant."""
    data = constant(view, name)
    if data.size != 1:
        raise Refusal(f"{name} has {data.size} elements where one is meant")
    return float(data.reshape(-1)[0])


def last_axis(view: View, node: Node, axes: tuple[int, ...]) -> None:
    """Refuse an operator along other axes than the last one."""
    rank = len(view.value(node.output).shape)
    if tuple(a % rank for a in axes) != (rank - 1,):
        raise Refusal(f"{node.operator} is not over the last axis")


def tail(view: View, value: str, factor: float = 1.0) -> RealTail:
    """The activation that the match puts behind `value`; taken, where it is one."""
    left = [view.graph.nodes[i] for i in view.match.nodes if i not in view.accounted]
    if not left:
        return RealTail(factor=factor)
    kind = activation_of(view, left, value)
    if kind is None:
        return RealTail(factor=factor)  # what is left over is told by `account.lost`
    for node in left:
        view.take(node)
    if kind != "clip":
        return RealTail(kind, factor)
    low, high = (float(a) for a in view.node("clip").arguments[1:3] if isinstance(a, float))
    return RealTail(kind, factor, float(np.float32(low)), float(np.float32(high)))
