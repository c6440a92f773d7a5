"""`Quant` nodes of QONNX: against their definition, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import match_aie
from match_aie.errors import UnsupportedOperatorError
from tests.networks.quant_nodes import DOMAIN, Nodes, perceptron, perceptron_by_hand

RNG = np.random.default_rng(0)
MODES = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "DOWN": np.trunc,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5)),
}


def defined(x, scale, zero, bits, signed, narrow, mode):
    """What QONNX says: in float32, clipped before it is rounded."""
    scale = np.asarray(scale, np.float32)
    steps = (x / scale + np.float32(zero)).astype(np.float32)
    if bits == 1 and signed:
        whole = np.where(steps >= 0, np.float32(1), np.float32(-1))
    else:
        low = -(1 << bits - 1) + narrow if signed else 0
        high = (1 << bits - 1) - 1 if signed else (1 << bits) - 1 - narrow
        whole = MODES[mode](np.clip(steps, np.float32(low), np.float32(high)))
    return ((whole - np.float32(zero)) * scale).astype(np.float32)


def expanded(tools, model):
    """After the pre-pass, with names that onnxruntime takes: none."""
    made = tools.prepass(model)
    for node in made.graph.node:
        node.ClearField("name")
    return made


def values(scale):
    """Normal values, and halves of steps."""
    x = RNG.standard_normal((3, 8)).astype(np.float32) * 4
    x[0] = (np.arange(8) - 4) * np.float32(scale) / 2
    return x


@settings(max_examples=40, deadline=None)
@given(
    scale=st.sampled_from([2.0**-4, 2.0**-2, 0.1, 0.037]),
    zero=st.sampled_from([0, 0, 0, 2, -2, 1, -3]),
    bits=st.integers(1, 16),
    signed=st.integers(0, 1),
    narrow=st.integers(0, 1),
    mode=st.sampled_from(sorted(MODES)),
)
def test_activations(onnx_tools, scale, zero, bits, signed, narrow, mode):
    if bits == 1:
        zero, narrow = 0, 0
    n = Nodes()
    y = n.quant("x", scale, bits, zero, signed=signed, narrow=narrow, rounding_mode=mode)
    made = expanded(onnx_tools, n.model("one", (3, 8), y, (3, 8)))
    assert {node.domain for node in made.graph.node} <= {""}
    x = values(scale)
    (got,) = onnx_tools.run_onnxruntime(made, {"x": x})
    assert np.array_equal(got, defined(x, scale, zero, bits, signed, narrow, mode))


def test_bytes_whose_halves_go_to_even_are_integers(onnx_tools):
    def operators(zero=0, bits=8, **how):
        n = Nodes()
        y = n.quant("x", 0.1, bits, zero, **how)
        made = expanded(onnx_tools, n.model("one", (3, 8), y, (3, 8)))
        return [node.op_type for node in made.graph.node]

    whole = ["QuantizeLinear", "DequantizeLinear"]
    assert operators() == operators(signed=0) == operators(zero=4) == whole
    assert operators(bits=4, narrow=1) == ["QuantizeLinear", "Clip", "DequantizeLinear"]
    assert "QuantizeLinear" not in operators(zero=1)
    assert "QuantizeLinear" not in operators(bits=12)
    assert "QuantizeLinear" not in operators(rounding_mode="FLOOR")


@pytest.mark.parametrize("bits", [2, 6, 8, 16, 32])
@pytest.mark.parametrize("shape", [(), (5, 1, 1), (1, 4, 1)])
def test_weights_are_integers_where_they_are_used(onnx_tools, bits, shape):
    """Scales along one axis, too."""
    n, w = Nodes(), RNG.standard_normal((5, 4, 3)).astype(np.float32)
    scale = np.asarray(2.0 ** RNG.integers(-12, -3, shape), np.float32)
    quantised = n.quant(n.constant(w), scale, bits, narrow=1)
    y = n.add("Add", n.add("Mul", "x", n.constant(0.0)), quantised)
    made = expanded(onnx_tools, n.model("one", (5, 4, 3), y, (5, 4, 3)))
    assert "DequantizeLinear" in {node.op_type for node in made.graph.node}
    (got,) = onnx_tools.run_onnxruntime(made, {"x": np.zeros((5, 4, 3), np.float32)})
    assert np.array_equal(got, defined(w, scale, 0, bits, 1, 1, "ROUND"))


def test_bipolar_values(onnx_tools):
    n, x = Nodes(), values(1.0)
    y = n.add("BipolarQuant", "x", n.constant(0.5), domain=DOMAIN)
    w = n.add("BipolarQuant", n.constant(x), n.constant(0.25), domain=DOMAIN)
    made = expanded(onnx_tools, n.model("one", (3, 8), n.add("Add", y, w), (3, 8)))
    (got,) = onnx_tools.run_onnxruntime(made, {"x": x})
    assert np.array_equal(got, np.where(x >= 0, 0.75, -0.75).astype(np.float32))


@pytest.mark.parametrize("bits", [3, 4, 6, 8])
def test_a_network_of_powers_of_two_is_exact(bits, tmp_path):
    """In integers throughout: the library's bytes are those of exact sums."""
    compiled = match_aie.compile(perceptron(bits), "CPU")
    kinds = [layer.workload.kind for layer in compiled.program.schedule.layers]
    assert kinds == ["quantize", "dense", "dense", "dequantize"]
    assert not compiled.program.schedule.functions
    x = RNG.standard_normal((4, 16)).astype(np.float32)
    result = compiled.write(tmp_path / "net").run(x, quick=True)
    assert result.matches_reference
    (got,) = result.outputs.values()
    assert np.array_equal(got, perceptron_by_hand(bits, x))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"bits": 40}, "40 bits"),
        ({"bits": 3.5}, "not whole"),
        ({"bits": 4, "zero": 0.5}, "not whole"),
        ({"bits": 4, "rounding_mode": "STOCHASTIC"}, "rounding mode STOCHASTIC"),
    ],
)
def test_what_is_no_grid_is_refused(how, says):
    n = Nodes()
    y = n.quant("x", 0.1, **how)
    with pytest.raises(UnsupportedOperatorError, match=says):
        match_aie.compile(n.model("one", (3, 8), y, (3, 8)), "CPU")
