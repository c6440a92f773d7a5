"""Float operators in other words that modules know: the same results, in those operators."""

import numpy as np
import pytest
from onnx import helper

from match_aie import tvm_api
from match_aie.frontend import load, normalize

RNG = np.random.default_rng(29)


def operators(model):
    values = (value for _, value in tvm_api.bindings(model.module["main"]))
    return [tvm_api.operator_name(v) for v in values if isinstance(v, tvm_api.CallNode)]


def compared(tools, nodes, shape, constants):
    """Operators of the normalised model, which computes what onnxruntime does."""
    model = tools.build(
        nodes, {"x": (np.float32, shape)}, {"y": (np.float32, (None,) * len(shape))}, constants
    )
    feeds = {"x": RNG.standard_normal(shape).astype(np.float32)}
    (want,) = tools.run_onnxruntime(model, feeds)
    normal = normalize(load(model))
    (got,) = tools.run_tvm(normal, feeds)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    return operators(normal)


@pytest.mark.parametrize(
    ("kernel", "attributes"),
    [
        ((2, 2), {"strides": [2, 2]}),
        ((4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((3, 5), {"strides": [3, 2], "pads": [0, 2, 1, 1]}),
        ((3, 3), {"strides": [1, 1], "pads": [1, 1, 1, 1]}),
        ((1, 2), {"strides": [3, 4], "output_padding": [2, 3]}),
        ((7, 7), {"strides": [2, 2], "pads": [6, 6, 6, 6]}),
        ((5, 5), {"strides": [4, 4], "pads": [4, 4, 0, 0]}),
    ],
)
def test_a_transposed_convolution_is_a_convolution(onnx_tools, kernel, attributes):
    constants = {
        "w": RNG.standard_normal((3, 4, *kernel)).astype(np.float32),
        "b": RNG.standard_normal(4).astype(np.float32),
    }
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)
    found = compared(onnx_tools, [node], (2, 3, 6, 5), constants)
    assert "nn.conv2d" in found
    assert "nn.conv2d_transpose" not in found


@pytest.mark.parametrize("attributes", [{"group": 3}, {"dilations": [2, 1]}])
def test_other_transposed_convolutions_stay(onnx_tools, attributes):
    channels = 1 if "group" in attributes else 4
    constants = {"w": RNG.standard_normal((3, channels, 3, 3)).astype(np.float32)}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], **attributes)
    found = compared(onnx_tools, [node], (1, 3, 4, 5), constants)
    assert "nn.conv2d_transpose" in found


@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions_of_lines_are_ones_of_images(onnx_tools, groups):
    """Element-wise operators between them stay on the images; nothing is moved there and back."""
    constants = {
        "w": RNG.standard_normal((8, 4 // groups, 3)).astype(np.float32),
        "b": RNG.standard_normal(8).astype(np.float32),
        "v": RNG.standard_normal((4, 8, 2)).astype(np.float32),
        "m": RNG.standard_normal((8, 1)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=[2, 1], strides=[2], group=groups),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Mul", ["r", "m"], ["s"]),
        helper.make_node("Add", ["a", "s"], ["t"]),
        helper.make_node("MaxPool", ["t"], ["p"], kernel_shape=[2], strides=[2], pads=[0, 1]),
        helper.make_node("Conv", ["p", "v"], ["y"], dilations=[2]),
    ]
    found = compared(onnx_tools, nodes, (2, 4, 21), constants)
    assert found.count("nn.conv2d") == 2
    assert not {"nn.conv1d", "nn.max_pool1d"} & set(found)
    assert found.count("permute_dims") == 2  # of the input and the output


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 1, 1, 1), (1, 1, 4, 1)])
@pytest.mark.parametrize("operator", ["Mul", "Add"])
def test_what_makes_more_than_a_line_of_a_line_stays(onnx_tools, operator, shape):
    constants = {
        "w": RNG.standard_normal((4, 3, 3)).astype(np.float32),
        "k": RNG.standard_normal(shape).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node(operator, ["a", "k"], ["y"]),
    ]
    assert "nn.conv2d" in compared(onnx_tools, nodes, (1, 3, 9), constants)


