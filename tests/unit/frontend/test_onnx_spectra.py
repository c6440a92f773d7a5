"""Fourier transforms written out as products and convolutions, against onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.frontend.onnx_rewrite.spectra import fourier

RNG = np.random.default_rng(3)


def test_the_table_is_the_transform():
    x = RNG.standard_normal(12)
    table = fourier(12, 12, 7)
    pairs = np.tensordot(x, table, 1)
    np.testing.assert_allclose(pairs[:, 0] + 1j * pairs[:, 1], np.fft.rfft(x), atol=1e-12)


@pytest.mark.parametrize("length", [None, 5, 12])
@pytest.mark.parametrize(
    ("shape", "axis", "attributes"),
    [
        ((2, 8, 1), 1, {}),
        ((2, 8, 1), 1, {"onesided": 1}),
        ((1, 3, 8, 2), 2, {}),
        ((2, 8, 3, 2), 1, {"inverse": 1}),
    ],
)
@pytest.mark.parametrize("opset", [17, 20])
def test_dft(onnx_tools, opset, shape, axis, attributes, length):
    constants = {} if length is None else {"length": np.int64(length)}
    names = ["x"] if length is None else ["x", "length"]
    if opset >= 20:
        constants["axis"] = np.int64(axis)
        names = [*names, *[""] * (2 - len(names)), "axis"]
    else:
        attributes = {**attributes, "axis": axis}
    node = helper.make_node("DFT", names, ["y"], **attributes)
    x = RNG.standard_normal(shape).astype(np.float32)
    model = onnx_tools.build(
        [node], {"x": (np.float32, shape)}, {"y": (np.float32, None)}, constants, opset
    )
    (want,) = onnx_tools.run_onnxruntime(model, {"x": x})
    rewritten = onnx_tools.prepass(model)
    assert "DFT" not in {n.op_type for n in rewritten.graph.node}
    (got,) = onnx_tools.run_onnxruntime(rewritten, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("given", ["window", "length", "both"])
def test_stft(onnx_tools, rank, given):
    window = np.hanning(16).astype(np.float32)
    constants = {"step": np.int64(6)}
    if given != "length":
        constants["window"] = window
    if given != "window":
        constants["length"] = np.int64(16)
    names = ["x", "step", *(name if name in constants else "" for name in ("window", "length"))]
    node = helper.make_node("STFT", names, ["z"])
    shape = (2, 50, 1)[:rank]
    x = RNG.standard_normal(shape).astype(np.float32)
    nodes = [node, helper.make_node("ReduceSumSquare", ["z"], ["y"], axes=[-1], keepdims=0)]
    model = onnx_tools.build(
        nodes, {"x": (np.float32, shape)}, {"y": (np.float32, (2, 6, 9))}, constants
    )
    loaded = load(model)
    assert loaded.outputs[0].shape == (2, 6, 9)
    (want,) = onnx_tools.run_onnxruntime(model, {"x": x})
    (got,) = onnx_tools.run_tvm(loaded, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_names_are_not_taken_twice(onnx_tools):
    constants = {"stft1/table": np.int64(6), "w": np.ones(16, np.float32)}
    nodes = [
        helper.make_node("Neg", ["x"], ["stft1/signal"]),
        helper.make_node("STFT", ["stft1/signal", "stft1/table", "w"], ["z"]),
        helper.make_node("ReduceSumSquare", ["z"], ["y"], axes=[-1], keepdims=0),
    ]
    ports = {"x": (np.float32, (1, 50))}
    model = onnx_tools.build(nodes, ports, {"y": (np.float32, (1, 6, 9))}, constants)
    assert load(model).outputs[0].shape == (1, 6, 9)


@pytest.mark.parametrize(
    ("shape", "length"), [((8,), None), ((2, 8, 1), [3, 4]), ((2, 8, 3), None), ((2, 8, 1), [0])]
)
def test_transforms_of_nothing_are_refused(onnx_tools, shape, length):
    constants = {} if length is None else {"length": np.array(length)}
    node = helper.make_node("DFT", ["x", *constants], ["y"])
    model = onnx_tools.build(
        [node], {"x": (np.float32, shape)}, {"y": (np.float32, (2, 8, 2))}, constants
    )
    with pytest.raises(ModelError):
        load(model)


def test_a_long_transform_is_refused(onnx_tools):
    node = helper.make_node("DFT", ["x"], ["y"])
    shape = (1, 1 << 14, 1)
    result = {"y": (np.float32, (*shape[:2], 2))}
    model = onnx_tools.build([node], {"x": (np.float32, shape)}, result)
    with pytest.raises(UnsupportedOperatorError, match="too long"):
        load(model)
