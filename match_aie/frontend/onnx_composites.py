"""GRU, LSTM, RNN and Attention: a body in primitive operators for each node."""

from __future__ import annotations

import json

import onnx
from onnx import numpy_helper

from match_aie.frontend.onnx_rewrite import rewrite
from match_aie.frontend.onnx_rewrite.functions import alone
from match_aie.frontend.onnx_rewrite.graph import Graph, Node
from match_aie.frontend.onnx_rewrite.table import COMPOSITE_BODIES, REWRITES
from match_aie.frontend.onnx_shapes import infer_shapes


def body_model(node: Node, graph: Graph) -> onnx.ModelProto:
    """An ONNX model of primitive operators that computes `node`.

    Its inputs are the node's, in order and each once, without those that `is_embedded` names.

    Raises:
        UnsupportedOperatorError: naming an operator of the body.
    """
    model = alone(node, graph)
    stored = {
        value.name: name
        for value, name in zip(
            model.graph.input, arguments(node, graph, all_of_them=True), strict=True
        )
        if is_embedded(graph, name)
    }
    kept = [value for value in model.graph.input if value.name not in stored]
    for inner, name in stored.items():
        tensor = numpy_helper.from_array(graph.constant(name), inner)
        model.graph.initializer.append(tensor)
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return rewrite(infer_shapes(model), {}, rewrites={**REWRITES, **COMPOSITE_BODIES})


def arguments(node: Node, graph: Graph, *, all_of_them: bool = False) -> list[str]:
    """The values that a composite is called with."""
    present = dict.fromkeys(name for name in node.inputs if name)
    return [name for name in present if all_of_them or not is_embedded(graph, name)]


def is_embedded(graph: Graph, name: str) -> bool:
    """Whether an input steers the computation, such as a constant length, and is part of it."""
    return graph.is_constant(name) and graph.dtype(name) in (
        onnx.TensorProto.INT32,
        onnx.TensorProto.INT64,
    )


def describe(node: Node, graph: Graph) -> dict[str, str]:
    """Function attributes that say which operator a composite is and what its parameters are.

    `onnx_inputs` gives the position of each parameter among the operator's inputs,
    `onnx_outputs` that of each result, `onnx_attributes` the attributes, defaults included.
    """
    spelled_out = Node(alone(node, graph).graph.node[0], node.opset)
    positions = [node.inputs.index(name) for name in arguments(node, graph)]
    results = [position for position, name in enumerate(node.outputs) if name]
    return {
        "Composite": f"onnx.{node.op}",
        "onnx_inputs": json.dumps(positions),
        "onnx_outputs": json.dumps(results),
        "onnx_attributes": json.dumps(spelled_out.attributes, sort_keys=True),
    }
