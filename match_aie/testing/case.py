"""A case of the zoo, and cases side by side in one network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import onnx

from match_aie.testing.graph import GraphBuilder, Value

Build = Callable[[GraphBuilder], Value]


@dataclass(frozen=True)
class Case:
    """A small network, one layer with few exceptions.

    Attributes:
        name: of it, also the first part of all names in its graph; no "/" in it.
        build: adds it to a graph and gives its output.
        single: whether it is one layer; the output of several may be off by what they pass on.
        terms: of a float layer, the products or elements that one sum adds.
    """

    name: str
    build: Build
    single: bool = True
    terms: int = 1


def network(cases: Iterable[Case], name: str = "zoo") -> onnx.ModelProto:
    """One network in which the cases lie side by side; a case has the same constants in all."""
    graph = GraphBuilder()
    for case in cases:
        graph.begin(case.name, sum(case.name.encode()))
        graph.output(case.build(graph))
    return graph.model(name)
