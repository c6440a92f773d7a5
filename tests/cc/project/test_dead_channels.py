"""Weights whose scale is 0 in some channels, as quantisers write it where all weights are 0."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match

ort = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


def network(scales: np.ndarray, zeros: list[int]) -> onnx.ModelProto:
    """int8 x [2, 6] by int8 w [6, 4] with its parameters per column, plus a bias, to int8."""
    rng = np.random.default_rng(5)
    x_scale = np.float32(0.05)
    constants = {
        "xs": x_scale,
        "xz": np.int8(-7),
        "w": rng.integers(-128, 128, (6, 4)).astype(np.int8),
        "ws": scales,
        "wz": np.array(zeros, np.int8),
        "b": rng.integers(-900, 900, 4).astype(np.int32),
        "bs": (x_scale * scales).astype(np.float32),
        "bz": np.zeros(4, np.int32),
        "ys": np.float32(0.2),
        "yz": np.int8(3),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0),
        helper.make_node("MatMul", ["xd", "wd"], ["m"]),
        helper.make_node("Add", ["m", "bd"], ["a"]),
        helper.make_node("QuantizeLinear", ["a", "ys", "yz"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.INT8, (2, 6))],
        [helper.make_tensor_value_info("y", TensorProto.INT8, (2, 4))],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize("zeros", [[0, 5, 0, -3], [0, 0, 0, 0]])
@pytest.mark.parametrize("dead", [(1,), (0, 3), (0, 1, 2, 3)])
def test_they_are_zeros_as_in_onnxruntime(zeros, dead, tmp_path):
    scales = np.array([0.02, 0.01, 0.03, 0.04], np.float32)
    scales[list(dead)] = 0
    model = network(scales, zeros)
    net = match.compile(model, "CPU")
    if len(dead) < 4:
        assert [layer.workload.kind for layer in net.program.schedule.layers] == ["dense"]
    x = np.random.default_rng(1).integers(-128, 128, (2, 6)).astype(np.int8)
    result = net.write(tmp_path / "net").run(x, quick=True)
    assert result.mismatches == ()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    np.testing.assert_array_equal(result.outputs["y"], session.run(None, {"x": x})[0])
