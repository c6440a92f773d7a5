"""Layers whose weights one memory does not hold at once, in parts of their output channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware.graph import Argument, Graph, Node, Value
from match_aie.hardware.passes import JOINED, Edit, chain_of
from match_aie.hardware.written import BESIDE, BLOCK, port_bytes, value_bytes


@dataclass(frozen=True)
class SplitChannels:
    """Convolutions and dense layers in parts, where one by itself does not fit a memory.

    Each part makes some of the output channels, and a concatenation makes the result of them. There
    are as few parts as leave room for the weights of two, so that those of the next one can be
    fetched meanwhile. Layers that fit with their input, output and the network's stay as they are.

    Attributes:
        room: bytes that the memory has.
        inputs: weights lie in blocks of so many input channels, filled with zeros.
    """

    room: int
    inputs: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no memory, or no block."""
        if min(self.room, self.inputs) < 1:
            raise TargetError(f"{self.name}: give positive numbers")

    @property
    def name(self) -> str:
        """As it is written."""
        return f"split_channels({self.room}, {self.inputs})"

    def __call__(self, graph: Graph) -> Graph:
        """`graph` with such layers in parts."""
        edit, left = Edit(graph), self.room - port_bytes(graph)
        nodes: list[Node] = []
        values = dict(graph.values)
        for node in graph.nodes:
            layer = _Layer.ending(edit, node)
            counts = layer.counts(left, self.inputs) if layer is not None else ()
            if layer is None or len(counts) < 2:
                nodes.append(node)
                continue
            parts = []
            for first, count in zip(np.cumsum((0, *counts)), counts, strict=False):
                made = layer.part(int(first), count)
                values |= {value.name: value for value in made.values}
                nodes += made.nodes
                parts.append(made.nodes[-1].output)
            axis = len(graph.values[node.output].shape) - 1
            how = {"axis": axis}
            nodes.append(replace(node, operator=JOINED, arguments=(tuple(parts),), attributes=how))
        if len(nodes) == len(graph.nodes):
            return graph
        numbered = tuple(replace(node, index=index) for index, node in enumerate(nodes))
        return Graph(numbered, values, graph.outputs)


def split_channels(room: int, inputs: int = 1) -> SplitChannels:
    """Layers in parts that do not fit `room` bytes by themselves; see `SplitChannels`."""
    return SplitChannels(room, inputs)


@dataclass(frozen=True, eq=False)
class _Part:
    """Nodes that make some channels, in order, and the values that are new in them."""

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class _Layer:
    """A layer from its dequantised operands to its stored result; `nodes` in execution order."""

    graph: Graph
    nodes: tuple[Node, ...]
    data: Node
    weight: Node

    @staticmethod
    def ending(edit: Edit, node: Node) -> _Layer | None:
        """The layer whose stored result `node` gives; None where that is none, or goes on."""
        if node.operator not in ("quantize", "clip"):
            return None
        users = edit.old.users[node.output]
        if len(users) == 1 and users[0] >= 0 and edit.old.nodes[users[0]].operator == "clip":
            return None
        chain = list(chain_of(edit, node.output, shared=True))
        if not chain:
            return None
        product = next(n for n in chain if n.operator in ("nn.conv2d", "matmul"))
        data, weight = (edit.old.producers[str(name)] for name in product.arguments[:2])
        nodes = sorted((*chain, data), key=lambda one: one.index)
        return _Layer(edit.old, tuple(nodes), data, weight)

    def counts(self, room: int, block: int) -> tuple[int, ...]:
        """Channels of each part; all of them where the layer fits, or where no part does."""
        weights = self.graph.values[self.weight.output].shape
        (*taps, inputs, channels) = weights
        each = prod(taps) * -(-inputs // block) * block + BESIDE
        images = sum(
            value_bytes(self.graph.values[str(name)])
            for name in (self.data.arguments[0], self.nodes[-1].output)
        )
        left = room - images
        if channels * each <= left:
            return (channels,)
        # The parts lie beside their concatenation in the end; by then there are no weights.
        most = left // 2 // each or left // each
        most = min(most, channels)
        if most < 1:
            return (channels,)
        many = -(-channels // (most - most % BLOCK or most))
        even = -(-channels // many)
        even = even if even < BLOCK else min(most - most % BLOCK, -(-even // BLOCK) * BLOCK)
        return tuple(_shares(channels, even))

    def part(self, first: int, count: int) -> _Part:
        """Channels `first` to `first + count`."""
        span, named = slice(first, first + count), f"_channels{first}_{count}"
        values: list[Value] = []
        renamed: dict[str, str] = {}
        nodes: list[Node] = []
        whole = self.graph.values[self.weight.output].shape[-1]
        for node in self.nodes:
            given: list[Argument] = []
            for argument in node.arguments:
                value = self.graph.values[argument] if isinstance(argument, str) else None
                constant = value.constant if value is not None else None
                if node is self.data or value is None or constant is None:
                    given.append(renamed.get(str(argument), argument))
                elif not constant.ndim or constant.shape[-1] != whole or constant.size < 2:
                    given.append(argument)
                else:
                    cut = np.ascontiguousarray(constant[..., span])
                    name = f"{value.name}{named}"
                    values.append(Value(name, value.dtype, cut.shape, cut))
                    given.append(name)
            made = self.graph.values[node.output]
            name = f"{node.output}{named}_of_{self.nodes[-1].output}"
            shape = made.shape if node is self.data else (*made.shape[:-1], count)
            values.append(Value(name, made.dtype, shape))
            renamed[node.output] = name
            label = f"{node.label} channels {first} to {first + count - 1}" if node.label else ""
            nodes.append(replace(node, arguments=tuple(given), output=name, label=label))
        return _Part(tuple(nodes), tuple(values))


def _shares(channels: int, each: int) -> Iterator[int]:
    for first in range(0, channels, each):
        yield min(each, channels - first)
