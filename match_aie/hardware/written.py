"""Which tensors of a quantised network lie in memory, what makes each, and when they lie there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from match_aie.hardware.core import VIEWS, is_block
from match_aie.hardware.graph import Graph, Node, Value
from match_aie.hardware.passes import JOINED, SLICED, WINDOWED

#: Bytes beside the weights of an output channel: bias, multiplier or scale, of 32 bits each.
BESIDE = 8

#: Channels of a part of a layer are a multiple of this many, where it has as many: units of chips
#: compute so many side by side.
BLOCK = 32

#: Elements of what layers hand on; wider integers are sums on their way.
STORED = frozenset({"int8", "uint8", "int16", "uint16"})


def value_bytes(value: Value) -> int:
    """Of a tensor."""
    return prod(value.shape) * np.dtype(value.dtype).itemsize


def port_bytes(graph: Graph) -> int:
    """Of the network's inputs and results together."""
    free = {
        name
        for name, value in graph.values.items()
        if value.constant is None and name not in graph.producers
    }
    return sum(value_bytes(graph.values[name]) for name in (*free, *graph.outputs))


def is_view(graph: Graph, node: Node) -> bool:
    """Whether a node usually is no code: a slice of rows that quantised layers read where it is."""
    if node.operator != SLICED or len(node.arguments) != 4:
        return False
    whole, part = (graph.values[name] for name in (str(node.arguments[0]), node.output))
    users = graph.users[node.output]
    readers = {graph.nodes[user].operator if user >= 0 else "" for user in users}
    layers = readers <= {"dequantize", *WINDOWED}
    return layers and part.dtype in STORED and is_block(whole.shape, part.shape)


@dataclass(frozen=True, eq=False)
class Written:
    """A tensor that lies in memory, and what makes it of others that do.

    Attributes:
        tensor: its name.
        nodes: that make it, in execution order; the last one gives it.
        reads: tensors that these read and do not make: others in memory, and inputs.
        constant_bytes: of weights, and of what lies beside them.
        least_bytes: of a block of channels, where a layer may be made of such parts
            (`split_channels`).
    """

    tensor: str
    nodes: tuple[Node, ...]
    reads: tuple[str, ...]
    constant_bytes: int
    least_bytes: int


@dataclass(frozen=True, eq=False)
class Occupied:
    """What lies in memory while a network runs, tensor after tensor.

    It is no more than what a plan takes: tensors of 8 and 16 bits alone, operands of a
    concatenation at their places in it, constants of a layer while that runs.

    Attributes:
        graph: the network, quantised.
    """

    graph: Graph

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """All tensors that lie in memory, in the order in which they are made."""
        return tuple(self._made(node) for node in self.graph.nodes if self._lies(node))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each in `written`."""
        return {each.tensor: index for index, each in enumerate(self.written)}

    @cached_property
    def last(self) -> Mapping[str, int]:
        """Until which place each is read; results to the end."""
        found = {each.tensor: index for index, each in enumerate(self.written)}
        for index, each in enumerate(self.written):
            found |= {name: index for name in each.reads if name in found}
        rest = (name for output in self.graph.outputs for name in self._behind(output)[1])
        found |= {name: len(self.written) for name in rest if name in found}
        return found

    @cached_property
    def port_bytes(self) -> int:
        """Of inputs and results."""
        return port_bytes(self.graph)

    def nbytes(self, tensor: str) -> int:
        """Of one of `written`, beside `port_bytes`."""
        return 0 if tensor in self.graph.outputs else value_bytes(self.graph.values[tensor])

    def before(self, place: int) -> Iterator[str]:
        """Tensors made before a place that are read there or later."""
        for tensor, made in self.places.items():
            if made < place <= self.last[tensor]:
                yield tensor

    def taken(self, place: int) -> int:
        """Bytes at one place, with inputs and results."""
        made = self.written[place]
        joins = made.nodes[-1].operator == JOINED
        kept = {
            tensor
            for tensor in self.before(place)
            if not (joins and tensor in made.reads and self.last[tensor] == place)
        }
        lying = sum(self.nbytes(tensor) for tensor in (*kept, made.tensor))
        return self.port_bytes + lying + made.least_bytes

    def _lies(self, node: Node) -> bool:
        value, users = self.graph.values[node.output], self.graph.users[node.output]
        if value.dtype not in STORED or node.operator in VIEWS or is_view(self.graph, node):
            return False
        clipped = len(users) == 1 and users[0] >= 0
        return not (clipped and self.graph.nodes[users[0]].operator == "clip")

    def _made(self, node: Node) -> Written:
        nodes, reads = self._behind(node.output)
        weights = [self._weight_bytes(each) for each in nodes]
        whole, least = (sum(each) for each in zip((0, 0), *weights, strict=True))
        return Written(node.output, nodes, reads, whole, least)

    def _weight_bytes(self, node: Node) -> tuple[int, int]:
        """Of a convolution or a product, all and of a block of channels; 0 of all others."""
        if node.operator not in ("nn.conv2d", "matmul"):
            return 0, 0
        made = self.graph.producers.get(str(node.arguments[1]))
        stored = made is not None and made.operator == "dequantize"
        weight = self.graph.values[str(made.arguments[0] if made and stored else node.arguments[1])]
        if weight.constant is None:
            return 0, 0
        channels = weight.shape[-1]
        least = min(channels, BLOCK) if node.attributes.get("groups", 1) == 1 else channels
        each = value_bytes(weight) // channels + BESIDE
        return each * channels, each * least

    def _behind(self, tensor: str) -> tuple[tuple[Node, ...], tuple[str, ...]]:
        """Nodes that make a tensor, and what these read that lies in memory or is an input."""
        nodes: dict[int, Node] = {}
        reads: dict[str, None] = {}
        waiting = [tensor]
        while waiting:
            name = waiting.pop()
            made = self.graph.producers.get(name)
            if made is None or (name != tensor and self._lies(made)):
                if self.graph.values[name].constant is None:
                    reads[name] = None
            elif made.index not in nodes:
                nodes[made.index] = made
                waiting += made.inputs()
        return tuple(nodes[index] for index in sorted(nodes)), tuple(reads)
