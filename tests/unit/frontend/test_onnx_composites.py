"""RNN, GRU, LSTM and Attention: bodies against onnxruntime, and how they look in the module."""

import json

import numpy as np
import onnx.reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
F32 = np.float32


def weights(rng, *shape):
    return (rng.standard_normal(shape) * 0.4).astype(F32)


def recurrent(tools, op, sizes, *, parts=(), direction="forward", layout=0, **attributes):
    """(model, feeds) of one operator; `parts` names the optional inputs that are there."""
    steps, rows, inputs, hidden = sizes
    count = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(sum(sizes))
    x = weights(rng, *((rows, steps) if layout else (steps, rows)), inputs)
    state = (rows, count) if layout else (count, rows)
    width = GATES[op] * hidden
    optional = {
        "b": weights(rng, count, 2 * width),
        "lengths": np.full(rows, steps, np.int32),
        "h0": weights(rng, *state, hidden),
        "c0": weights(rng, *state, hidden),
        "p": weights(rng, count, 3 * hidden),
    }
    constants = {"w": weights(rng, count, width, inputs), "r": weights(rng, count, width, hidden)}
    slots = list(optional) if op == "LSTM" else list(optional)[:3]
    constants |= {name: optional[name] for name in slots if name in parts and name != "h0"}
    feeds = {"x": x, **({"h0": optional["h0"]} if "h0" in parts else {})}
    names = ["x", "w", "r", *(name if name in parts else "" for name in slots)]
    results = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(
        op, names, results, "cell", hidden_size=hidden, direction=direction, **attributes
    )
    if layout:
        node.attribute.append(helper.make_attribute("layout", 1))
    outputs = {name: (F32, [None] * (4 if name == "y" else 3)) for name in results}
    ports = {name: (F32, value.shape) for name, value in feeds.items()}
    return tools.build([node], ports, outputs, constants), feeds


def body_results(tools, model, feeds):
    """What the body of the only node computes, in onnxruntime."""
    from match_aie.frontend.onnx_composites import arguments, body_model
    from match_aie.frontend.onnx_rewrite.graph import Graph, Node
    from match_aie.frontend.onnx_shapes import infer_shapes

    graph = Graph(infer_shapes(model))
    node = Node(model.graph.node[0], graph.opset)
    body = body_model(node, graph)
    assert node.op not in {n.op_type for n in body.graph.node}
    values = {name: feeds.get(name, graph.constant(name)) for name in arguments(node, graph)}
    inner = [value.name for value in body.graph.input]
    return tools.run_onnxruntime(body, dict(zip(inner, values.values(), strict=True)))


@settings(max_examples=25, deadline=None)
@given(
    op=st.sampled_from(["RNN", "GRU", "LSTM"]),
    sizes=st.tuples(*[st.integers(1, 4)] * 4),
    direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
    parts=st.sets(st.sampled_from(["b", "lengths", "h0", "c0", "p"])),
    reset=st.integers(0, 1),
)
def test_recurrent_bodies(onnx_tools, op, sizes, direction, parts, reset):
    more = {"linear_before_reset": reset} if op == "GRU" else {}
    model, feeds = recurrent(onnx_tools, op, sizes, parts=parts, direction=direction, **more)
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = body_results(onnx_tools, model, feeds)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


#: Gates of each kind with parameters: lists hold values of those activations that take one.
OWN = [
    ("RNN", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]}),
    ("RNN", {"activations": ["ScaledTanh"], "activation_alpha": [0.5], "activation_beta": [0.7]}),
    ("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.3]}),
    ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.3], "clip": 0.2}),
    ("GRU", {"activations": ["HardSigmoid", "Softplus"]}),
    ("GRU", {"activations": ["hardsigmoid", "tanh"], "clip": 0.3, "linear_before_reset": 1}),
    ("LSTM", {"activations": ["Sigmoid", "HardSigmoid", "Elu"], "activation_alpha": [0.3, 0.6]}),
    ("LSTM", {"clip": 0.3}),
    ("LSTM", {"clip": 0.3, "input_forget": 1}),
]


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("op", "attributes"), OWN)
def test_activations_with_parameters_clips_and_coupled_gates(onnx_tools, op, attributes, direction):
    given = dict(attributes)
    if direction == "bidirectional":
        for name in ("activations", "activation_alpha", "activation_beta"):
            given |= {name: given[name] * 2} if name in given else {}
    parts = {"b", "h0", "p"}
    model, feeds = recurrent(
        onnx_tools, op, (4, 2, 3, 5), parts=parts, direction=direction, **given
    )
    want = onnx_tools.run_onnxruntime(model, feeds)
    for got in (
        body_results(onnx_tools, model, feeds),
        onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds),
    ):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_rows_first_is_steps_first_transposed(onnx_tools, op):
    model, feeds = recurrent(onnx_tools, op, (3, 2, 4, 5), parts={"b", "h0"})
    first, _ = recurrent(onnx_tools, op, (3, 2, 4, 5), parts={"b", "h0"}, layout=1)
    turned = {name: np.ascontiguousarray(v.swapaxes(0, 1)) for name, v in feeds.items()}
    for name in ("w", "r", "b"):
        stored = {t.name: t for t in model.graph.initializer}
        target = next(t for t in first.graph.initializer if t.name == name)
        target.CopyFrom(stored[name])
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = body_results(onnx_tools, first, turned)
    np.testing.assert_allclose(got[0], want[0].transpose(2, 0, 1, 3), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], want[1].swapaxes(0, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["GRU", "LSTM"])
