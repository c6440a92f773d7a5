"""`If` on a shape that is known only once other values are: the branch that is taken is."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.errors import UnsupportedOperatorError


def cut_where_long(tools, end):
    """A slice whose end is computed; it loses its first axis where that has one element."""
    nodes = [
        helper.make_node("Cast", ["end"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Slice", ["x", "zero", "whole", "zero"], ["part"]),
        helper.make_node("Shape", ["part"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["size"]),
        helper.make_node("Equal", ["size", "one"], ["single"]),
    ]
    yes, no = (
        helper.make_graph(
            [helper.make_node(kind, given, [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for kind, given, name in (
            ("Squeeze", ["part", "zero"], "short"),
            ("Identity", ["part"], "long"),
        )
    )
    nodes.append(
        helper.make_node("If", ["single"], ["y"], "choice", then_branch=yes, else_branch=no)
    )
    constants = {
        "end": np.array([end], np.float32),
        "zero": np.array([0], np.int64),
        "first": np.array(0, np.int64),
        "one": np.array(1, np.int64),
    }
    return tools.build(nodes, {"x": (np.float32, (3, 4))}, {"y": (np.float32, None)}, constants)


@pytest.mark.parametrize("end", [1.0, 2.0])
def test_the_branch_that_is_taken(onnx_tools, end):
    model = cut_where_long(onnx_tools, end)
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(3, 4)}
    rewritten = onnx_tools.prepass(model)
    assert not {"If", "Where"} & {node.op_type for node in rewritten.graph.node}
    want = onnx_tools.run_onnxruntime(model, feeds)
    np.testing.assert_array_equal(onnx_tools.run_onnxruntime(rewritten, feeds)[0], want[0])


def test_a_shape_that_stays_unknown_is_refused(onnx_tools):
    model = cut_where_long(onnx_tools, 1.0)
    given = helper.make_tensor_value_info("end", TensorProto.FLOAT, [1])
    model.graph.input.append(given)
    kept = [tensor for tensor in model.graph.initializer if tensor.name != "end"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    with pytest.raises(UnsupportedOperatorError, match="hangs on a shape"):
        onnx_tools.prepass(model)
