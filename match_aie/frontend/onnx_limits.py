"""What an ONNX model asks for, in Python integers, before anything is allocated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any

import onnx

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_tensors import check_content, dense_bytes, stored_bytes
from match_aie.limits import Limits

Key = tuple[str, str, str]

#: Operators whose results have a size for each place of a window.
WINDOWED = frozenset(("AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool", "QLinearConv"))


def check_stated(model: onnx.ModelProto, limits: Limits) -> None:
    """Refuse a model that states too much: sizes, constants, depth, nodes once expanded.

    Raises:
        LimitError: naming what is too much.
        ModelError: sizes that are none, tensors whose content does not fit them, functions that
            call themselves.
    """
    if not all(isinstance(text, str) for text in _texts(model)):
        raise ModelError("a name in the model is no text in UTF-8", hint="export it again")
    _check_depth(model, limits)
    total = 0
    for tensor in _all_tensors(model):
        where = f"tensor {shorten(tensor.name, 80)}"
        check_shape(list(tensor.dims), limits, where)
        total += stored_bytes(tensor)
        limits.check("constant_bytes", total, "the constants of the model take too much", where)
        check_content(tensor)
    for sparse in _sparse_tensors(model):
        where = f"sparse tensor {shorten(sparse.values.name, 80)}"
        check_shape(list(sparse.dims), limits, where)
        total += dense_bytes(sparse.dims, sparse.values.data_type)
        limits.check("constant_bytes", total, "sparse tensors unfold to too much", where)
    for graph in graphs(model):
        _check_values(graph, limits)
    limits.check("nodes", expanded_nodes(model), "the model has too many nodes")


def check_inferred(model: onnx.ModelProto, limits: Limits) -> None:
    """Refuse values that shape inference found to be too large, and constants that grew.

    Raises:
        LimitError: naming the value.
        ModelError: a window that is larger than its image.
    """
    _check_values(model.graph, limits)
    _check_windows(model.graph)
    stored = sum(stored_bytes(tensor) for tensor in model.graph.initializer)
    what = "the constants of the model, folded ones included, take too much"
    limits.check("constant_bytes", stored, what)
    limits.check("nodes", len(model.graph.node), "the model has too many nodes")


def check_shape(shape: list[int], limits: Limits, where: str) -> None:
    """Refuse a shape of too many dimensions or elements, or with a negative size.

    Raises:
        LimitError: too many.
        ModelError: a negative size.
    """
    limits.check("rank", len(shape), "a tensor has too many dimensions", where)
    if any(size < 0 for size in shape):
        raise ModelError(f"a tensor has a negative size: {shape}", where=where)
    limits.check("tensor_elements", prod(shape), f"a tensor of shape {shape} is too large", where)


def expanded_nodes(model: onnx.ModelProto) -> int:
    """Nodes of the model once every call of a function of its own is replaced by its body.

    Raises:
        ModelError: a function calls itself, through others perhaps.
    """
    bodies = {function_key(f): list(every_node(f.node)) for f in model.functions}
    sizes: dict[Key, int] = {}
    for first in bodies:
        open_, path = [first], set()
        while open_:
            key = open_[-1]
            waiting = {node_key(node) for node in bodies[key]} & set(bodies) - set(sizes)
            path.add(key)
            if waiting & path:
                raise ModelError("a function calls itself", where=f"function {shorten(key[1], 80)}")
            if waiting:
                open_ += sorted(waiting)[:1]
                continue
            sizes.setdefault(key, sum(sizes.get(node_key(n), 1) for n in bodies[key]))
            path.discard(key)
            open_.pop()
    return sum(sizes.get(node_key(node), 1) for node in every_node(model.graph.node))


def _check_values(graph: onnx.GraphProto, limits: Limits) -> None:
    """Refuse values of stated types that are too large; sizes unknown so far count as 1."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        dims = value.type.tensor_type.shape.dim
        # A size of -1 means unknown to some exporters; the settling of inputs judges it.
        sizes = [dim.dim_value if dim.dim_value > 0 else 1 for dim in dims]
        check_shape(sizes, limits, f"value {shorten(value.name, 80)}")