def test_a_composite_in_the_module(onnx_tools, op):
    model, feeds = recurrent(onnx_tools, op, (3, 2, 4, 5), parts={"b", "h0", "lengths"})
    loaded = load(model)
    private = [f for v, f in loaded.module.functions.items() if v.name_hint != "main"]
    assert [str(f.attrs["Composite"]) for f in private] == [f"onnx.{op}"]
    assert json.loads(str(private[0].attrs["onnx_inputs"])) == [0, 1, 2, 3, 5]
    assert json.loads(str(private[0].attrs["onnx_attributes"]))["hidden_size"] == 5
    assert "cell" in loaded.labels.values()
    want = onnx_tools.run_onnxruntime(model, feeds)
    for got, expected in zip(onnx_tools.run_tvm(loaded, feeds), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_an_lstm_of_states_and_last_cell_has_one_result(onnx_tools):
    """A state that goes in as cell, too, is one parameter."""
    model, feeds = recurrent(onnx_tools, "LSTM", (3, 2, 4, 5), parts={"b", "h0", "c0"})
    node = model.graph.node[0]
    node.output[1] = ""
    node.input[6] = node.input[5]
    del model.graph.output[1]
    feeds = {name: value for name, value in feeds.items() if name in ("x", node.input[5])}
    kept = [port for port in model.graph.input if port.name in feeds]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    loaded = load(model)
    (private,) = (f for v, f in loaded.module.functions.items() if v.name_hint != "main")
    assert json.loads(str(private.attrs["onnx_joined"])) is True
    assert json.loads(str(private.attrs["onnx_repeated"])) == {"6": 5}
    assert [int(size) for size in private.ret_ty.shape] == [4, 1, 2, 5]
    want = onnx_tools.run_onnxruntime(model, feeds)
    for got, expected in zip(onnx_tools.run_tvm(loaded, feeds), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_equal_composites_share_a_function(onnx_tools):
    model, _ = recurrent(onnx_tools, "GRU", (3, 1, 4, 4), parts={"b"})
    first = model.graph.node[0]
    del first.output[1:]
    del model.graph.output[1:]
    squeeze = helper.make_node("Squeeze", ["y", "axes"], ["x2"])
    second = helper.make_node("GRU", ["x2", "w", "r", "b"], ["z"], hidden_size=4)
    model.graph.node.extend([squeeze, second])
    model.graph.initializer.append(helper.make_tensor("axes", 7, [1], [1]))
    model.graph.output[0].name = "z"
    loaded = load(model)
    assert len(loaded.module.functions) == 2


@pytest.mark.parametrize(
    ("op", "attributes", "why"),
    [
        ("RNN", {"activations": ["Swish"]}, "Swish"),
        ("RNN", {"activations": ["Affine"]}, "Affine without its parameters"),
        ("RNN", {"activations": ["Relu"], "activation_alpha": [0.5]}, "more parameters"),
    ],
)
def test_recurrent_forms_that_are_refused(onnx_tools, op, attributes, why):
    model, _ = recurrent(onnx_tools, op, (2, 1, 3, 3), **attributes)
    with pytest.raises(UnsupportedOperatorError, match=why) as caught:
        load(model)
    assert caught.value.operators[0][:2] == (op, "cell")


def test_rows_first_that_end_early_are_refused(onnx_tools):
    model, _ = recurrent(onnx_tools, "LSTM", (3, 2, 3, 3), parts={"lengths"}, layout=1)
    lengths = next(t for t in model.graph.initializer if t.name == "lengths")
    lengths.CopyFrom(helper.make_tensor("lengths", 6, [2], [3, 2]))
    with pytest.raises(UnsupportedOperatorError, match="end early"):
        load(model)


def attention(tools, shapes, opset, mask=None, outputs=1, **attributes):
    """(model, feeds) of an Attention node."""
    rng = np.random.default_rng(3)
    feeds = {name: weights(rng, *shape) for name, shape in zip("qkv", shapes, strict=True)}
    if mask is not None:
        feeds["m"] = mask
    names = list(feeds)
    results = ["y", "pk", "pv", "qk"][:outputs]
    node = helper.make_node("Attention", names, results, "attend", **attributes)
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    rank = len(shapes[0])
    return tools.build([node], ports, {"y": (F32, [None] * rank)}, opset=opset), feeds


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [
        (((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8)), {}),
        (((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 10)), {"scale": 0.3}),
        (((2, 4, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8)), {"is_causal": 1}),
        (((2, 5, 24), (2, 5, 24), (2, 5, 24)), {"q_num_heads": 3, "kv_num_heads": 3}),
        (((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8)), {"softcap": 2.0}),
    ],
)
def test_attention(onnx_tools, opset, shapes, attributes):
    model, feeds = attention(onnx_tools, shapes, opset, **attributes)
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    (body,) = body_results(onnx_tools, model, feeds)
    np.testing.assert_allclose(body, want, rtol=1e-5, atol=1e-6)


def test_attention_with_a_mask_runs_in_the_module(onnx_tools):
    mask = np.where(np.tri(4, 6, dtype=bool), 0, -10).astype(F32)
    shapes = ((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8))
    model, feeds = attention(onnx_tools, shapes, 23, mask)
    loaded = load(model)
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    (got,) = onnx_tools.run_tvm(loaded, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    private = [f for v, f in loaded.module.functions.items() if v.name_hint != "main"]
    assert [str(f.attrs["Composite"]) for f in private] == ["onnx.Attention"]


def test_a_body_may_bring_tensor_functions(onnx_tools):
    """A mask shorter than the keys is padded, which TVM imports as a function of its own."""
    mask = np.zeros((4, 3), F32)
    shapes = ((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8))
    model, feeds = attention(onnx_tools, shapes, 24, mask)
    reference = onnx.reference.ReferenceEvaluator(model)
    (got,) = onnx_tools.run_tvm(load(model), feeds)
    np.testing.assert_allclose(got, reference.run(None, feeds)[0], rtol=1e-5, atol=1e-6)
