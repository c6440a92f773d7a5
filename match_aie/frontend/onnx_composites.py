"""GRU, LSTM, RNN and Attention: a body in primitive operators for each node."""

from __future__ import annotations

import json

import numpy as np
import onnx
from onnx import helper, numpy_helper

from match_aie.frontend.onnx_rewrite import rewrite
from match_aie.frontend.onnx_rewrite.functions import alone
from match_aie.frontend.onnx_rewrite.graph import Graph, Node
from match_aie.frontend.onnx_rewrite.table import COMPOSITE_BODIES, REWRITES
from match_aie.frontend.onnx_shapes import infer_shapes


def is_joined(node: Node, graph: Graph) -> bool:
    """Whether a composite has one result for two of its operator's.

    Layers have one result: of an LSTM of one direction that gives its states Y [T, 1, B, H] and the
    last cell Y_c [1, B, H] that is [T + 1, 1, B, H], the cell behind the states.
    """
    given = [position for position, name in enumerate(node.outputs) if name]
    one = node.attr("direction", "forward") != "bidirectional"
    return node.op == "LSTM" and given == [0, 2] and one and not node.attr("layout", 0)


def join(model: onnx.ModelProto) -> None:
    """Make the two results of such a layer one, in place."""
    (graph, (states, cell)) = model.graph, model.graph.output
    steps, *rest = (dim.dim_value for dim in states.type.tensor_type.shape.dim)
    shape = numpy_helper.from_array(np.array([1, *rest], np.int64), "cell_shape")
    graph.initializer.append(shape)
    graph.node.append(helper.make_node("Reshape", [cell.name, shape.name], ["cell"]))
    graph.node.append(helper.make_node("Concat", [states.name, "cell"], ["joined"], axis=0))
    kind = states.type.tensor_type.elem_type
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("joined", kind, [steps + 1, *rest]))


def body_model(node: Node, graph: Graph) -> onnx.ModelProto:
    """An ONNX model of primitive operators that computes `node`.

    Its inputs are the node's, in order and each once, without those that `is_embedded` names. It
    has one result where `is_joined`.

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
    if is_joined(node, graph):
        join(model)
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
    `onnx_outputs` that of each result, `onnx_attributes` the attributes, defaults included;
    `onnx_repeated` which inputs are a parameter of an earlier position once more, and
    `onnx_joined` whether two results are one.
    """
    spelled_out = Node(alone(node, graph).graph.node[0], node.opset)
    positions = [node.inputs.index(name) for name in arguments(node, graph)]
    results = [position for position, name in enumerate(node.outputs) if name]
    first = {at: node.inputs.index(name) for at, name in enumerate(node.inputs) if name}
    again = {at: place for at, place in first.items() if at != place}
    return {
        "Composite": f"onnx.{node.op}",
        "onnx_inputs": json.dumps(positions),
        "onnx_outputs": json.dumps(results),
        "onnx_attributes": json.dumps(spelled_out.attributes, sort_keys=True),
        "onnx_repeated": json.dumps(again),
        "onnx_joined": json.dumps(is_joined(node, graph)),
    }
