"""What rewriting an ONNX graph needs: a node to read, a graph to ask, a builder to write with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

#: The operator set of ONNX itself.
STANDARD = ("", "ai.onnx")

MICROSOFT = "com.microsoft"

#: Operators that stand between two rounds of rewriting only.
OWN = "match_aie"


class Refusal(Exception):
    """A node that cannot be compiled; the message says why."""


@dataclass(frozen=True)
class Node:
    """A node of the graph, with attributes as Python values.

    Attributes:
        proto: the node.
        opset: version of the standard operators in this model.
    """

    proto: onnx.NodeProto
    opset: int

    @property
    def op(self) -> str:
        """Operator, with its domain where that is not ONNX's own."""
        domain = self.proto.domain
        kind: str = self.proto.op_type
        return kind if domain in STANDARD else f"{domain}.{kind}"

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Attribute values by name; strings as `str`."""
        values = {a.name: helper.get_attribute_value(a) for a in self.proto.attribute}
        return {name: _decoded(value) for name, value in values.items()}

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute `name`, or `default` where the node has none."""
        return self.attributes.get(name, default)

    @property
    def inputs(self) -> list[str]:
        """Value names in order; "" stands for an absent optional input."""
        return list(self.proto.input)

    @property
    def outputs(self) -> list[str]:
        """Value names in order; "" stands for an output nobody reads."""
        return list(self.proto.output)

    def input(self, index: int) -> str:
        """Name of an input, "" where it is absent."""
        return self.proto.input[index] if index < len(self.proto.input) else ""

    def has_output(self, index: int) -> bool:
        """Whether an optional output is asked for."""
        return index < len(self.proto.output) and bool(self.proto.output[index])


def _decoded(value: Any) -> Any:
    """Bytes as text; anything else as it is."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple) and value and isinstance(value[0], bytes):
        return [item.decode("utf-8", "replace") for item in value]
    return value


@dataclass(frozen=True)
class Info:
    """Type of a value: ONNX element type, and shape where it is known in every dimension."""

    dtype: int
    shape: tuple[int, ...] | None


class Graph:
    """A model being rewritten: types and constants by name, and a source of fresh names."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Read the types of `model`, on which shape inference has run."""
        self.model = model
        self.proto = model.graph
        self.opset: int = opset_of(model)
        values = [*self.proto.value_info, *self.proto.input, *self.proto.output]
        self._infos = {value.name: _info(value.type) for value in values}
        self._constants = {tensor.name: tensor for tensor in self.proto.initializer}
        for name, tensor in self._constants.items():
            self._infos[name] = Info(tensor.data_type, tuple(tensor.dims))
        self._taken = _defined(self.proto) | set(self._infos)
        #: Bytes of the constants that were added.
        self.added_bytes = 0

    def info(self, name: str) -> Info | None:
        """Type of a value, None where inference could not tell."""
        return self._infos.get(name)

    def dtype(self, name: str) -> int:
        """ONNX element type of a value; `Refusal` where it is unknown."""
        info = self._infos.get(name)
        if info is None or not info.dtype:
            raise Refusal("the type of its input is unknown")
        return info.dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a value; `Refusal` where it is not known in every dimension."""
        info = self._infos.get(name)
        if info is None or info.shape is None:
            raise Refusal("the shape of its input is not known before the network runs")
        return info.shape

    def constant(self, name: str) -> np.ndarray | None:
        """Value of a compile-time tensor, None for what is computed at run time."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def is_constant(self, name: str) -> bool:
        """Whether `name` is a compile-time tensor."""
        return name in self._constants

    def tensor(self, name: str) -> Any:
        """The stored tensor of a compile-time value."""
        return self._constants[name]

    def add_constant(self, array: np.ndarray, dtype: int | None = None) -> str:
        """A new compile-time tensor; returns its name."""
        name = self.fresh("c")
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        if dtype is not None:
            tensor.data_type = dtype
        self.add_tensor(tensor)
        return name

    def add_tensor(self, tensor: onnx.TensorProto) -> None:
        """Keep a compile-time tensor under its own name."""
        self.proto.initializer.append(tensor)
        self.added_bytes += tensor.ByteSize()
        self._constants[tensor.name] = self.proto.initializer[-1]
        self._infos[tensor.name] = Info(tensor.data_type, tuple(tensor.dims))
        self._taken.add(tensor.name)

    def fresh(self, hint: str) -> str:
        """A value name that nothing uses."""
        number = len(self._taken)
        while f"{hint}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{hint}_{number}")
        return f"{hint}_{number}"


