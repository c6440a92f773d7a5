"""Drops what no output needs, and identities."""

from __future__ import annotations

from typing import Any

import onnx

#: Operators any of whose outputs may be absent, or all but the first.
OPTIONAL_OUTPUTS = frozenset(
    """Attention BatchNormalization Dropout GRU LSTM LayerNormalization MaxPool RNN
    SoftmaxCrossEntropyLoss""".split()
)


def prune(model: onnx.ModelProto) -> Any:
    """A copy of `model` without unused nodes and constants, and without inner identities."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _bypass_identities(copy.graph)
    needed = {value.name for value in copy.graph.output}  # and never "", which names no value
    nodes = []
    for node in reversed(copy.graph.node):
        if any(name in needed for name in node.output):
            needed.update(_read(node))
            nodes.append(node)
    for node in nodes:
        _drop_unread(node, needed)
    kept = [_copied(node) for node in reversed(nodes)]
    stored = [tensor for tensor in copy.graph.initializer if tensor.name in needed]
    if len(kept) != len(copy.graph.node):
        del copy.graph.node[:]
        copy.graph.node.extend(kept)
    if len(stored) != len(copy.graph.initializer):
        kept_tensors = [_copied(tensor) for tensor in stored]
        del copy.graph.initializer[:]
        copy.graph.initializer.extend(kept_tensors)
    return copy


def _copied(proto: onnx.NodeProto) -> Any:
    copy = type(proto)()
    copy.CopyFrom(proto)
    return copy


def _read(node: onnx.NodeProto) -> set[str]:
    """Values that a node reads, its subgraphs included."""
    names = set(filter(None, node.input))
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in graph.node:
                names |= _read(inner)
            names |= {value.name for value in graph.output}
    return names


def _drop_unread(node: onnx.NodeProto, needed: set[str]) -> None:
    """Strike optional outputs that nobody reads, so that they are not computed."""
    if node.op_type not in OPTIONAL_OUTPUTS or node.domain:
        return
    node.output[:] = [name if name in needed else "" for name in node.output]
    while len(node.output) > 1 and not node.output[-1]:
        del node.output[-1]


def _bypass_identities(graph: onnx.GraphProto) -> None:
    """Let readers of an identity read its input, where the identity is not itself an output."""
    outputs = {value.name for value in graph.output}
    instead: dict[str, str] = {}
    for node in graph.node:
        _rename(node, instead)
        if node.op_type == "Identity" and not node.domain and node.output[0] not in {"", *outputs}:
            instead[node.output[0]] = node.input[0]
    _merge_output_identities(graph, outputs)


def _rename(node: onnx.NodeProto, instead: dict[str, str]) -> None:
    """Let a node read other values, in its subgraphs, too."""
    node.input[:] = [instead.get(name, name) for name in node.input]
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in graph.node:
                _rename(inner, instead)
            for value in graph.output:
                value.name = instead.get(value.name, value.name)


def _merge_output_identities(graph: onnx.GraphProto, outputs: set[str]) -> None:
    """Let the producer of an output's identity write the output itself."""
    makers = {name: node for node in graph.node for name in node.output if name}
    merged: dict[str, str] = {}
    for node in graph.node:
        if node.op_type != "Identity" or node.domain or node.output[0] not in outputs:
            continue
        maker = makers.get(node.input[0])
        if maker is None or node.input[0] in outputs or node.input[0] in merged:
            continue
        merged[node.input[0]] = node.output[0]
        maker.output[:] = [merged.get(name, name) for name in maker.output]
        node.output[0] = ""
    for node in graph.node:
        _rename(node, merged)
