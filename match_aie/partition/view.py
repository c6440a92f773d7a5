"""Looking at a match: its nodes, the integers behind its values, its window and its clip."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from match_aie.hardware.graph import Graph, Node, Value
from match_aie.partition.match import Match
from match_aie.workload import Quantized, Tail, Window, full_range, output_extent

INTEGERS = ("int8", "uint8", "int16", "uint16")


class Refusal(Exception):
    """Why a match has no exact integer meaning."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Quantisation parameters of one tensor: scales (float32) and zero points, by `axis`."""

    scale: np.ndarray
    zero: np.ndarray
    axis: int

    def per_tensor(self, what: str) -> tuple[np.float32, int]:
        """The one scale and zero point; a refusal where there are several."""
        if self.scale.size != 1 or self.zero.size != 1:
            raise Refusal(f"{what} is quantised per channel")
        return np.float32(self.scale.reshape(-1)[0]), int(self.zero.reshape(-1)[0])


@dataclass(frozen=True, eq=False)
class View:
    """A match with the lookups that extraction needs, which keep account of what they gave.

    Attributes:
        graph: where it was found.
        match: what was found.
        accounted: indices of nodes that are part of what the layer computes, as far as it was read.
    """

    graph: Graph
    match: Match
    accounted: set[int] = field(default_factory=set)

    def take(self, node: Node) -> Node:
        """`node`, which the layer computes."""
        self.accounted.add(node.index)
        return node

    def reader(self, name: str, *operators: str) -> Node | None:
        """The one matched node that reads `name`, where it is one of `operators`; else None."""
        members = set(self.match.nodes)
        readers = sorted({index for index in self.graph.users[name] if index in members})
        if len(readers) != 1 or self.graph.nodes[readers[0]].operator not in operators:
            return None
        return self.graph.nodes[readers[0]]

    @property
    def root(self) -> Node:
        """The node that gives the result."""
        return self.graph.nodes[self.match.root]

    def node(self, *operators: str) -> Node:
        """The first matched node, output first, that is one of `operators`; taken."""
        for index in self.match.nodes:
            if self.graph.nodes[index].operator in operators:
                return self.take(self.graph.nodes[index])
        raise Refusal(f"no {' or '.join(operators)} in the match")

    def named(self, name: str) -> str:
        """The value that the pattern calls `name`; a refusal where it calls none so."""
        if name not in self.match.bound:
            known = ", ".join(self.match.bound) or "none"
            raise Refusal(f"the pattern has no operand called {name} (it has {known})")
        return self.match.bound[name]

    def producer(self, name: str) -> Node:
        """The matched node that gives `name`, taken; a refusal where the match has none."""
        node = self.graph.producers.get(name)
        if node is None or node.index not in self.match.nodes:
            raise Refusal(f"{name} comes from outside of what the pattern matched")
        return self.take(node)

    def value(self, name: str) -> Value:
        """The value called `name`."""
        return self.graph.values[name]

    def known(self, value: Value) -> bool:
        """Whether `value` is a constant, or a quantised constant made real."""
        node = self.graph.producers.get(value.name)
        if node is None or node.operator != "dequantize":
            return value.constant is not None
        return self.value(str(node.arguments[0])).constant is not None

    def parameters(self, node: Node) -> Parameters:
        """Parameters of a quantize or dequantize node."""
        scale, zero = (self.value(str(a)).constant for a in node.arguments[1:3])
        if scale is None or zero is None:
            raise Refusal("a quantisation parameter is known only at run time")
        if scale.dtype != np.float32:
            raise Refusal(f"quantisation scale of type {scale.dtype}")
        axis = node.attributes.get("axis", 0)
        return Parameters(scale, zero, axis if isinstance(axis, int) else 0)

    def dequantized(self, name: str) -> tuple[Value, Parameters]:
        """The integer tensor behind the dequantized value `name`, and its parameters."""
        node = self.graph.producers.get(name)
        if node is None or node.operator != "dequantize":
            raise Refusal(f"{node.operator if node else name} stands where a dequantize should")
        return self.value(str(self.take(node).arguments[0])), self.parameters(node)

    def activation(self, name: str) -> tuple[Value, Quantized]:
        """The integer activation behind dequantized `name`."""
        value, parameters = self.dequantized(name)
        if value.dtype not in INTEGERS:
            raise Refusal(f"activation of type {value.dtype}")
        scale, zero = parameters.per_tensor("the activation")
        return value, Quantized(value.dtype, float(scale), zero)

    def result(self) -> tuple[Quantized, Tail]:
        """Output quantisation, and the tail with the clip folded in."""
        quantize = self.node("quantize")
        scale, zero = self.parameters(quantize).per_tensor("the output")
        dtype = self.value(quantize.output).dtype
        if dtype not in INTEGERS:
            raise Refusal(f"output of type {dtype}")
        return Quantized(dtype, float(scale), zero), self.clipped(full_range(dtype, zero))

    def clipped(self, tail: Tail) -> Tail:
        """`tail` narrowed by the integer clip at the root, if there is one."""
        if self.root.operator != "clip":
            return tail
        self.take(self.root)
        low, high = (int(a) for a in self.root.arguments[1:3] if isinstance(a, float))
        low, high = max(low, tail.lo), min(high, tail.hi)
        if low > high:
            raise Refusal("the clip leaves no value")
        return Tail(tail.zero_point, low, high, tail.rounding)


