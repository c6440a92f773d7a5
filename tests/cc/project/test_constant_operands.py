"""Layers of two tensors of which the model knows one, a quantised initializer."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
SCALE = np.float32(0.03125)


def network(operator: str, shape, known: np.ndarray, constant_first: bool) -> onnx.ModelProto:
    """uint8 x (zero point 100) and int8 `known` (zero point -3), to int8 (zero point 5)."""
    pair = ["kd", "xd"] if constant_first else ["xd", "kd"]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["k", "s", "kz"], ["kd"]),
        helper.make_node(operator, pair, ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "yz"], ["y"]),
    ]
    constants = {
        "s": SCALE,
        "xz": np.uint8(100),
        "kz": np.int8(-3),
        "yz": np.int8(5),
        "k": known,
    }
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT8, shape)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize("constant_first", [False, True])
@pytest.mark.parametrize(
    ("operator", "shape", "known"),
    [
        ("Add", (2, 3, 4), (3, 1)),
        ("Mul", (2, 3, 4), (1, 4)),
        ("Mul", (1, 3, 5, 5), (1, 3, 1, 1)),
        ("Add", (5,), (5,)),
        ("MatMul", (2, 4, 4), (2, 4, 4)),
        ("MatMul", (4, 4), (4, 4)),
    ],
)
def test_it_computes_what_the_model_means(operator, shape, known, constant_first, tmp_path):
    rng = np.random.default_rng(3)
    weight = rng.integers(-128, 128, known).astype(np.int8)
    x = rng.integers(0, 256, shape).astype(np.uint8)
    net = match.compile(network(operator, shape, weight, constant_first), "CPU")
    right_matrix = operator == "MatMul" and len(shape) == 2 and not constant_first
    assert net.program.schedule.layers[0].workload.kind == (
        "dense" if right_matrix else operator.lower()
    )
    result = net.write(tmp_path / "net").run(x, quick=True)
    assert result.mismatches == ()
    pair = [(x.astype(np.int64) - 100), (weight.astype(np.int64) + 3)]
    a, b = pair[::-1] if constant_first else pair
    # Exact: sums and products of multiples of 2**-5 are exact in float32 here.
    steps = {"Add": lambda: a + b, "Mul": lambda: a * b / 32, "MatMul": lambda: a @ b / 32}
    expected = np.clip(np.rint(steps[operator]()) + 5, -128, 127).astype(np.int8)
    assert np.array_equal(result.outputs["y"], expected)
