"""Models that the fuzzer found, cut down to a few nodes."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.fuzzing.judge import judge
from tests.fuzzing.quantised_networks import quantised_network
from tests.fuzzing.reduce import tidy

pytest.importorskip("onnxruntime")


def made(nodes, inputs, outputs, constants):
    """A model of (operator, inputs, output, attributes) and float inputs and outputs by shape."""
    graph = helper.make_graph(
        [helper.make_node(op, i, o.split(), **attributes) for op, i, o, attributes in nodes],
        "net",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    found = tidy(model)
    assert found is not None
    return found


def test_a_loop_whose_extent_depends_on_another_one():
    """A block moved into a dilated convolution's loops has one: TypeError at the extent."""
    rng = np.random.default_rng(0)
    window = {"dilations": [2], "group": 2, "kernel_shape": [2], "pads": [1, 1], "strides": [1]}
    model = made(
        [
            ("Transpose", ["x"], "t", {"perm": [0, 2, 1]}),
            ("MatMul", ["x", "t"], "m", {}),
            ("Mul", ["m", "small"], "a", {}),
            ("Abs", ["a"], "b", {}),
            ("Add", ["b", "some"], "c", {}),
            ("Sqrt", ["c"], "d", {}),
            ("Abs", ["d"], "e", {}),
            ("Add", ["e", "some"], "f", {}),
            ("Sqrt", ["f"], "g", {}),
            ("Conv", ["g", "w", "bias"], "h", window),
            ("Relu", ["h"], "y", {}),
        ],
        {"x": (33, 4, 17)},
        {"y": (33, 34, 4)},
        {
            "small": np.float32(0.045),
            "some": np.float32(0.3),
            "w": rng.standard_normal((34, 2, 2)).astype(np.float32),
            "bias": rng.standard_normal(34).astype(np.float32),
        },
    )
    assert judge(model, "CPU").status == "passed"


def test_a_workspace_that_nothing_reads():
    """TopK along an axis of one element: an unused parameter, which no compiler let pass."""
    model = made(
        [("TopK", ["x", "k"], "y places", {"axis": 0})],
        {"x": (1, 30, 16)},
        {"y": (1, 30, 16)},
        {"k": np.array([1], np.int64)},
    )
    assert judge(model, "CPU").status == "passed"


@pytest.mark.parametrize("target", ["GAP9", "VersalAIEML"])
def test_constants_as_operands(target, quick):
    """Seeds that gave wrong sums on GAP9 and a ValueError on VersalAIEML."""
    seed = {"GAP9": 8, "VersalAIEML": 4}[target]
    assert judge(quantised_network(seed), target, seed, compiler=quick).status == "passed"


@pytest.mark.parametrize("operator", ["Where", "Div"])
def test_a_constant_of_more_axes_than_the_image_it_meets(operator):
    """The image was computed channels last, and what it broadcasts with was not: a ValueError."""
    operands = {"Where": ["chosen", "p", "five"], "Div": ["p", "five"]}[operator]
    model = made(
        [
            ("MaxPool", ["x"], "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            ("Greater", ["p", "zero"], "chosen", {}),
            (operator, operands, "y", {}),
        ],
        {"x": (4, 3, 6, 4)},
        {"y": (3, 4, 3, 3, 2)},
        {
            "zero": np.float32(0),
            "five": np.arange(1, 19, dtype=np.float32).reshape(3, 1, 1, 3, 2),
        },
    )
    assert judge(model, "CPU").status == "passed"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("left", [(33, 16), (2, 5, 16)])
def test_a_product_with_a_vector(left, known):
    """The vector was taken for a square matrix, whose constant did not fit: a TargetError."""
    vector = np.linspace(-1, 1, 16).astype(np.float32)
    model = made(
        [("MatMul", ["x", "v"], "m", {}), ("Sub", ["m", "one"], "y", {})],
        {"x": left, **({} if known else {"v": (16,)})},
        {"y": left[:-1]},
        {"one": np.float32(1), **({"v": vector} if known else {})},
    )
    assert judge(model, "CPU").status == "passed"
