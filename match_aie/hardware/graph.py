"""The canonical graph as plain data: what patterns are matched on. Holds no TVM object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

#: An argument of a node: a value's name, a number, a tuple of those, or None for anything else.
Argument = str | float | tuple[object, ...] | None


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph; `constant` is its contents where it is known at compile time."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    constant: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One operator call.

    Attributes:
        index: position in the graph; inputs come from smaller ones.
        operator: such as "nn.conv2d", or a composite's name.
        arguments: in call order.
        attributes: plain data by name.
        output: name of the value it defines.
        label: what users know it by.
    """

    index: int
    operator: str
    arguments: tuple[Argument, ...]
    attributes: Mapping[str, object]
    output: str
    label: str = ""

    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors it reads, tuples flattened."""
        found: list[str] = []
        for argument in self.arguments:
            if isinstance(argument, str):
                found.append(argument)
            elif isinstance(argument, tuple):
                found.extend(a for a in argument if isinstance(a, str))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in execution order, the values between them, and the names of the results."""

    nodes: tuple[Node, ...]
    values: Mapping[str, Value] = field(repr=False)
    outputs: tuple[str, ...] = ()

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        """The node that defines each value; inputs and constants have none."""
        return {node.output: node for node in self.nodes}

    @cached_property
    def users(self) -> Mapping[str, tuple[int, ...]]:
        """Indices of the nodes that read each value; -1 stands for "is a result"."""
        found: dict[str, list[int]] = {name: [] for name in self.values}
        for node in self.nodes:
            for name in node.inputs():
                found[name].append(node.index)
        for name in self.outputs:
            found[name].append(-1)
        return {name: tuple(users) for name, users in found.items()}
