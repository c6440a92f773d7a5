"""Short ways to ONNX models, unchecked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.hostile.case import Case

FLOAT, INT8, UINT8 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8
INT32, INT64, BOOL = TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL

node = helper.make_node

#: Nodes, or what makes them: of a long graph they take a while.
Nodes = Sequence[onnx.NodeProto] | Callable[[], Sequence[onnx.NodeProto]]


def value(name: str, shape: Sequence[int | str] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    """A value of a type; its shape unknown where None."""
    return helper.make_tensor_value_info(name, kind, shape)


def ints(*values: int) -> np.ndarray:
    """A list of int64."""
    return np.array(values, np.int64)


def hollow(name: str, dims: Sequence[int], kind: int = FLOAT) -> onnx.TensorProto:
    """A stored tensor of stated sizes that holds nothing."""
    return onnx.TensorProto(name=name, dims=list(dims), data_type=kind)


def model(
    nodes: Sequence[onnx.NodeProto],
    constants: dict[str, Any] | None = None,
    *,
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    opset: int = 17,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model from `x` (four floats) to `y` (any tensor, made a matrix), unless said otherwise."""
    stored = [
        held if isinstance(held, onnx.TensorProto) else numpy_helper.from_array(held, name)
        for name, held in (constants or {}).items()
    ]
    ends = [node("Cast", ["y"], ["y_"], to=FLOAT), node("Flatten", ["y_"], ["out"], axis=0)]
    graph = helper.make_graph(
        [*nodes, *([] if outputs is not None else ends)],
        "bomb",
        list(inputs) if inputs is not None else [value("x", [1, 4])],
        list(outputs) if outputs is not None else [value("out", [1, "size"])],
        stored,
    )
    domains = [helper.make_opsetid("", opset)]
    domains += [helper.make_opsetid(d, 1) for d in sorted({f.domain for f in functions})]
    return helper.make_model(graph, opset_imports=domains, ir_version=8, functions=functions)


def case(name: str, nodes: Nodes, *arguments: Any, **options: Any) -> Case:
    """A case of one ONNX file made by `model` when it is asked for, its nodes too if need be."""

    def build(folder: Path) -> Path:
        path = folder / "model.onnx"
        made = nodes() if callable(nodes) else nodes
        path.write_bytes(model(made, *arguments, **options).SerializeToString(deterministic=True))
        return path

    return Case(name, build)
