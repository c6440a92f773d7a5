"""Plain names for ONNX models: users' names may hold anything, ours are identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import onnx


@dataclass(frozen=True)
class Names:
    """What the plain names stand for.

    Attributes:
        labels: plain node name -> the user's node name, or its first output's where it has none.
        values: plain value name -> the user's.
    """

    labels: Mapping[str, str]
    values: Mapping[str, str]


def plain_names(model: onnx.ModelProto) -> tuple[Any, Names]:
    """A copy of `model` whose values are called v0, v1, ... and whose nodes n0, n1, ..."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    renamer = _Renamer()
    renamer.graph(copy.graph)
    for value in copy.graph.value_info:
        value.name = renamer.value(value.name)
    labels, values = renamer.labels, {new: old for old, new in renamer.values.items()}
    return copy, Names(labels, values)


class _Renamer:
    """One numbering for a graph and the graphs inside it."""

    def __init__(self) -> None:
        """Start from zero."""
        self.values: dict[str, str] = {}
        self.labels: dict[str, str] = {}

    def value(self, name: str) -> str:
        """The plain name of a value; "" means absent and stays."""
        return self.values.setdefault(name, f"v{len(self.values)}") if name else ""

    def graph(self, graph: onnx.GraphProto) -> None:
        """Rename everything in `graph`."""
        for item in (*graph.input, *graph.initializer, *graph.output):
            item.name = self.value(item.name)
        for node in graph.node:
            label = node.name or next((name for name in node.output if name), node.op_type)
            # The underscore parts it from the number that TVM adds to make names unique.
            node.name = f"n{len(self.labels)}_"
            self.labels[node.name] = label
            node.input[:] = [self.value(name) for name in node.input]
            node.output[:] = [self.value(name) for name in node.output]
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    self.graph(inner)
                    del inner.value_info[:]
