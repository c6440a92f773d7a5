"""Operators that the pre-pass writes out: the same numbers as ONNX's own evaluator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from match_aie.errors import UnsupportedOperatorError

F32, I64 = np.float32, np.int64
RNG = np.random.default_rng(7)
CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def normal(*shape):
    return RNG.standard_normal(shape).astype(F32)


def written_out(tools, node, feeds, outputs, constants=None, opset=22):
    """(what the evaluator computes from the node, from its rewriting, operators of the latter)."""
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    model = tools.build([node], ports, outputs, constants, opset)
    want = ReferenceEvaluator(model).run(None, feeds)
    rewritten = tools.prepass(model)
    got = ReferenceEvaluator(rewritten).run(None, feeds)
    return want, got, {n.op_type for n in rewritten.graph.node}


def same(want, got, **tolerance):
    for w, g in zip(want, got, strict=True):
        assert (np.asarray(w).dtype, np.shape(w)) == (g.dtype, g.shape)
        np.testing.assert_allclose(g, w, **(tolerance or {"rtol": 0, "atol": 0}))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(onnx_tools, axis):
    attributes = {} if axis is None else {"axis": axis}
    node = helper.make_node("Compress", ["x", "c"], ["y"], **attributes)
    constants = {"c": np.array([True, False, True])}
    want, got, ops = written_out(
        onnx_tools, node, {"x": normal(3, 4)}, {"y": (F32, None)}, constants
    )
    same(want, got)
    assert "Compress" not in ops


def test_compress_by_data_is_refused(onnx_tools):
    node = helper.make_node("Compress", ["x", "c"], ["y"])
    ports = {"x": (F32, [3]), "c": (bool, [3])}
    model = onnx_tools.build([node], ports, {"y": (F32, None)}, opset=22)
    with pytest.raises(UnsupportedOperatorError, match="depends on the data"):
        onnx_tools.prepass(model)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cum_prod(onnx_tools, exclusive, reverse):
    node = helper.make_node("CumProd", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)
    constants = {"a": np.int64(-1)}
    feeds = {"x": normal(2, 5)}
    model = onnx_tools.build(
        [node], {"x": (F32, [2, 5])}, {"y": (F32, [2, 5])}, constants, opset=26
    )
    want = ReferenceEvaluator(model).run(None, feeds)
    from match_aie.frontend import load

    same(want, onnx_tools.run_tvm(load(model), feeds), **CLOSE)


@settings(max_examples=12, deadline=None)
@given(
    size=st.integers(4, 6),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 2),
    dilation=st.integers(1, 2),
    pad=st.integers(0, 1),
)
def test_col2im(onnx_tools, size, kernel, stride, dilation, pad):
    places = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    attributes = {"strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [pad] * 4}
    node = helper.make_node("Col2Im", ["x", "i", "b"], ["y"], **attributes)
    constants = {"i": np.array([size, size]), "b": np.array([kernel, kernel])}
    feeds = {"x": normal(1, 2 * kernel**2, places**2)}
    want, got, ops = written_out(onnx_tools, node, feeds, {"y": (F32, None)}, constants)
    same(want, got, **CLOSE)
    assert "Col2Im" not in ops


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("pad", "stride", "dilation"), [(0, 2, 1), (1, 1, 1), (0, 1, 2)])
def test_indices_of_maxima(onnx_tools, order, pad, stride, dilation):
    node = helper.make_node(
        *("MaxPool", ["x"], ["y", "i"]),
        kernel_shape=[2, 3],
        strides=[stride] * 2,
        dilations=[dilation] * 2,
        pads=[pad] * 4,
        storage_order=order,
    )
    feeds = {"x": RNG.permutation(2 * 2 * 6 * 7).reshape(2, 2, 6, 7).astype(F32)}
    ports = {"x": (F32, [2, 2, 6, 7])}
    model = onnx_tools.build([node], ports, {"y": (F32, None), "i": (I64, None)}, opset=17)
    rewritten = onnx_tools.prepass(model)
    want = onnx_tools.run_onnxruntime(model, feeds)
    same(want, onnx_tools.run_onnxruntime(rewritten, feeds))
    assert "ArgMax" in {n.op_type for n in rewritten.graph.node}


@pytest.mark.parametrize("wanted", [None, [1, 2, 5, 6]])
def test_max_unpool(onnx_tools, wanted):
    maxima, places = normal(1, 2, 2, 2), np.array([[[[5, 7], [13, 15]], [[16, 18], [26, 31]]]])
    names = ["x", "i"] if wanted is None else ["x", "i", "s"]
    node = helper.make_node("MaxUnpool", names, ["y"], kernel_shape=[2, 2], strides=[2, 2])
    constants = {} if wanted is None else {"s": np.array(wanted)}
    feeds = {"x": maxima, "i": places}
    want, got, ops = written_out(onnx_tools, node, feeds, {"y": (F32, None)}, constants)
    same(want, got)
    assert "MaxUnpool" not in ops


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("starts", [[0, 1], [2, 3]])
def test_tensor_scatter(onnx_tools, mode, starts):
    if mode == "linear" and max(starts) > 2:
        starts = [2, 2]
    node = helper.make_node("TensorScatter", ["p", "u", "w"], ["y"], mode=mode)
    feeds = {"p": normal(2, 1, 4, 3), "u": normal(2, 1, 2, 3), "w": np.array(starts)}
    want, got, ops = written_out(onnx_tools, node, feeds, {"y": (F32, None)}, opset=24)
    same(want, got)
    assert "TensorScatter" not in ops


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
def test_deform_conv(onnx_tools, parts, groups):
    attributes = {"pads": [1, 0, 1, 0], "strides": [1, 2], "offset_group": parts, "group": groups}
    node = helper.make_node("DeformConv", ["x", "w", "o", "b", "m"], ["y"], **attributes)
    feeds = {
        "x": normal(2, 4, 5, 6),
        "o": normal(2, parts * 12, 6, 2),
        "m": normal(2, parts * 6, 6, 2),
    }
    constants = {"w": normal(2, 4 // groups, 2, 3), "b": normal(2)}
    want, got, ops = written_out(onnx_tools, node, feeds, {"y": (F32, None)}, constants)
    same(want, got, rtol=1e-4, atol=1e-5)
    assert "DeformConv" not in ops


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants(onnx_tools, size):
    node = helper.make_node("Det", ["x"], ["y"])
    feeds = {"x": normal(3, size, size)}
    want, got, ops = written_out(onnx_tools, node, feeds, {"y": (F32, [3])})
    same(want, got, **CLOSE)
    assert "Det" not in ops


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_floats_are_exact(onnx_tools, dtype, fmod):
    from match_aie.frontend import load

    node = helper.make_node("Mod", ["x", "y"], ["z"], fmod=fmod)
    x = np.array([1e4, -1e4, 5.3, -5.3, 7, -7, 0.1], dtype)
    y = np.array([0.3, 0.7, -2.1, 2.1, -7, 7, 0.1], dtype)
    ports = {"x": (dtype, [7]), "y": (dtype, [7])}
    model = onnx_tools.build([node], ports, {"z": (dtype, [7])}, opset=28 if not fmod else 13)
    rewritten = onnx_tools.prepass(model)
    want = (np.fmod if fmod else np.mod)(x, y)
    assert load(model).outputs[0].dtype == np.dtype(dtype).name
    assert {n.attribute[0].i for n in rewritten.graph.node if n.op_type == "Mod"} == {1}
    same([want], ReferenceEvaluator(rewritten).run(None, {"x": x, "y": y}))


@pytest.mark.parametrize("axes", [(2, 3), (3, 2)])
def test_regions_are_cropped_and_resized(onnx_tools, axes):
    node = helper.make_node(
        *("Resize", ["x", "r", "", "s"], ["y"]),
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        axes=axes,
        extrapolation_value=10.0,
    )
    constants = {"r": np.array([0.4, 0.6, 0.8, 1.2], F32), "s": np.array([3, 4])}
    want, got, ops = written_out(
        onnx_tools, node, {"x": normal(1, 1, 4, 5)}, {"y": (F32, None)}, constants
    )
    same(want, got, **CLOSE)
    assert "Resize" not in ops


def test_statistics_of_a_batch(onnx_tools):
    names = ["x", "scale", "bias", "mean", "variance"]
    node = helper.make_node(
        "BatchNormalization", names, ["y", "m", "v"], training_mode=1, momentum=0.7
    )
    feeds = {"x": normal(2, 3, 4), **{name: normal(3) for name in names[1:]}}
    outputs = dict.fromkeys("ymv", (F32, None))
    want, got, ops = written_out(onnx_tools, node, feeds, outputs)
    same(want, got, **CLOSE)
    assert "BatchNormalization" not in ops


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize(
    ("op", "states", "attributes"),
    [
        ("Adagrad", 1, {"norm_coefficient": 0.01, "decay_factor": 0.1}),
        ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.01}),
        ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "nesterov", "norm_coefficient": 0.0}),
        ("Adam", 2, {"norm_coefficient": 0.01, "norm_coefficient_post": 0.1}),
    ],
)
def test_steps_of_optimisers(onnx_tools, op, states, attributes, count):
    names = [f"{kind}{at}" for kind in "xgvh"[: 2 + states] for at in "ab"]
    outputs = [f"new_{name}" for name in names if name[0] != "g"]
    domain = "ai.onnx.preview.training"
    node = helper.make_node(op, ["r", "t", *names], outputs, domain=domain, **attributes)
    feeds = {name: np.abs(normal(3)) for name in names}
    feeds |= {"r": np.array(0.1, F32), "t": np.array(count)}
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    model = onnx_tools.build([node], ports, {name: (F32, [3]) for name in outputs}, opset=17)
    model.opset_import.append(helper.make_opsetid(domain, 1))
    rewritten = onnx_tools.prepass(model)
    want = ReferenceEvaluator(model).run(None, feeds)
    same([np.float32(w) for w in want], ReferenceEvaluator(rewritten).run(None, feeds), **CLOSE)
