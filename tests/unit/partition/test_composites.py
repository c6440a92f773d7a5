"""GRU, LSTM and Attention reach the matcher as one operator each."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.frontend import load, normalize
from match_aie.hardware import Any, Const, Op
from match_aie.partition import to_graph
from match_aie.partition.match import matches

RNG = np.random.default_rng(0)


def net(operator, inputs, weights, rank, opset=17, **attributes):
    node = helper.make_node(operator, [*inputs, *weights], ["y"], name="cell", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return to_graph(normalize(load(model.SerializeToString())))


def recurrent(operator, gates):
    weights = {
        "w": RNG.standard_normal((1, gates * 5, 4)),
        "r": RNG.standard_normal((1, gates * 5, 5)),
    }
    return net(operator, {"x": [3, 1, 4]}, weights, 4, hidden_size=5)


@pytest.mark.parametrize(("operator", "gates"), [("GRU", 3), ("LSTM", 4)])
def test_a_recurrent_layer_is_one_operator_that_a_pattern_can_claim(operator, gates):
    graph = recurrent(operator, gates)
    (cell,) = [n for n in graph.nodes if n.operator.startswith("onnx.")]
    assert cell.operator == f"onnx.{operator}"
    assert cell.label == "cell"
    assert json.loads(str(cell.attributes["onnx_attributes"]))["hidden_size"] == 5
    structure = Op(f"onnx.{operator}", Any("x"), Const("w"), Const("r"))
    (found,) = matches(graph, structure, cell)
    assert graph.values[found.bound["w"]].shape == (1, gates * 5, 4)


def test_attention_is_one_operator():
    shape = [1, 2, 3, 4]
    graph = net("Attention", {"q": shape, "k": shape, "v": shape}, {}, 4, opset=23)
    assert [n.operator for n in graph.nodes] == ["onnx.Attention"]