def _check_windows(graph: onnx.GraphProto) -> None:
    """Refuse results of negative sizes: what inference makes of a window beyond its image."""
    made = {name: node for node in graph.node if node.op_type in WINDOWED for name in node.output}
    for value in (*graph.output, *graph.value_info):
        node = made.get(value.name)
        if node is not None and any(d.dim_value < 0 for d in value.type.tensor_type.shape.dim):
            raise ModelError(
                "its window is larger than the image with its padding",
                where=f"{node.op_type} (node {shorten(repr(node.name), 80)})",
            )


def _check_depth(model: onnx.ModelProto, limits: Limits) -> None:
    """Refuse subgraphs in subgraphs, and functions that call functions, beyond the limit."""
    callers: Mapping[Key, list[onnx.NodeProto]]
    callers = {function_key(f): list(f.node) for f in model.functions}
    depths: dict[Key, int] = {}
    layer = [(node, 1) for node in model.graph.node]
    while layer:
        node, depth = layer.pop()
        where = f"node {shorten(node.name, 80)}"
        limits.check("depth", depth, "functions or subgraphs nest too deeply", where)
        layer += [(inner, depth + 1) for graph in _subgraphs(node) for inner in graph.node]
        key = node_key(node)
        if key in callers and depths.get(key, 0) < depth:
            depths[key] = depth
            layer += [(inner, depth + 1) for inner in callers[key]]


def graphs(model: onnx.ModelProto) -> Iterator[Any]:
    """The graph, and all graphs in attributes of nodes."""
    yield model.graph
    waiting = [*model.graph.node, *(node for f in model.functions for node in f.node)]
    while waiting:
        for graph in _subgraphs(waiting.pop()):
            yield graph
            waiting += graph.node


def every_node(nodes: Iterable[onnx.NodeProto]) -> Iterator[Any]:
    """Nodes, and those of their subgraphs."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [inner for graph in _subgraphs(node) for inner in graph.node]


def _subgraphs(node: onnx.NodeProto) -> list[Any]:
    found = []
    for attribute in node.attribute:
        found += [attribute.g] if attribute.HasField("g") else []
        found += attribute.graphs
    return found


def _all_tensors(model: onnx.ModelProto) -> Iterator[Any]:
    """Every stored tensor."""
    for graph in graphs(model):
        yield from graph.initializer
    for sparse in _sparse_tensors(model):
        yield from (sparse.values, sparse.indices)
    for attribute in _attributes(model):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def _sparse_tensors(model: onnx.ModelProto) -> Iterator[Any]:
    """Every sparse tensor."""
    for graph in graphs(model):
        yield from graph.sparse_initializer
    for attribute in _attributes(model):
        if attribute.HasField("sparse_tensor"):
            yield attribute.sparse_tensor
        yield from attribute.sparse_tensors


def _attributes(model: onnx.ModelProto) -> Iterator[Any]:
    """Attributes of all nodes."""
    functions = [node for function in model.functions for node in function.node]
    for node in every_node([*model.graph.node, *functions]):
        yield from node.attribute


def _texts(model: onnx.ModelProto) -> Iterator[Any]:
    """Every name; protobuf gives those that are not UTF-8 as bytes."""
    functions = [node for function in model.functions for node in function.node]
    for node in every_node([*model.graph.node, *functions]):
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for graph in graphs(model):
        named = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
        yield from (item.name for item in named)
        yield graph.name
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
    yield from (opset.domain for opset in model.opset_import)


def node_key(node: onnx.NodeProto) -> Key:
    """What a node calls."""
    return node.domain, node.op_type, node.overload


def function_key(function: onnx.FunctionProto) -> Key:
    """What calls of a function name."""
    return function.domain, function.name, function.overload
