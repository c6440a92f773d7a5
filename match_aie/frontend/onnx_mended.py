"""What ONNX's checker refuses and onnxruntime takes: nodes in any order, outputs that say little.

Tools leave such files: a conversion to float16 appends the casts of inputs behind their readers,
editors of graphs make outputs with a type and no shape, or with a name only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import onnx
from onnx.shape_inference import InferenceError


def in_order(graph: onnx.GraphProto) -> None:
    """Put the nodes of `graph` behind those that they read, in place; the order stays where it may.

    Where they read each other in a circle, all stay where they are.
    """
    nodes = list(graph.node)
    made = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    before = [{made[name] for name in _read(node) if name in made} for node in nodes]
    if all(max(needed, default=-1) < at for at, needed in enumerate(before)):
        return
    readers: list[list[int]] = [[] for _ in nodes]
    for at, needed in enumerate(before):
        for other in needed:
            readers[other].append(at)
    left = [len(needed) for needed in before]
    ready = [at for at, count in enumerate(left) if not count]
    order: list[int] = []
    while ready:
        at = heapq.heappop(ready)
        order.append(at)
        for reader in readers[at]:
            left[reader] -= 1
            if not left[reader]:
                heapq.heappush(ready, reader)
    if len(order) == len(nodes):
        copies = [onnx.NodeProto.FromString(nodes[at].SerializeToString()) for at in order]
        del graph.node[:]
        graph.node.extend(copies)


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, those in its subgraphs too."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _read(inner)
            yield from (value.name for value in graph.output)


def with_types(model: onnx.ModelProto) -> None:
    """Give outputs that have no type the one that inference finds, in place."""
    bare = [value for value in model.graph.output if value.type.WhichOneof("value") is None]
    if not bare:
        return
    with suppress(InferenceError, RuntimeError, ValueError):  # what is damaged, the checker says
        found = onnx.shape_inference.infer_shapes(model).graph.output
        types = {value.name: value.type for value in found}
        for value in bare:
            value.type.CopyFrom(types[value.name])


@contextmanager
def with_shapes(graph: onnx.GraphProto) -> Iterator[None]:
    """Outputs without a shape have one meanwhile, which nothing is compared with."""
    bare = [
        value.type.tensor_type
        for value in graph.output
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")
    ]
    for kind in bare:
        kind.shape.SetInParent()
    try:
        yield
    finally:
        for kind in bare:
            kind.ClearField("shape")
