"""Forests of decision trees as C, beside onnxruntime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import match_aie as match


def classifier(rows, columns, trees, depth):
    """Scaled columns, whole trees of three classes, seeded."""
    rng = np.random.default_rng(4)
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    ids = [(tree, node) for tree in range(trees) for node in range(nodes)]
    leaves = [(tree, node, k) for tree, node in ids if node >= inner for k in range(3)]
    whole = {
        "nodes_treeids": [tree for tree, _ in ids],
        "nodes_nodeids": [node for _, node in ids],
        "nodes_modes": ["BRANCH_LEQ" if node < inner else "LEAF" for _, node in ids],
        "nodes_featureids": [int(rng.integers(columns)) for _ in ids],
        "nodes_values": [float(rng.normal()) for _ in ids],
        "nodes_truenodeids": [2 * node + 1 if node < inner else 0 for _, node in ids],
        "nodes_falsenodeids": [2 * node + 2 if node < inner else 0 for _, node in ids],
        "class_treeids": [tree for tree, _, _ in leaves],
        "class_nodeids": [node for _, node, _ in leaves],
        "class_ids": [k for _, _, k in leaves],
        "class_weights": [float(rng.uniform()) for _ in leaves],
        "classlabels_int64s": [3, 5, 8],
        "post_transform": "SOFTMAX",
    }
    scaled = {
        name: [float(rng.uniform(0.5, 2)) for _ in range(columns)] for name in ("offset", "scale")
    }
    domain = "ai.onnx.ml"
    graph = helper.make_graph(
        [
            helper.make_node("Scaler", ["x"], ["s"], domain=domain, **scaled),
            helper.make_node(
                "TreeEnsembleClassifier", ["s"], ["label", "y"], domain=domain, **whole
            ),
        ],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, columns])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [rows]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 3]),
        ],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_forest_equals_onnxruntime(tmp_path):
    ort = pytest.importorskip("onnxruntime")
    model = classifier(rows=7, columns=5, trees=9, depth=4)
    onnx.checker.check_model(model)
    x = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    label, scores = session.run(None, {"x": x})
    project = match.compile(model, "CPU", cache=False).write(tmp_path / "net")
    got = project.run({"x": x}, quick=True).outputs
    np.testing.assert_array_equal(got["label"], label)
    np.testing.assert_allclose(got["y"], scores, rtol=1e-5)
    assert len(set(label.tolist())) > 1
