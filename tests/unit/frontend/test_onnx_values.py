"""Inputs of ONNX models that are bound to values."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from match_aie.errors import OptionError
from match_aie.frontend import load
from match_aie.frontend.onnx_values import with_values
from tests.networks import dynamic


def branches():
    """y = x * 2 at 16000, x * 3 elsewhere; `gain` is a vector, `n` a count in a vector of one."""

    def branch(factor):
        value = helper.make_tensor("f", TensorProto.FLOAT, [], [factor])
        nodes = [
            helper.make_node("Constant", [], ["f"], value=value),
            helper.make_node("Mul", ["x", "f"], ["r"]),
        ]
        result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [1, 4])
        return helper.make_graph(nodes, "branch", [], [result])

    wanted = helper.make_tensor("wanted", TensorProto.INT64, [], [16000])
    nodes = [
        helper.make_node("Equal", ["sr", "wanted"], ["fits"]),
        helper.make_node("If", ["fits"], ["s"], then_branch=branch(2), else_branch=branch(3)),
        helper.make_node("Add", ["s", "gain"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]),
        helper.make_tensor_value_info("sr", TensorProto.INT64, []),
        helper.make_tensor_value_info("gain", TensorProto.FLOAT, [4]),
    ]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph(nodes, "branches", ports, [out], [wanted])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_a_branch_on_a_value_is_decided(tmp_path):
    path = tmp_path / "rates.onnx"
    onnx.save(branches(), path)
    assert [port.name for port in load(path).inputs] == ["x", "sr", "gain"]
    bound, name = with_values(path, {"sr": 16000})
    assert name == "rates"
    model = load(bound)
    assert [port.name for port in model.inputs] == ["x", "gain"]
    assert "2" in str(model.module)
    assert [port.name for port in onnx.load(path).graph.input] == ["x", "sr", "gain"]
    session = onnxruntime.InferenceSession(model.source)
    feeds = {"x": np.ones((1, 4), np.float32), "gain": np.zeros(4, np.float32)}
    np.testing.assert_array_equal(session.run(None, feeds)[0], 2 * np.ones((1, 4)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 1}, "no input of the model"),
        ({"sr": 0.5}, "cannot be 0.5"),
        ({"sr": "fast"}, "no such value"),
        ({"gain": [1.0, 2.0]}, r"shape \[4\], its value \[2\]"),
        ({"wanted": 1}, "no input of the model"),
    ],
)
def test_values_that_cannot_be_are_refused(values, message):
    with pytest.raises(OptionError, match=message):
        with_values(branches(), values)


def test_other_formats_are_told():
    with pytest.raises(OptionError, match="TFLite"):
        with_values(b"....TFL3....", {"x": 1})
    with pytest.raises(OptionError, match="ONNX"):
        with_values(3, {"x": 1})


def test_values_of_models_of_the_first_format():
    model = branches()
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("wanted", TensorProto.INT64, []))
    bound, _ = with_values(model, {"sr": 16000, "gain": [0, 0, 0, 0]})
    assert [port.name for port in load(bound).inputs] == ["x"]


def test_a_table_is_cut_by_arithmetic_on_given_sizes():
    """Positions of 160 steps out of a table, whose size inference alone calls unknown."""
    model = load(dynamic.positions(), shapes={"x": (1, 160, 32)})
    assert [port.shape for port in (*model.inputs, *model.outputs)] == [(1, 160, 32)] * 2
