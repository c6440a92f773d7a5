"""Operators on 16-bit floats are computed in 32 bits, as ONNX Runtime computes them."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie import tvm_api
from match_aie.frontend import load, normalize
from tests.networks.pieces import halves
from tests.unit.frontend.test_normalize import model_of, operators, run

runtime = pytest.importorskip("onnxruntime")
HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


def wanted(model, x):
    """Of onnxruntime without optimisation."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def types(model):
    """Element types of all results but those of casts."""
    return {
        str(var.ty.dtype)
        for var, value in tvm_api.bindings(model.module["main"])
        if tvm_api.operator_name(value) not in ("", None, "astype") and tvm_api.is_tensor(var)
    }


def block():
    """A row of attention: 16-bit floats in and out, three parts of a product, softmax, a norm."""
    rng = np.random.default_rng(3)
    known = {
        "w": (rng.standard_normal((16, 48)) / 4).astype(np.float16),
        "scale": np.array(0.25, np.float16),
        "sizes": np.array([16, 16, 16], np.int64),
        "gain": np.ones(16, np.float16),
        "zero": np.zeros(16, np.float16),
    }
    make = helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["p"]),
        make("Split", ["p", "sizes"], ["q", "k", "v"], axis=2),
        make("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        make("MatMul", ["q", "t"], ["s"]),
        make("Mul", ["s", "scale"], ["m"]),
        make("Softmax", ["m"], ["a"], axis=-1),
        make("MatMul", ["a", "v"], ["o"]),
        make("Add", ["o", "x"], ["r"]),
        make("LayerNormalization", ["r", "gain", "zero"], ["y"], axis=-1),
    ]
    return model_of(nodes, [("x", HALF, (1, 12, 16))], [("y", HALF, 3)], known)


def test_a_block_is_computed_in_32_bits():
    model, rng = block(), np.random.default_rng(4)
    normalised = normalize(load(model))
    assert types(normalised) == {"float32"}
    assert operators(normalised).count("astype") == 2
    x = rng.standard_normal((1, 12, 16)).astype(np.float16)
    (got,) = run(normalised, x)
    assert got.dtype == np.float16
    # onnxruntime rounds what Split and Transpose move; its results are that far from ours.
    np.testing.assert_allclose(got, wanted(model, x), rtol=0, atol=4e-3)


def test_roundings_between_layers_are_dropped():
    """Also that of a cast in front of them, as onnxruntime does."""
    model, rng = halves(), np.random.default_rng(5)
    normalised = normalize(load(model))
    assert types(normalised) == {"float32"}
    x = rng.standard_normal((8, 64)).astype(np.float32)
    (got,) = run(normalised, x)
    np.testing.assert_allclose(got, wanted(model, x), rtol=0, atol=1e-6)


def test_casts_to_what_a_tensor_is_already_change_nothing():
    make = helper.make_node
    nodes = [
        make("Mul", ["x", "x"], ["a"]),
        make("Cast", ["a"], ["b"], to=HALF),
        make("Mul", ["b", "x"], ["y"]),
    ]
    model = model_of(nodes, [("x", HALF, (3, 4))], [("y", HALF, 2)], {})
    x = np.random.default_rng(7).standard_normal((3, 4)).astype(np.float16)
    (got,) = run(normalize(load(model)), x)
    np.testing.assert_array_equal(got, (x.astype(np.float64) ** 3).astype(np.float16))


@pytest.mark.parametrize("moves", ["Transpose", "Concat", ""])
def test_a_rounding_that_nothing_computes_behind_stays(moves):
    make = helper.make_node
    nodes = [make("Cast", ["x"], ["a"], to=HALF)]
    nodes += [make("Transpose", ["a"], ["b"])] if moves == "Transpose" else []
    nodes += [make("Concat", ["a", "a"], ["b"], axis=0)] if moves == "Concat" else []
    nodes.append(make("Cast", ["b" if moves else "a"], ["y"], to=SINGLE))
    model = model_of(nodes, [("x", SINGLE, (3, 4))], [("y", SINGLE, 2)], {})
    x = np.random.default_rng(6).standard_normal((3, 4)).astype(np.float32)
    (got,) = run(normalize(load(model)), x)
    np.testing.assert_array_equal(got, wanted(model, x))
    assert not np.array_equal(np.sort(got[:3].ravel())[:3], np.sort(x.ravel())[:3])


def test_what_a_module_of_tvm_says_stays():
    normalised = normalize(load(load(block()).module))
    assert "float16" in types(normalised)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize(
    "op", ["HardSigmoid", "LeakyRelu", "Elu", "Selu", "ThresholdedRelu", "Shrink"]
)
def test_activations_of_halves_in_every_version(op, opset):
    """ONNX has bodies of these from version 18 on, some only for other types."""
    model = model_of(
        [helper.make_node(op, ["x"], ["y"])], [("x", HALF, (4, 9))], [("y", HALF, 2)], {}
    )
    model.opset_import[0].version = opset
    x = np.random.default_rng(6).standard_normal((4, 9)).astype(np.float16)
    (got,) = run(normalize(load(model)), x)
    np.testing.assert_allclose(got, wanted(model, x), rtol=0, atol=1e-3)
