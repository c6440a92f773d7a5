"""ONNX graphs under construction, with random weights of a fixed seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Sizes, symbols where they are open.
Shape = tuple[int | str, ...]


class Graph:
    """Nodes and constants in the order they are made; float32 throughout."""

    def __init__(self, seed: int) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._rng = np.random.default_rng(seed)

    def constant(self, value: object, name: str = "") -> str:
        """A constant; floats are float32."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = name or f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def normal(self, *shape: int, deviation: float, name: str = "") -> str:
        """Normally distributed weights."""
        return self.constant(self._rng.standard_normal(shape) * deviation, name)

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        """A node with one output."""
        return self.split(operator, *inputs, parts=1, **attributes)[0]

    def split(self, operator: str, *inputs: str, parts: int, **attributes: object) -> list[str]:
        """A node with several outputs."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        outputs = [name] if parts == 1 else [f"{name}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node(operator, inputs, outputs, name, **attributes))
        return outputs

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        """Matrix product with a weight of (inputs, outputs), and a bias."""
        product = self.add("MatMul", x, self.normal(inputs, outputs, deviation=inputs**-0.5))
        return self.add("Add", product, self.normal(outputs, deviation=0.02))

    def model(
        self,
        name: str,
        inputs: Mapping[str, Shape],
        outputs: Mapping[str, Shape],
        opset: int = 17,
        integers: Collection[str] = (),
    ) -> onnx.ModelProto:
        """The graph as a model.

        Args:
            name: of the graph.
            inputs: shapes by name; a size is a symbol, or -1, where it is open.
            outputs: shapes by name; keys are what `add` returned.
            opset: version of the operators.
            integers: inputs that are int64.

        Raises:
            onnx.checker.ValidationError: it is no valid graph.
        """
        graph = helper.make_graph(
            self._nodes, name, _ports(inputs, integers), _ports(outputs), self._constants
        )
        others = sorted({node.domain for node in self._nodes} - {""})
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(o, 1) for o in others)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.checker.check_model(made)
        return onnx.shape_inference.infer_shapes(made)


def _ports(
    shapes: Mapping[str, Shape], integers: Collection[str] = ()
) -> Sequence[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(
            name, TensorProto.INT64 if name in integers else TensorProto.FLOAT, shape
        )
        for name, shape in shapes.items()
    ]