ROOT = np.float32(np.sqrt(2 / np.pi))
GELUS = {
    "gpt2": [
        ("Pow", "x", "three", "cube"),
        ("Mul", "cube", "cubic", "scaled"),
        ("Add", "x", "scaled", "sum"),
        ("Mul", "sum", "root", "inner"),
        ("Tanh", "inner", "", "tanh"),
        ("Add", "tanh", "one", "total"),
        ("Mul", "x", "half", "small"),
        ("Mul", "small", "total", "y"),
    ],
    "fast": [  # x k (1 + c x x), the half last
        ("Mul", "x", "root", "kx"),
        ("Mul", "x", "cubic", "cx"),
        ("Mul", "cx", "x", "cxx"),
        ("Add", "cxx", "one", "sum"),
        ("Mul", "kx", "sum", "inner"),
        ("Tanh", "inner", "", "tanh"),
        ("Add", "one", "tanh", "total"),
        ("Mul", "total", "x", "twice"),
        ("Mul", "half", "twice", "y"),
    ],
}


def spelled(name, **changed):
    values = {"root": ROOT, "cubic": 0.044715, "one": 1.0, "half": 0.5, "three": 3.0} | changed
    nodes = [
        helper.make_node(kind, [a, b] if b else [a], [result]) for kind, a, b, result in GELUS[name]
    ]
    used = {name for node in nodes for name in node.input}
    return nodes, {n: np.float32(v) for n, v in values.items() if n in used}


@pytest.mark.parametrize("name", GELUS)
def test_gelu_by_tanh_is_one_operator(onnx_tools, name):
    found = compared(onnx_tools, spelled(name)[0], (2, 7), spelled(name)[1])
    assert [f for f in found if f not in ("reshape", "permute_dims")] == ["nn.gelu_tanh"]


