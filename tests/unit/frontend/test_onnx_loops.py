"""`Loop` and `ReverseSequence` written out, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

RNG = np.random.default_rng(23)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def running(*, by_condition):
    """s = tanh(s + x[i]), s collected: by the trip count, or while a counter is below a limit."""
    at = "counter" if by_condition else "i"
    nodes = [
        helper.make_node("Gather", ["x", at], ["slice"]),
        helper.make_node("Add", ["s", "slice"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"]),
        helper.make_node("Identity", ["next"], ["piece"]),
    ]
    entries = [info("i", INT64, []), info("going", BOOL, []), info("s", FLOAT, [3])]
    leaving = [info("more", BOOL, []), info("next", FLOAT, [3])]
    if by_condition:
        nodes += [
            helper.make_node("Add", ["counter", "one"], ["counted"]),
            helper.make_node("Less", ["counted", "limit"], ["more"]),
        ]
        entries.append(info("counter", INT64, []))
        leaving.append(info("counted", INT64, []))
    else:
        nodes.append(helper.make_node("Identity", ["going"], ["more"]))
    body = helper.make_graph(nodes, "body", entries, [*leaving, info("piece", FLOAT, [3])])
    names = ["", "begin", "s0", "from"] if by_condition else ["trips", "", "s0"]
    results = ["last", "end", "pieces"] if by_condition else ["last", "pieces"]
    return helper.make_node("Loop", names, results, body=body)


def model_of(tools, node, steps, **more):
    constants = {
        "trips": np.array(steps, np.int64),
        "one": np.array(1, np.int64),
        "limit": np.array(steps, np.int64),
        "from": np.array(0, np.int64),
        "begin": np.array(steps > 0),
    } | more
    feeds = {"x": RNG.standard_normal((6, 3)).astype(np.float32)}
    feeds["s0"] = RNG.standard_normal(3).astype(np.float32)
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    results = {"last": (np.float32, (3,)), "pieces": (np.float32, (steps, 3))}
    if "end" in node.output:
        results["end"] = (np.int64, ())
    kept = {n: v for n, v in constants.items() if n in _read(node)}
    return tools.build([node], ports, results, kept), feeds


def _read(node):
    inner = [name for n in node.attribute[0].g.node for name in n.input]
    return {*node.input, *inner}


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("by_condition", [False, True])
def test_loop(onnx_tools, by_condition, steps):
    node = running(by_condition=by_condition)
    model, feeds = model_of(onnx_tools, node, steps)
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = onnx_tools.run_tvm(load(model), feeds)
    for w, g in zip(want, got, strict=True):
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


def test_a_number_of_steps_that_is_not_known_is_refused(onnx_tools):
    node = running(by_condition=True)
    model, _ = model_of(onnx_tools, node, 3)
    del model.graph.initializer[[t.name for t in model.graph.initializer].index("limit")]
    model.graph.input.append(info("limit", INT64, []))
    with pytest.raises(UnsupportedOperatorError, match="not known at compile time"):
        load(model)


def test_a_loop_without_end_is_refused(onnx_tools):
    model, _ = model_of(onnx_tools, running(by_condition=True), 3, one=np.array(0, np.int64))
    with pytest.raises(UnsupportedOperatorError, match="more than"):
        load(model)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 1, 3)])
@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_reverse_sequence(onnx_tools, time, batch, lengths, known):
    shape = (5, 3, 2) if time == 0 else (3, 5, 2)
    feeds = {"x": RNG.standard_normal(shape).astype(np.float32)}
    constants = {}
    (constants if known else feeds)["lengths"] = np.array(lengths, np.int64)
    node = helper.make_node(
        "ReverseSequence", ["x", "lengths"], ["y"], time_axis=time, batch_axis=batch
    )
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    model = onnx_tools.build([node], ports, {"y": (np.float32, shape)}, constants)
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    np.testing.assert_array_equal(got[0], want[0])
