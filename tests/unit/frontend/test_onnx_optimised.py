"""What ONNX Runtime's optimiser writes is taken apart, with onnxruntime's results."""

import numpy as np
import pytest
from onnx import helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

RNG = np.random.default_rng(23)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def compared(tools, op, feeds, outputs, shape, constants=None, opset=17, **attributes):
    """Both engines' results [shape]; the standard node behind each needs its type."""
    inner = [name and f"{name}_" for name in outputs]
    names = [*feeds, *(constants or {})]
    nodes = [helper.make_node(op, names, inner, domain="com.microsoft", **attributes)]
    asked = [name for name in outputs if name]
    nodes += [helper.make_node("Neg", [f"{name}_"], [name]) for name in asked]
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    results = {name: (np.float32, shape) for name in asked}
    model = tools.build(nodes, ports, results, constants, opset)
    want = tools.run_onnxruntime(model, feeds)
    for w, g in zip(want, tools.run_tvm(load(model), feeds), strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("op", "bias"),
    [("Gelu", False), ("BiasGelu", True), ("FastGelu", False), ("FastGelu", True),
     ("QuickGelu", False)],
)  # fmt: skip
def test_gelus(onnx_tools, op, bias):
    feeds = {"x": 3 * normal(2, 5, 7)} | ({"b": normal(7)} if bias else {})
    compared(onnx_tools, op, feeds, ("y",), (2, 5, 7))


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_matmul_with_a_factor(onnx_tools, first, second):
    a = normal(2, 5, 3) if first else normal(2, 3, 5)
    b = normal(4, 5) if second else normal(5, 4)
    turned = {"transA": first, "transB": second}
    feeds = {"a": a, "b": b}
    compared(onnx_tools, "FusedMatMul", feeds, ("y",), (2, 3, 4), alpha=0.3, **turned)


@pytest.mark.parametrize("opset", [14, 17, 18])
@pytest.mark.parametrize("more", [(), ("beta",), ("beta", "bias")])
def test_norm_of_a_sum(onnx_tools, opset, more):
    feeds = {"x": normal(1, 3, 6), "skip": normal(1, 3, 6)}
    constants = {name: normal(6) for name in ("gamma", *more)}
    names = ("y", "", "", "total") if more else ("y",)
    given = (feeds, names, (1, 3, 6), constants, opset)
    compared(onnx_tools, "SkipLayerNormalization", *given, epsilon=1e-5)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("more", [(), ("zero",), ("zero", "bias")])
def test_dynamically_quantised_product(onnx_tools, more, each):
    """`each`: with a scale for every column. Weights are small: see `test_integer_weights`."""
    columns = (4,) if each else (1,)
    constants = {
        "w": RNG.integers(-60, 60, (7, 4)).astype(np.int8),
        "scale": RNG.uniform(0.01, 0.02, columns).astype(np.float32),
        "zero": RNG.integers(-3, 3, columns).astype(np.int8),
        "bias": normal(4),
    }
    constants = {name: constants[name] for name in ("w", "scale", *more)}
    compared(onnx_tools, "DynamicQuantizeMatMul", {"x": normal(5, 7)}, ("y",), (5, 4), constants)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("kind", "given"),
    [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
     ("HardSigmoid", [0.3, 0.4]), ("", [])],
)  # fmt: skip
def test_convolution_with_an_activation(onnx_tools, kind, given, added):
    constants = {"w": normal(4, 3, 3, 3) / 3, "b": normal(4)}
    constants |= {"z": normal(1, 4, 5, 6)} if added else {}
    how = {"activation": kind, "activation_params": given} if kind else {}
    how = {name: value for name, value in how.items() if value}
    feeds = {"x": normal(1, 3, 5, 6)}
    given = (feeds, ("y",), (1, 4, 5, 6), constants)
    compared(onnx_tools, "FusedConv", *given, pads=[1, 1, 1, 1], **how)


@pytest.mark.parametrize(
    ("op", "attributes", "why"),
    [
        ("FusedMatMul", {"transBatchA": 1}, "not in front"),
        ("FusedConv", {"activation": "Softmax"}, "activation Softmax"),
    ],
)
def test_what_is_not_taken_apart_is_refused(onnx_tools, op, attributes, why):
    node = helper.make_node(op, ["a", "b"], ["y"], domain="com.microsoft", **attributes)
    ports = {name: (np.float32, (1, 2, 2, 2)) for name in "aby"}
    model = onnx_tools.build([node], {n: ports[n] for n in "ab"}, {"y": ports["y"]})
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(model)
