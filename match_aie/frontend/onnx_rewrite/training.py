"""Operators of training: batch statistics, and the steps of ONNX's optimisers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder, Node
from match_aie.frontend.onnx_rewrite.reduced import reduced


def batch_norm(node: Node, b: Builder) -> tuple[str, ...] | None:
    """BatchNormalization in training mode: mean and variance of the batch, and moving ones."""
    if not node.attr("training_mode", 0):
        return None
    x, scale, bias, mean, variance = node.inputs
    rank = len(b.graph.shape(x))
    axes = [axis for axis in range(rank) if axis != 1]

    def column(value: str) -> str:
        return b.op("Reshape", value, b.const([1, -1, *[1] * (rank - 2)], np.int64))

    now = reduced(b, "ReduceMean", x, axes)
    centred = b.op("Sub", x, now)
    spread = reduced(b, "ReduceMean", b.op("Mul", centred, centred), axes)
    epsilon = b.like(float(node.attr("epsilon", 1e-5)), x)
    deviation = b.op("Sqrt", b.op("Add", spread, epsilon))
    normal = b.op("Div", centred, deviation)
    y = b.op("Add", b.op("Mul", normal, column(scale)), column(bias))
    keep = float(node.attr("momentum", 0.9))
    moving = []
    for old, new in ((mean, now), (variance, spread)):
        flat = b.op("Reshape", new, b.const([-1], np.int64))
        kept = b.op("Mul", old, b.like(keep, old))
        moving.append(b.op("Add", kept, b.op("Mul", flat, b.like(1 - keep, x))))
    return (y, *moving)


#: A step of one tensor: (builder, node, rate, count, its value, gradient and states) to new ones.
Step = Callable[[Builder, Node, str, str, list[str]], list[str]]


def stepped(step: Step, states: int) -> Callable[[Node, Builder], tuple[str, ...]]:
    """The rewrite that takes a `step` of every tensor: inputs R, T, X..., G..., states..."""

    def rewrite(node: Node, b: Builder) -> tuple[str, ...]:
        rate, count, *rest = node.inputs
        tensors = len(rest) // (2 + states)
        results = [step(b, node, rate, count, rest[at::tensors]) for at in range(tensors)]
        return tuple(name for kind in zip(*results, strict=True) for name in kind)

    return rewrite


def adagrad(b: Builder, node: Node, rate: str, count: str, tensors: list[str]) -> list[str]:
    """One tensor's step of Adagrad: rates fall with the squares of all gradients so far.

    Args:
        b: takes the nodes.
        node: with the attributes.
        rate: name of the learning rate.
        count: name of the number of steps so far.
        tensors: names: the tensor, its gradient, what is kept of the steps before.
    """
    x, gradient, squares = tensors
    steps = b.op("Cast", count, to=b.graph.dtype(x))
    slowed = b.op("Add", b.like(1.0, x), _times(b, node, "decay_factor", 0.0, steps))
    gradient = _regularised(b, node, x, gradient)
    squares = b.op("Add", squares, b.op("Mul", gradient, gradient))
    root = b.op("Add", b.op("Sqrt", squares), b.like(float(node.attr("epsilon", 1e-6)), x))
    change = b.op("Div", b.op("Mul", b.op("Div", rate, slowed), gradient), root)
    return [b.op("Sub", x, change), squares]


def momentum(b: Builder, node: Node, rate: str, count: str, tensors: list[str]) -> list[str]:
    """One tensor's step with momentum, also Nesterov's.

    Args:
        b: takes the nodes.
        node: with the attributes.
        rate: name of the learning rate.
        count: name of the number of steps so far.
        tensors: names: the tensor, its gradient, what is kept of the steps before.
    """
    x, gradient, speed = tensors
    gradient = _regularised(b, node, x, gradient)
    fresh = b.op("Where", _begun(b, count), _times(b, node, "beta", 1.0, gradient), gradient)
    speed = b.op("Add", _times(b, node, "alpha", 0.0, speed), fresh)
    change = speed
    if node.attr("mode", "standard") == "nesterov":
        change = b.op("Add", gradient, _times(b, node, "alpha", 0.0, speed))
    return [b.op("Sub", x, b.op("Mul", rate, change)), speed]


def adam(b: Builder, node: Node, rate: str, count: str, tensors: list[str]) -> list[str]:
    """One tensor's step of Adam: rates corrected for averages that began at zero.

    Args:
        b: takes the nodes.
        node: with the attributes.
        rate: name of the learning rate.
        count: name of the number of steps so far.
        tensors: names: the tensor, its gradient, what is kept of the steps before.
    """
    x, gradient, mean, square = tensors
    decays = [float(node.attr(name, value)) for name, value in (("alpha", 0.9), ("beta", 0.999))]
    gradient = _regularised(b, node, x, gradient)
    averages = []
    for old, new, decay in (
        (mean, gradient, decays[0]),
        (square, b.op("Mul", gradient, gradient), decays[1]),
    ):
        kept = b.op("Mul", b.like(decay, x), old)
        averages.append(b.op("Add", kept, b.op("Mul", b.like(1 - decay, x), new)))
    root = b.op("Add", b.op("Sqrt", averages[1]), b.like(float(node.attr("epsilon", 1e-6)), x))
    # Before the first step nothing is corrected; a count of 1 keeps the quotient finite there.
    steps = b.op("Cast", count, to=b.graph.dtype(x))
    steps = b.op("Where", _begun(b, count), steps, b.like(1.0, x))
    one = b.like(1.0, x)
    left = [b.op("Sub", one, b.op("Pow", b.like(decay, x), steps)) for decay in decays]
    corrected = b.op("Div", b.op("Mul", rate, b.op("Sqrt", left[1])), left[0])
    rate = b.op("Where", _begun(b, count), corrected, rate)
    moved = b.op("Sub", x, b.op("Mul", rate, b.op("Div", averages[0], root)))
    shrunk = 1 - float(node.attr("norm_coefficient_post", 0.0))
    return [b.op("Mul", b.like(shrunk, x), moved), *averages]


def _times(b: Builder, node: Node, attribute: str, default: float, value: str) -> str:
    """`value` times a float attribute, in the type of the tensors."""
    factor = b.like(float(node.attr(attribute, default)), node.input(2))
    return b.op("Mul", factor, value)


def _regularised(b: Builder, node: Node, x: str, gradient: str) -> str:
    """The gradient with that of half the squared norm of `x`, as far as it is asked for."""
    if not node.attr("norm_coefficient", 0.0):
        return gradient
    return b.op("Add", _times(b, node, "norm_coefficient", 0.0, x), gradient)


def _begun(b: Builder, count: str) -> str:
    """Whether a step was made before."""
    return b.op("Greater", count, b.const(0, np.int64))
