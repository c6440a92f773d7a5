"""Models in versions of ONNX's operators before 13, against onnxruntime, which reads them all."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.frontend import load, normalize
from tests.unit.frontend.test_normalize import run

runtime = pytest.importorskip("onnxruntime")


def same_as_runtime(nodes, opset, shape, known=()):
    """Compare a graph of `nodes` from x to y with onnxruntime without optimisations."""
    stored = [numpy_helper.from_array(value, name) for name, value in dict(known).items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], stored),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = np.random.default_rng(opset).standard_normal(shape).astype(np.float32)
    session = runtime.InferenceSession(model.SerializeToString(), options)
    (want,) = session.run(None, {"x": data})
    (got,) = run(normalize(load(model)), data)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("opset", "scales"),
    [(7, (2, 3)), (9, (3, 2)), (10, (2, 3)), (10, (0.5, 0.25)), (10, (0.25, 2)), (10, (3, 0.5))],
)
def test_resizes_before_their_coordinates_had_names(opset, mode, scales):
    """Upsample and Resize-10: x / scale, nearest before it where an axis grows, else after it."""
    by = np.array([1, 1, *scales], np.float32)
    if opset == 7:
        node = helper.make_node("Upsample", ["x"], ["y"], mode=mode, scales=by.tolist())
    else:
        kind = "Upsample" if opset == 9 else "Resize"
        node = helper.make_node(kind, ["x", "by"], ["y"], mode=mode)
    same_as_runtime([node], opset, (1, 3, 8, 12), {} if opset == 7 else {"by": by})


@pytest.mark.parametrize(("opset", "axis"), [(7, None), (9, 0), (11, 1), (11, -1)])
@pytest.mark.parametrize("kind", ["Hardmax", "Softmax"])
def test_axes_from_one_on_were_one_axis(kind, opset, axis):
    node = helper.make_node(kind, ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    same_as_runtime([node], opset, (2, 3, 4))


def test_a_resize_whose_scales_are_computed():
    """As exporters wrote it: scales of the shape, after a first layer."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Concat", ["one", "by"], ["scales"], axis=0),
        helper.make_node("Resize", ["a", "scales"], ["y"], mode="linear"),
    ]
    known = {"one": np.ones(2, np.float32), "by": np.array([2, 1.5], np.float32)}
    same_as_runtime(nodes, 10, (1, 2, 4, 6), known)


def test_axes_were_one_in_branches_too():
    """Bodies of If are graphs of their own."""
    hard = helper.make_node("Hardmax", ["x"], ["best"], axis=1)
    body = helper.make_graph(
        [hard], "b", [], [helper.make_tensor_value_info("best", TensorProto.FLOAT, (2, 3, 4))]
    )
    node = helper.make_node("If", ["always"], ["y"], then_branch=body, else_branch=body)
    same_as_runtime([node], 11, (2, 3, 4), {"always": np.array(True)})


@pytest.mark.parametrize("bounds", [{"min": -0.5}, {"max": 0.25}, {"min": -0.5, "max": 0.25}, {}])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_bounds_of_a_clip_have_its_type(bounds, dtype):
    """They were attributes, which ONNX's converter writes as float32."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ports = [helper.make_tensor_value_info(name, kind, (2, 3)) for name in "xy"]
    node = helper.make_node("Clip", ["x"], ["y"], **bounds)
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
    data = np.linspace(-1, 1, 6).astype(dtype).reshape(2, 3)
    (got,) = run(normalize(load(model)), data)
    wanted = np.clip(data, bounds.get("min", -np.inf), bounds.get("max", np.inf)).astype(dtype)
    np.testing.assert_array_equal(got, wanted)


def test_slopes_counted_the_channels():
    """Before version 7; onnxruntime has no such PRelu. Channels are as many as columns here."""
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (2, 4, 3, 4)) for n in "xy"]
    slope = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    held = helper.make_tensor_value_info("s", TensorProto.FLOAT, (4,))
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    stored = [numpy_helper.from_array(slope, "s")]
    graph = helper.make_graph([node], "g", [ports[0], held], ports[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3)
    data = np.random.default_rng(6).standard_normal((2, 4, 3, 4)).astype(np.float32)
    (got,) = run(normalize(load(model)), data)
    by_channel = data * slope[:, None, None]
    np.testing.assert_array_equal(got, np.where(data < 0, by_channel, data))
