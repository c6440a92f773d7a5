"""Inputs and outputs of an ONNX graph as ports, with the quantisation next to them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import onnx
from onnx import helper

from match_aie.errors import ModelError
from match_aie.frontend.model import Port
from match_aie.frontend.onnx_rewrite.graph import Graph
from match_aie.frontend.onnx_shapes import INPUT_TYPES

#: Operators that only move elements, so that the quantisation of their result is their input's.
MOVES = frozenset(
    {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "MaxPool", "Slice"}
)


def check_stored_outputs(model: onnx.ModelProto, names: Mapping[str, str]) -> None:
    """Refuse outputs that are constants of types which no network has at its edge.

    Raises:
        ModelError: naming output and type.
    """
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    for value in model.graph.output:
        if value.name in stored and stored[value.name].data_type not in INPUT_TYPES:
            what = onnx.TensorProto.DataType.Name(stored[value.name].data_type).lower()
            raise ModelError(
                f"an output is a constant of {what}; outputs must be tensors of bool, integers of "
                "8 bits or more, or floats",
                where=f"output {names.get(value.name, value.name)}",
            )


def read_ports(
    model: onnx.ModelProto, names: Mapping[str, str]
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """(inputs, outputs) of `model` under the names that `names` maps its values to."""
    graph = Graph(model)
    readers: dict[str, list[onnx.NodeProto]] = {}
    makers: dict[str, onnx.NodeProto] = {}
    for node in model.graph.node:
        for name in dict.fromkeys(node.input):
            readers.setdefault(name, []).append(node)
        makers |= dict.fromkeys(node.output, node)
    inputs = [
        _port(graph, value.name, names, _forward(graph, value.name, readers))
        for value in model.graph.input
    ]
    outputs = [
        _port(graph, value.name, names, _backward(graph, value.name, makers))
        for value in model.graph.output
    ]
    return tuple(inputs), tuple(outputs)


def _port(
    graph: Graph, value: str, names: Mapping[str, str], quantised: tuple[float, int] | None
) -> Port:
    name = names.get(value, value)
    info = graph.info(value)
    if info is None or info.shape is None:
        raise ModelError("the shape of an output is not known", where=f"output {name}")
    if prod(info.shape) == 0:
        raise ModelError("an output has no elements", where=f"output {name}")
    dtype = str(helper.tensor_dtype_to_np_dtype(info.dtype))
    scale, zero_point = quantised or (None, 0)
    return Port(name, dtype, info.shape, scale, zero_point)


def _forward(
    graph: Graph, value: str, readers: Mapping[str, list[onnx.NodeProto]]
) -> tuple[float, int] | None:
    """Quantisation of what reads `value`, through operators that only move elements."""
    while len(readers.get(value, ())) == 1:
        (node,) = readers[value]
        if node.input[0] != value:
            return None
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            return _parameters(graph, node)
        if node.op_type not in MOVES:
            return None
        value = node.output[0]
    return None


def _backward(
    graph: Graph, value: str, makers: Mapping[str, onnx.NodeProto]
) -> tuple[float, int] | None:
    """Quantisation of what makes `value`, through operators that only move elements."""
    while value in makers:
        node = makers[value]
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            return _parameters(graph, node)
        if node.op_type not in MOVES:
            return None
        value = node.input[0]
    return None


def _parameters(graph: Graph, node: onnx.NodeProto) -> tuple[float, int] | None:
    """Scale and zero point of a quantise or dequantise node that has one of each."""
    scale = graph.constant(node.input[1])
    zero = graph.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    if scale is None or scale.size != 1 or (zero is not None and zero.size != 1):
        return None
    return float(scale.reshape(())), int(zero.reshape(())) if zero is not None else 0
