"""`Scan` written out, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.errors import LimitError, ModelError, UnsupportedOperatorError
from match_aie.frontend import load

RNG = np.random.default_rng(1)


def running(steps, **attributes):
    """s = tanh(s + u * gain); every step gives s and s * 2. `gain` lies outside of the body."""
    nodes = [
        helper.make_node("Mul", ["u", "gain"], ["scaled"]),
        helper.make_node("Add", ["s", "scaled"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"]),
        helper.make_node("Add", ["next", "next"], ["twice"]),
        helper.make_node("Identity", ["next"], ["piece"]),
    ]
    ports = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
        for name in ("s", "u", "next", "piece", "twice")
    }
    results = [ports[name] for name in ("next", "piece", "twice")]
    body = helper.make_graph(nodes, "body", [ports["s"], ports["u"]], results)
    names = ["last", "pieces", "doubles"]
    node = helper.make_node("Scan", ["s0", "x"], names, num_scan_inputs=1, body=body, **attributes)
    shape = (3, steps) if attributes.get("scan_input_axes") else (steps, 3)
    return node, {"s0": (3,), "x": shape}


def model_of(tools, node, shapes, steps):
    ports = {name: (np.float32, shape) for name, shape in shapes.items()}
    axes = next((a.ints for a in node.attribute if a.name == "scan_output_axes"), [0, 0])
    sizes = [(3, steps) if axis == 1 else (steps, 3) for axis in axes]
    results = {"last": (np.float32, (3,))}
    results |= {n: (np.float32, s) for n, s in zip(("pieces", "doubles"), sizes, strict=True)}
    return tools.build([node], ports, results, {"gain": np.float32(0.5)})


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [1]},
        {"scan_input_axes": [1], "scan_output_axes": [1, -2], "scan_output_directions": [0, 1]},
    ],
)
@pytest.mark.parametrize("steps", [1, 4])
def test_scan(onnx_tools, steps, attributes):
    node, shapes = running(steps, **attributes)
    model = model_of(onnx_tools, node, shapes, steps)
    feeds = {n: RNG.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = onnx_tools.run_tvm(load(model), feeds)
    for w, g in zip(want, got, strict=True):
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


def test_what_a_body_holds_is_kept_once(onnx_tools):
    node, shapes = running(6)
    body = node.attribute[[a.name for a in node.attribute].index("body")].g
    body.initializer.append(numpy_helper.from_array(np.float32(0.5), "gain"))
    model = model_of(onnx_tools, node, shapes, 6)
    del model.graph.initializer[:]
    rewritten = onnx_tools.prepass(model)
    assert len([t for t in rewritten.graph.initializer if t.data_type == TensorProto.FLOAT]) == 1
    feeds = {n: RNG.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    want = onnx_tools.run_onnxruntime(model, feeds)
    for w, g in zip(want, onnx_tools.run_onnxruntime(rewritten, feeds), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


def test_a_body_that_does_not_fit_is_refused(onnx_tools):
    node, shapes = running(2, scan_input_directions=[0, 1])
    with pytest.raises(ModelError):
        load(model_of(onnx_tools, node, shapes, 2))


def test_too_many_steps_are_refused(onnx_tools):
    node, shapes = running(100_000)
    with pytest.raises((UnsupportedOperatorError, LimitError), match="steps"):
        load(model_of(onnx_tools, node, shapes, 100_000))