@pytest.mark.parametrize("changed", [{"root": 0.7}, {"cubic": 0.05}, {"half": 0.4}, {"one": 1.1}])
def test_what_is_no_gelu_stays(onnx_tools, changed):
    nodes, constants = spelled("gpt2", **changed)
    assert "nn.gelu_tanh" not in compared(onnx_tools, nodes, (2, 7), constants)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_as_pytorch_exports_it_is_scaled_behind_its_product(onnx_tools, masked):
    root = np.float32(16**-0.25)
    flat, turned, scaled = ("k_flat", "k_turned", "k_scaled")
    nodes = [
        helper.make_node("Transpose", ["x"], ["heads"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["heads", "one batch"], [flat]),
        helper.make_node("Transpose", [flat], [turned], perm=[0, 2, 1]),
        helper.make_node("Reshape", [turned, "batches"], ["k"]),
        helper.make_node("Mul", ["heads", "root"], ["q_scaled"]),
        helper.make_node("Mul", ["root", "k"], [scaled]),
        helper.make_node("MatMul", ["q_scaled", scaled], ["s"]),
        *([helper.make_node("Add", ["s", "mask"], ["m"])] if masked else []),
        helper.make_node("Softmax", ["m" if masked else "s"], ["w"], axis=-1),
        helper.make_node("MatMul", ["w", "heads"], ["v"]),
        helper.make_node("Transpose", ["v"], ["y"], perm=[0, 2, 1, 3]),
    ]
    constants = {
        **{"one batch": np.array([-1, 6, 16]), "batches": np.array([2, 3, 16, 6]), "root": root},
        **({"mask": np.triu(np.full((6, 6), -1e9, np.float32), 1)} if masked else {}),
    }
    found = compared(onnx_tools, nodes, (2, 6, 3, 16), constants)
    after = found[found.index("matmul") :]
    assert after[:2] == ["matmul", "multiply"]
    assert found.count("multiply") == 1
    assert "reshape" not in found


@pytest.mark.parametrize("scaled", [False, True])
def test_keys_that_are_transposed_twice_are_transposed_once(onnx_tools, scaled):
    last = ["root", "k"] if scaled else ["k"]
    nodes = [
        helper.make_node("Transpose", ["x"], ["q"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["x"], ["heads"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["heads"], ["k"], perm=[0, 1, 3, 2]),
        helper.make_node("Mul" if scaled else "Identity", last, ["keys"]),
        helper.make_node("MatMul", ["q", "keys"], ["y"]),
    ]
    constants = {"root": np.float32(0.25)} if scaled else {}
    found = compared(onnx_tools, nodes, (2, 6, 3, 16), constants)
    assert found.count("permute_dims") == 2
    assert found.index("permute_dims") < found.index("matmul")


def test_an_operand_that_is_transposed_there_and_back_is_not(onnx_tools):
    nodes = [
        helper.make_node("Transpose", ["x"], ["there"], perm=[0, 2, 1]),
        helper.make_node("Transpose", ["there"], ["back"], perm=[0, 2, 1]),
        helper.make_node("Exp", ["x"], ["other"]),
        helper.make_node("MatMul", ["back", "other"], ["y"]),
    ]
    assert "permute_dims" not in compared(onnx_tools, nodes, (2, 4, 4), {})


def test_a_factor_for_each_matrix_stays_where_it_is(onnx_tools):
    nodes = [
        helper.make_node("Mul", ["x", "numbers"], ["a"]),
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["a", "t"], ["y"]),
    ]
    numbers = np.array([[[2]], [[3]]], np.float32)
    found = compared(onnx_tools, nodes, (2, 3, 4), {"numbers": numbers})
    assert found.index("multiply") < found.index("matmul")


def rms_nodes(form, axis=-1):
    """RMS norm as exporters spell it."""
    square = ("Pow", ["x", "two"]) if form[0] == "p" else ("Mul", ["x", "x"])
    nodes = [
        helper.make_node(*square, ["q"]),
        helper.make_node("ReduceMean", ["q"], ["m"], keepdims=1, axes=[axis]),
        helper.make_node("Add", ["m", "epsilon"], ["v"]),
        helper.make_node("Sqrt", ["v"], ["r"]),
    ]
    if form[1] == "d":
        nodes.append(helper.make_node("Div", ["x", "r"], ["n"]))
    else:
        inverse = ("Reciprocal", ["r"]) if form[1] == "r" else ("Div", ["one", "r"])
        nodes.append(helper.make_node(*inverse, ["i"]))
        nodes.append(helper.make_node("Mul", ["x", "i"] if form[1] == "r" else ["i", "x"], ["n"]))
    return [*nodes, helper.make_node("Mul", ["w", "n"] if form[0] == "p" else ["n", "w"], ["y"])]


def rms_constants():
    return {
        "two": np.float32(2),
        "one": np.float32(1),
        "epsilon": np.float32(1e-5),
        "w": RNG.standard_normal((1, 1, 9)).astype(np.float32),
    }


@pytest.mark.parametrize("form", ["pd", "pr", "md", "m1"])
def test_rms_norm_spelled_out_is_one_operator(onnx_tools, form):
    found = compared(onnx_tools, rms_nodes(form), (2, 3, 9), rms_constants())
    assert found == ["nn.rms_norm"]


@pytest.mark.parametrize("change", ["other axis", "other power", "no weight"])
def test_what_is_nearly_an_rms_norm_stays(onnx_tools, change):
    constants = rms_constants()
    nodes = rms_nodes("pd", axis=1 if change == "other axis" else -1)
    if change == "other power":
        constants["two"] = np.float32(4)
    elif change == "no weight":
        constants["w"] = np.float32(3)
    assert "nn.rms_norm" not in compared(onnx_tools, nodes, (2, 3, 9), constants)


@pytest.mark.parametrize("slopes", [[0.25], [0.25] * 3, [0.25, 0.5, 0.25]])
def test_a_prelu_of_one_slope_is_a_leaky_relu(onnx_tools, slopes):
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("PRelu", ["a", "s"], ["y"]),
    ]
    constants = {
        "w": RNG.standard_normal((3, 2, 3, 3)).astype(np.float32),
        "s": np.array(slopes, np.float32).reshape(-1, 1, 1),
    }
    found = compared(onnx_tools, nodes, (2, 2, 6, 5), constants)
    assert ("nn.leakyrelu" in found) == (len(set(slopes)) == 1)
