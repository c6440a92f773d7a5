"""Nodes and constants of an ONNX graph, written one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Nodes:
    """What a graph is made of, each named by its number.

    Attributes:
        nodes: in order.
        constants: in order.
    """

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def const(self, array: Any) -> str:
        """A constant; its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """A node; the name of its result."""
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name
