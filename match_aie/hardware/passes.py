"""Rewriting the canonical graph before patterns are matched, as a target's `passes` do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware.graph import Argument, Graph, Node, Value

#: Operators that a pass may add, beside changing arguments of those that are there; a `JOINED` may
#: also give the result of one that is there in its place.
JOINED = "concat"

#: Takes a part of a tensor.
SLICED = "strided_slice"

#: Operators with a window that moves over an image, whose copies may have padding of their own.
WINDOWED = frozenset({"nn.conv2d", "nn.max_pool2d", "nn.avg_pool2d"})
ADDED = ("nn.pad", "permute_dims", JOINED, SLICED)


@runtime_checkable
class Pass(Protocol):
    """A named rewriting of a network: same inputs, same results, other operators in between.

    It gives the graph that it got where it changes nothing. Nodes keep their order, operators,
    attributes and names; arguments may be other values, and nodes of `ADDED` may stand between
    them, and copies of nodes that read other values; copies of convolutions and pools may have
    other padding. A concatenation may take the place of a node and give its result. A value that is
    changed gets a new name where it is a constant, and keeps it where a node gives it. What a pass
    gives is compared with what it got, on random inputs, bit for bit.
    """

    @property
    def name(self) -> str:
        """For reports and errors."""

    def __call__(self, graph: Graph) -> Graph:
        """The graph to go on with."""


@runtime_checkable
class PlacedPass(Protocol):
    """The same after it was decided who runs what, which is then decided once more.

    What holds of a `Pass` holds of it.
    """

    @property
    def name(self) -> str:
        """For reports and errors."""

    def __call__(self, graph: Graph, placed: Mapping[str, str]) -> Graph:
        """The graph to go on with.

        Args:
            graph: of the whole network.
            placed: names of the modules that run nodes, by the name of the node's result; what the
                core runs is not there.
        """


@dataclass(frozen=True)
class PadChannels:
    """Input channels of convolutions and dense layers, filled with zeros to a multiple.

    The layer before gives the further channels itself where it is one of them and nobody else
    reads it: they cost what its own blocks cost. Others are padded by an operator.

    Attributes:
        multiple: of channels.
    """

    multiple: int

    def __post_init__(self) -> None:
        """Refuse what is no multiple."""
        if self.multiple < 1:
            raise TargetError(f"pad_channels({self.multiple}): give a positive number")

    @property
    def name(self) -> str:
        """As it is written."""
        return f"pad_channels({self.multiple})"

    def __call__(self, graph: Graph) -> Graph:
        """`graph` with channels padded."""
        edit = Edit(graph)
        for node in graph.nodes:
            self._pad(edit, _Product.of(edit, node))
        return edit.graph()

    def _pad(self, edit: Edit, layer: _Product | None) -> None:
        if layer is None or edit.single(layer.data.output) is False:
            return
        extra = -edit.channels(layer.data.output) % self.multiple
        tensor = layer.data.arguments[0]
        zero = edit.scalar(layer.data.arguments[2])
        if not extra or not isinstance(tensor, str) or zero is None:
            return
        chain = list(chain_of(edit, tensor))
        if chain:
            edit.widen_result(chain, extra)
        else:
            tensor = edit.padded(layer.data, tensor, extra, zero)
        edit.argument(layer.data, 0, tensor)
        edit.reshape(layer.data.output, extra)
        edit.constant(layer.weight, 0, -2, extra, "constant")


def pad_channels(multiple: int) -> PadChannels:
    """Input channels padded with zeros to `multiple`, in the whole network; see `PadChannels`."""
    return PadChannels(multiple)


@dataclass(frozen=True)
class PadChannelsOf(PadChannels):
    """A `PlacedPass`: `PadChannels` for the layers of one module.

    Attributes:
        module: its name.
    """

    module: str

    @property
    def name(self) -> str:
        """As it is written."""
        return f"pad_channels({self.multiple}, {self.module!r})"

    def __call__(self, graph: Graph, placed: Mapping[str, str] | None = None) -> Graph:
        """`graph` with channels padded of what the module runs."""
        edit = Edit(graph)
        for node in graph.nodes:
            if (placed or {}).get(node.output) == self.module:
                self._pad(edit, _Product.of(edit, node))
        return edit.graph()


@dataclass(frozen=True)
class _Product:
    """A convolution of one group or a product, its dequantised data, its constant weights.

    Weights end with input and output channels: HWIO, or rows of inputs.
    """

    node: Node
    data: Node
    weight: Node

    @staticmethod
    def of(edit: Edit, node: Node) -> _Product | None:
        if node.operator not in ("nn.conv2d", "matmul"):
            return None
        layouts = [node.attributes.get(name) for name in ("data_layout", "kernel_layout")]
        if node.operator == "nn.conv2d" and (
            layouts != ["NHWC", "HWIO"] or node.attributes.get("groups") != 1
        ):
            return None
        data, weight = (edit.producer(name, "dequantize") for name in node.arguments[:2])
        if data is None or weight is None or not edit.single(weight.output):
            return None
        value = edit.known(weight.arguments[0])
        rank = {"nn.conv2d": 4, "matmul": 2}[node.operator]
        if value is None or value.ndim != rank or np.any(edit.known(weight.arguments[2])):
            return None
        scale = edit.known(weight.arguments[1])
        if scale is None or (scale.size > 1 and weight.attributes.get("axis") != rank - 1):
            return None
        return _Product(node, data, weight)


def chain_of(edit: Edit, tensor: str, *, shared: bool = False) -> Iterator[Node]:
    """From a layer to its stored result `tensor`, where nobody else reads anything in between.

    Nor the result, if that may not be `shared`.
    """
    nodes: list[Node] = []
    name: Argument = tensor
    for operator in ("clip", "quantize", "add"):
        node = edit.producer(name, operator)
        if node is None and operator == "quantize":
            return
        if node is not None:
            nodes.append(node)
            name = node.arguments[0]
    layer = edit.producer(name, "nn.conv2d") or edit.producer(name, "matmul")
    made = _Product.of(edit, layer) if layer is not None else None
    inner = nodes[1:] if shared else nodes
    if layer is None or made is None or not all(edit.single(n.output) for n in inner):
        return
    if not edit.single(layer.output) or edit.known_vector(nodes, 1):
        return
    adds = [node for node in nodes if node.operator == "add"]
    biases = [edit.producer(node.arguments[1], "dequantize") for node in adds]
    for bias in biases:
        if bias is None or edit.known(bias.arguments[0]) is None or not edit.single(bias.output):
            return
        if np.any(edit.known(bias.arguments[2])):
            return
    yield from (*nodes, layer, made.weight, *(bias for bias in biases if bias is not None))


@dataclass
class Edit:
    """A graph that is being changed: arguments and shapes by name of the result."""

    old: Graph
    nodes: dict[str, Node] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    before: dict[str, list[Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with what is there."""
        self.nodes = {node.output: node for node in self.old.nodes}
        self.values = dict(self.old.values)

    def graph(self) -> Graph:
        """What it is now; the old one where nothing was changed."""
        nodes = [n for name, node in self.nodes.items() for n in (*self.before.get(name, ()), node)]
        if all(one is other for one, other in zip(nodes, self.old.nodes, strict=False)):
            return self.old
        numbered = tuple(replace(node, index=index) for index, node in enumerate(nodes))
        return Graph(numbered, self.values, self.old.outputs)

    def producer(self, name: Argument, operator: str) -> Node | None:
        """The node that gives value `name`, where it is such an operator."""
        node = self.nodes.get(name) if isinstance(name, str) else None
        return node if node is not None and node.operator == operator else None

    def single(self, name: str) -> bool:
        """Whether one node reads the value, and it is no result."""
        return len(self.old.users[name]) == 1 and self.old.users[name] != (-1,)

    def channels(self, name: str) -> int:
        """Of the last axis."""
        return self.values[name].shape[-1]

    def known(self, name: Argument) -> np.ndarray | None:
        """What the value holds; None where only a run says it."""
        return self.values[name].constant if isinstance(name, str) else None

    def known_vector(self, nodes: Sequence[Node], at: int) -> bool:
        """Whether one that quantises has a scale for each channel, or one that is not known."""
        scales = [self.known(n.arguments[at]) for n in nodes if n.operator == "quantize"]
        return any(scale is None or scale.size > 1 for scale in scales)

    def scalar(self, name: Argument) -> int | None:
        """The value's one number; None where it has others, or is not known."""
        value = self.known(name)
        return int(value.reshape(-1)[0]) if value is not None and value.size == 1 else None

    def argument(self, node: Node, at: int, name: str) -> None:
        """Let argument `at` of a node be value `name`."""
        now = self.nodes[node.output]
        if now.arguments[at] != name:
            arguments = (*now.arguments[:at], name, *now.arguments[at + 1 :])
            self.nodes[node.output] = replace(now, arguments=arguments)

    def reshape(self, name: str, extra: int) -> None:
        """Lengthen the last axis of a value that a node gives."""
        value = self.values[name]
        shape = (*value.shape[:-1], value.shape[-1] + extra)
        self.values[name] = Value(name, value.dtype, shape)

    def constant(self, node: Node, at: int, axis: int, extra: int, mode: str) -> None:
        """Lengthen a constant argument.

        Args:
            node: that reads it.
            at: which of its arguments.
            axis: of the constant.
            extra: elements that are added there.
            mode: "constant" for zeros, "edge" for the last value.
        """
        name = self.nodes[node.output].arguments[at]
        value = self.known(name)
        if not isinstance(name, str) or value is None:
            return
        widths = [(0, 0)] * value.ndim
        widths[axis] = (0, extra)
        longer = np.pad(value, widths, mode="edge" if mode == "edge" else "constant")
        fresh = f"{name}_padded"
        self.values[fresh] = Value(fresh, self.values[name].dtype, longer.shape, longer)
        self.argument(node, at, fresh)
        out = self.values[node.output]
        if at == 0:
            self.values[node.output] = Value(out.name, out.dtype, longer.shape)

    def widen_result(self, chain: Sequence[Node], extra: int) -> None:
        """Give the layer that `chain_of` found `extra` results of zero."""
        for node in chain:
            if node.operator != "dequantize":
                self.reshape(node.output, extra)
                continue
            self.constant(node, 0, -1, extra, "constant")
            for at in (1, 2):
                value = self.known(self.nodes[node.output].arguments[at])
                if value is not None and value.size > 1:
                    self.constant(node, at, -1, extra, "edge")

    def padded(self, reader: Node, tensor: str, extra: int, zero: int) -> str:
        """A tensor with further channels, by an operator.

        Args:
            reader: the node before which it stands.
            tensor: what is padded.
            extra: channels that are added.
            zero: what they hold.
        """
        value = self.values[tensor]
        name = f"{tensor}_padded_for_{reader.output}"
        shape = (*value.shape[:-1], value.shape[-1] + extra)
        self.values[name] = Value(name, value.dtype, shape)
        width = (*(0,) * (2 * len(shape) - 1), extra)
        how = {"pad_width": width, "pad_mode": "constant", "pad_value": zero}
        self.before.setdefault(reader.output, []).append(
            Node(0, "nn.pad", (tensor,), how, name, reader.label)
        )
        return name