def _defined(graph: onnx.GraphProto) -> set[str]:
    """Names of all values that a graph and its subgraphs define."""
    names = {value.name for value in (*graph.initializer, *graph.input)}
    for node in graph.node:
        names |= set(node.output)
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                names |= _defined(inner)
    return names


def _info(type_proto: Any) -> Info:
    """Type of a value as inference wrote it down."""
    if not type_proto.HasField("tensor_type"):
        return Info(0, None)
    tensor = type_proto.tensor_type
    if not tensor.HasField("shape"):
        return Info(tensor.elem_type, None)
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    known = tuple(dim for dim in dims if dim is not None)
    return Info(tensor.elem_type, known if len(known) == len(dims) else None)


def opset_of(model: onnx.ModelProto) -> int:
    """Version of the standard operators that `model` uses; 0 where it uses none."""
    return max((o.version for o in model.opset_import if o.domain in STANDARD), default=0)


class Builder:
    """Collects the nodes that replace one node."""

    def __init__(self, graph: Graph, label: str) -> None:
        """Write into `graph`; every node gets the name `label`."""
        self.graph = graph
        self.label = label
        self.nodes: list[onnx.NodeProto] = []

    def many(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Append a node with `count` outputs; returns their names.

        Args:
            op: the operator, behind its domain and a point.
            inputs: names of tensors.
            count: of outputs.
            attributes: of the node.
        """
        domain, _, kind = op.rpartition(".")
        outputs = [self.graph.fresh("t") for _ in range(count)]
        node = helper.make_node(
            kind, list(inputs), outputs, name=self.label, domain=domain, **attributes
        )
        self.nodes.append(node)
        return outputs

    def op(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Append a node with one output; returns its name."""
        return self.many(op, inputs, 1, **attributes)[0]

    def const(self, value: Any, dtype: Any = None) -> str:
        """A compile-time tensor from anything numpy takes."""
        return self.graph.add_constant(np.asarray(value, dtype))

    def like(self, value: Any, name: str) -> str:
        """A compile-time tensor with the element type of `name`."""
        dtype = helper.tensor_dtype_to_np_dtype(self.graph.dtype(name))
        return self.graph.add_constant(np.asarray(value).astype(dtype), self.graph.dtype(name))

    def splice(self, graph: onnx.GraphProto, bound: dict[str, str]) -> list[str]:
        """Append the nodes of `graph` with its inputs replaced; returns its outputs' names.

        What it defines gets fresh names: other graphs, such as branches beside it, may use its own.

        Args:
            graph: a GraphProto.
            bound: name inside -> name outside, for its inputs.
        """
        copy = onnx.GraphProto()
        copy.CopyFrom(graph)
        self._rename(copy, dict(bound))
        for tensor in copy.initializer:
            self.graph.add_tensor(tensor)
        for node in copy.node:
            node.name = self.label
            self.nodes.append(node)
        return [value.name for value in copy.output]

    def _rename(self, graph: onnx.GraphProto, names: dict[str, str]) -> None:
        """Replace names by `names`, and what the graph and its subgraphs define by fresh ones."""
        for tensor in graph.initializer:
            names[tensor.name] = tensor.name = self.graph.fresh("c")
        for node in graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    own = {port.name for port in attribute.g.input}
                    inner = {name: new for name, new in names.items() if name not in own}
                    self._rename(attribute.g, inner)
            names |= {name: self.graph.fresh("t") for name in node.output if name}
            node.output[:] = [names.get(name, name) for name in node.output]
        for value in graph.output:
            value.name = names.get(value.name, value.name)
