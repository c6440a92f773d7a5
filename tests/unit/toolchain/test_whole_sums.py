"""Models as onnxruntime is given them for comparison: weights that no kernel adds up in 16 bits."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.toolchain.whole_sums import whole_sums

runtime = pytest.importorskip("onnxruntime")

X = np.full((1, 4), 255, np.uint8)
#: Pairs of products are 64,770, which 16 bits do not hold.
WEIGHTS = np.full((4, 2), 127, np.int8)


def written(path, nodes, dtype, more, last=TensorProto.UINT8):
    """A model of a uint8 or int8 input `x` in a file."""
    constants = {"w": WEIGHTS} | more
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", dtype, X.shape)],
        [helper.make_tensor_value_info("y", last, None)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path


def dense(zero):
    """A quantised product, and what it needs."""
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    scales = {"xs": np.float32(1), "ws": np.float32(1), "ys": np.float32(1024)}
    zeros = {"xz": np.array(0, zero), "wz": np.int8(-2), "yz": np.array(3, zero)}
    return [helper.make_node("QLinearMatMul", names, ["y"])], scales | zeros


def test_weights_and_zero_points_are_higher_and_sums_exact(tmp_path) -> None:
    nodes, more = dense(np.uint8)
    model = whole_sums(written(tmp_path / "m.onnx", nodes, TensorProto.UINT8, more))
    assert model is not None
    read = onnx.load_from_string(model)
    known = {t.name: numpy_helper.to_array(t) for t in read.graph.initializer}
    (node,) = read.graph.node
    np.testing.assert_array_equal(known[node.input[3]], np.full((4, 2), 255, np.uint8))
    assert known[node.input[5]] == 126
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (y,) = runtime.InferenceSession(model, options).run(None, {"x": X})
    np.testing.assert_array_equal(y, [[round(4 * 255 * 129 / 1024) + 3] * 2])


def test_a_zero_point_that_is_not_written_is_128(tmp_path) -> None:
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"])]
    path = written(tmp_path / "m.onnx", nodes, TensorProto.UINT8, {}, TensorProto.INT32)
    model = whole_sums(path)
    assert model is not None
    (y,) = runtime.InferenceSession(model).run(None, {"x": X})
    np.testing.assert_array_equal(y, [[4 * 255 * 127] * 2])


def test_other_models_stay(tmp_path) -> None:
    nodes, more = dense(np.int8)
    assert whole_sums(written(tmp_path / "s.onnx", nodes, TensorProto.INT8, more)) is None
    plain = [helper.make_node("Identity", ["x"], ["y"])]
    assert whole_sums(written(tmp_path / "p.onnx", plain, TensorProto.UINT8, {})) is None


def test_a_model_of_two_files_and_what_is_no_model_stay(tmp_path) -> None:
    nodes, more = dense(np.uint8)
    path = written(tmp_path / "m.onnx", nodes, TensorProto.UINT8, more)
    assert whole_sums(path) is not None
    model = onnx.load(path)
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert whole_sums(path) is None
    path.write_bytes(b"no model")
    assert whole_sums(path) is None
