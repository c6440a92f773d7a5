"""Nodes that store rows in 8 bits as they come, beside numpy."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from match_aie.frontend.onnx_rewrite.codes import coded
from match_aie.frontend.onnx_rewrite.graph import Builder, Graph
from match_aie.workload import codes

ROWS = np.random.default_rng(8).standard_normal((50, 19)).astype(np.float32)
ROWS[3], ROWS[4], ROWS[5] = 0, np.abs(ROWS[4]), -np.abs(ROWS[5])


@pytest.mark.parametrize("how", codes.CODES)
def test_nodes_do_what_numpy_does(how):
    rows = ROWS[6:7] if how == "uint8" else ROWS  # that one has a scale for all rows
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, rows.shape)
    model = helper.make_model(
        helper.make_graph([], "codes", [x], []),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    b = Builder(Graph(model), "")
    result = coded(b, "x", how)
    model.graph.node.extend([*b.nodes, helper.make_node("Identity", [result], ["y"])])
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, rows.shape))
    (found,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": rows})
    np.testing.assert_allclose(found, codes.coded(rows, how), rtol=1e-6, atol=1e-7)