def integers(node: Node, name: str) -> tuple[int, ...]:
    """The attribute `name` of `node` as integers; a refusal where it is something else."""
    raw = node.attributes[name]
    if not isinstance(raw, tuple) or not all(isinstance(v, int) for v in raw):
        raise Refusal(f"{node.operator} with {name} {raw!r}")
    return tuple(v for v in raw if isinstance(v, int))


def sliding(node: Node) -> Window:
    """Stride, dilation, padding (top, left, bottom, right) of a convolution or pool."""
    padding = integers(node, "padding")
    if len(padding) != 4:
        raise Refusal(f"padding {padding}")
    sy, sx = integers(node, "strides")
    dy, dx = integers(node, "dilation")
    top, left, bottom, right = padding
    include = bool(node.attributes.get("count_include_pad", False))
    return Window((sy, sx), (dy, dx), (top, left, bottom, right), include)


def rank4(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """`shape` with leading ones; a refusal above rank 4."""
    if len(shape) > 4:
        raise Refusal(f"a tensor of rank {len(shape)}")
    n, h, w, c = (1,) * (4 - len(shape)) + shape
    return n, h, w, c


def pool_window(node: Node, shape: tuple[int, ...], out: tuple[int, ...]) -> Window:
    """The pool's window, with padding extended where `ceil_mode` asks for more output."""
    slide = sliding(node)
    filter_ = integers(node, "pool_size")
    padding = list(slide.padding)
    for axis in (0, 1):
        size, stride, dilation = shape[1 + axis], slide.stride[axis], slide.dilation[axis]
        before, after = padding[axis], padding[axis + 2]
        extent = output_extent(size, filter_[axis], stride, dilation, before, after)
        missing = out[1 + axis] - extent
        if missing and slide.count_include_pad:
            raise Refusal("ceil_mode with counted padding")
        if missing:
            needed = (out[1 + axis] - 1) * stride + dilation * (filter_[axis] - 1) + 1
            padding[axis + 2] = needed - size - before
    top, left, bottom, right = padding
    return Window(slide.stride, slide.dilation, (top, left, bottom, right), slide.count_include_pad)


def stretched(node: Node, window: Window, shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns that a transposed convolution gives; a refusal of what has no words."""
    _, rows, columns, _ = rank4(shape)
    if node.attributes["groups"] != 1 or window.dilation != (1, 1):
        raise Refusal("the transposed convolution has groups or a dilation")
    if rows % window.stride[0] or columns % window.stride[1]:
        raise Refusal(f"its output {rows}x{columns} is no whole number of strides {window.stride}")
    return rows, columns


def elements(value: Value) -> int:
    """Elements of a tensor; a refusal where there are none."""
    size = prod(value.shape)
    if size < 1:
        raise Refusal("an empty tensor")
    return size
