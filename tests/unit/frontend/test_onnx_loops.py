"""`Loop` and `ReverseSequence` written out, against onnxruntime."""

import numpy as np
import onnx
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


#: Largest integer, which exporters write where a condition alone ends a loop.
ENDLESS = np.iinfo(np.int64).max


def decoding(*, counted, begins):
    """Tokens until one is 0: the largest of table[token], written to its place of `held`.

    States are a token [1], what is held [9], and a counter where `counted` is below 7.
    """
    nodes = [
        helper.make_node("Gather", ["table", "token"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["next"], axis=1, keepdims=0),
        helper.make_node("Unsqueeze", ["i", "origin"], ["where"]),
        helper.make_node("ScatterElements", ["held", "where", "next"], ["written"]),
        helper.make_node("Equal", ["next", "end"], ["ended"]),
        helper.make_node("Not", ["ended"], ["open"]),
        helper.make_node("Squeeze", ["open", "origin"], ["going on"]),
    ]
    entries = [info("i", INT64, []), info("going", BOOL, []), info("token", INT64, [1])]
    entries.append(info("held", INT64, [9]))
    leaving = [info("next", INT64, [1]), info("written", INT64, [9])]
    more = "going on"
    if counted:
        nodes += [
            helper.make_node("Add", ["counter", "one"], ["counted"]),
            helper.make_node("Less", ["counted", "seven"], ["below"]),
            helper.make_node("And", ["going on", "below"], ["more"]),
        ]
        entries.append(info("counter", INT64, []))
        leaving.append(info("counted", INT64, []))
        more = "more"
    body = helper.make_graph(nodes, "body", entries, [info(more, BOOL, []), *leaving])
    names = ["trips", "begin" if begins else "", "token0", "held0"]
    results = ["last", "all"]
    if counted:
        names, results = [*names, "zero"], [*results, "count"]
    return helper.make_node("Loop", names, results, body=body)


@pytest.mark.parametrize(
    ("trips", "counted", "begin"),
    [
        (6, False, None),
        (ENDLESS, True, True),
        (3, True, None),
        ("given", True, False),
        ("given", True, None),
    ],
)
def test_a_condition_of_run_time_ends_a_bounded_loop(onnx_tools, trips, counted, begin):
    node = decoding(counted=counted, begins=begin is not None)
    after = np.array([4, 0, 5, 1, 3, 2])  # 1, 4, 3 reach each other, 2 and 5 too; 1 ends at 0
    table = np.eye(6, dtype=np.float32)[after] + RNG.random((6, 6)).astype(np.float32) / 4
    constants = {"origin": np.array([0]), "end": np.array([0]), "table": table}
    constants |= {"one": np.array(1), "seven": np.array(7), "zero": np.array(0)}
    feeds = {"token0": np.array([0]), "held0": np.arange(10, 19)}
    feeds |= {} if begin is None else {"begin": np.array(begin)}
    given = trips == "given"
    (feeds if given else constants)["trips"] = np.array(5 if given else trips, np.int64)
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    results = {"last": (np.int64, (1,)), "all": (np.int64, (9,))}
    results |= {"count": (np.int64, ())} if counted else {}
    kept = {name: value for name, value in constants.items() if name in _read(node)}
    model = onnx_tools.build([node], ports, results, kept)
    loaded, ends = load(model), set()
    for token in (3, 2):  # ends after two steps, and never
        feeds["token0"] = np.array([token])
        want = onnx_tools.run_onnxruntime(model, feeds)
        for w, g in zip(want, onnx_tools.run_tvm(loaded, feeds), strict=True):
            assert w.shape == g.shape
            np.testing.assert_array_equal(g, w)
        ends.add(tuple(want[1]))
    assert len(ends) == (1 if begin is False else 2)


def test_a_loop_that_collects_until_run_time_is_refused(onnx_tools):
    model, _ = model_of(onnx_tools, running(by_condition=True), 3)
    del model.graph.initializer[[t.name for t in model.graph.initializer].index("limit")]
    model.graph.input.append(info("limit", INT64, []))
    node = model.graph.node[0]
    node.input[0] = "trips"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(4), "trips"))
    with pytest.raises(UnsupportedOperatorError, match="what it collects is as long as it runs"):
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
