"""Files that onnxruntime takes and ONNX's checker refuses: they are put in order first."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match_aie.errors import ModelError
from match_aie.frontend import load
from match_aie.frontend.onnx_mended import in_order


def chain(order, outputs=("y",)):
    """y = relu(-x) * w + x in an order of nodes; outputs without shapes."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], "neg"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Mul", ["b", "w"], ["c"], "mul"),
        helper.make_node("Add", ["c", "x"], ["y"], "add"),
    ]
    graph = helper.make_graph(
        [nodes[at] for at in order],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_nodes_in_any_order_and_outputs_without_shapes_are_read(order):
    model = chain(order, ("y", "b"))
    before = model.SerializeToString(deterministic=True)
    found = load(model)
    assert [(port.name, port.shape) for port in found.outputs] == [("y", (2, 3)), ("b", (2, 3))]
    assert model.SerializeToString(deterministic=True) == before
    assert found.source == before


def test_an_order_that_holds_is_kept():
    graph = chain((0, 1, 2, 3)).graph
    graph.node.insert(0, helper.make_node("Neg", ["w"], ["unused"], "first"))
    names = [node.name for node in graph.node]
    in_order(graph)
    assert [node.name for node in graph.node] == names


def test_what_a_branch_reads_comes_before_it():
    inner = helper.make_graph(
        [helper.make_node("Neg", ["b"], ["n"])],
        "inner",
        [],
        [helper.make_tensor_value_info("n", TensorProto.FLOAT, (2, 3))],
    )
    graph = chain((1, 0, 2, 3)).graph
    graph.node.insert(
        0, helper.make_node("If", ["flag"], ["z"], "if", then_branch=inner, else_branch=inner)
    )
    in_order(graph)
    assert [node.name for node in graph.node] == ["neg", "relu", "if", "mul", "add"]


def test_a_circle_is_refused():
    model = chain((0, 1, 2, 3))
    model.graph.node[0].input[0] = "c"
    with pytest.raises(ModelError, match="not valid ONNX"):
        load(model)


@pytest.mark.parametrize("opset", [12, 17])
def test_outputs_without_a_type_are_read(opset):
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("ArgMax", ["x"], ["z"], axis=1, keepdims=0),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))
    bare = [helper.make_empty_tensor_value_info("y"), helper.make_empty_tensor_value_info("z")]
    graph = helper.make_graph(nodes, "g", [x], bare)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    ports = load(model).outputs
    assert [(port.shape, port.dtype) for port in ports] == [((2, 3), "float32"), ((2,), "int64")]


def test_outputs_without_a_type_of_unknown_operators_are_refused():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))
    node = helper.make_node("Nothing", ["x"], ["y"], domain="some.where")
    graph = helper.make_graph([node], "g", [x], [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("some.where", 1)]
    with pytest.raises(ModelError, match="type"):
        load(helper.make_model(graph, opset_imports=opsets, ir_version=8))
