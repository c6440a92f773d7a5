"""Every form of GRU and LSTM becomes plain layers, with onnxruntime's results."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.frontend import load

RNG = np.random.default_rng(19)
STEPS, ROWS, INPUTS, HIDDEN = 4, 2, 3, 5
GATES = {"GRU": 3, "LSTM": 4}


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def layer(tools, op, direction, outputs, *, steps=STEPS, states=(), layout=0, **attributes):
    """A model, what to feed; `states`: position -> "zero", "given" or "input"."""
    count = 2 if direction == "bidirectional" else 1
    gates = GATES[op] * HIDDEN
    constants = {
        "w": normal(count, gates, INPUTS),
        "r": normal(count, gates, HIDDEN),
        "b": normal(count, 2 * gates),
    }
    feeds = {"x": normal(steps, ROWS, INPUTS)}
    names = ["x", "w", "r", "b", "", "", ""]
    for at, kind in dict(states).items():
        names[at] = f"s{at}"
        value = normal(count, ROWS, HIDDEN)
        (feeds if kind == "input" else constants)[names[at]] = value * (kind != "zero")
    if layout:
        feeds = {name: np.ascontiguousarray(v.swapaxes(0, 1)) for name, v in feeds.items()}
    names = names[: 6 if op == "GRU" else 7]
    node = helper.make_node(
        *(op, names, outputs), hidden_size=HIDDEN, direction=direction, layout=layout, **attributes
    )
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    results = {name: (np.float32, None) for name in outputs if name}
    return tools.build([node], ports, results, constants), feeds


def same(tools, model, want, feeds):
    rewritten = tools.prepass(model)
    for w, g in zip(want, tools.run_onnxruntime(rewritten, feeds), strict=True):
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
    return [node for node in rewritten.graph.node if node.op_type in GATES]


@pytest.mark.parametrize("outputs", [["y"], ["y", "last"], ["", "last"]])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_directions_and_last_states(onnx_tools, op, direction, outputs):
    reset = {"linear_before_reset": int(direction != "reverse")} if op == "GRU" else {}
    states = {5: "zero"} if op == "GRU" else {5: "zero", 6: "zero"}
    model, feeds = layer(onnx_tools, op, direction, outputs, states=states, **reset)
    want = onnx_tools.run_onnxruntime(model, feeds)
    left = same(onnx_tools, model, want, feeds)
    assert len(left) == (2 if direction == "bidirectional" else 1)
    for node in left:
        assert (len(node.output), len(node.input)) == (1, 4)
        assert [a.i for a in node.attribute if a.name == "linear_before_reset"] == [*reset.values()]
        assert not {a.name for a in node.attribute} & {"direction", "layout"}


def test_a_state_that_goes_in_stays_an_input(onnx_tools):
    reset = {"linear_before_reset": 1}
    model, feeds = layer(
        onnx_tools, "GRU", "bidirectional", ["y", "last"], states={5: "input"}, **reset
    )
    left = same(onnx_tools, model, onnx_tools.run_onnxruntime(model, feeds), feeds)
    assert [len(node.input) for node in left] == [6, 6]


@pytest.mark.parametrize("outputs", [["y", "h", "c"], ["", "", "c"], ["y"], ["", "h"]])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_cells_go_in_and_out(onnx_tools, direction, outputs):
    states = {5: "given", 6: "input"}
    model, feeds = layer(onnx_tools, "LSTM", direction, outputs, steps=2, states=states)
    left = same(onnx_tools, model, onnx_tools.run_onnxruntime(model, feeds), feeds)
    assert len(left) == (2 if direction == "bidirectional" else 1)
    left_of = {
        ("y", "h", "c"): [True, False, True],
        ("", "", "c"): [False, False, True],
        ("y",): [True],
        ("", "h"): [True],
    }
    for node in left:
        assert len(node.input) == 7
        assert [bool(name) for name in node.output] == left_of[tuple(outputs)]


def test_activations_that_are_the_usual_ones_are_none_of_its_own(onnx_tools):
    model, feeds = layer(
        onnx_tools, "LSTM", "forward", ["y"], activations=["sigmoid", "Tanh", "Tanh"]
    )
    (left,) = same(onnx_tools, model, onnx_tools.run_onnxruntime(model, feeds), feeds)
    assert [a.name for a in left.attribute] == ["hidden_size"]


def test_rows_first(onnx_tools):
    """onnxruntime does not run this layout: the other one's results, turned."""
    model, feeds = layer(onnx_tools, "LSTM", "bidirectional", ["y", "last"], layout=1)
    other = type(model)()
    other.CopyFrom(model)
    kept = [a for a in model.graph.node[0].attribute if a.name != "layout"]
    del other.graph.node[0].attribute[:]
    other.graph.node[0].attribute.extend(kept)
    turned = {"x": np.ascontiguousarray(feeds["x"].swapaxes(0, 1))}
    other.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, list(turned["x"].shape)))
    y, last = onnx_tools.run_onnxruntime(other, turned)
    want = [y.transpose(2, 0, 1, 3), last.transpose(1, 0, 2)]
    assert len(same(onnx_tools, model, want, feeds)) == 2


@pytest.mark.parametrize("attributes", [{"activations": ["Sigmoid", "Relu", "Tanh"] * 2}])
def test_what_plain_layers_cannot_say_stays(onnx_tools, attributes):
    model, feeds = layer(onnx_tools, "LSTM", "bidirectional", ["y"], **attributes)
    left = same(onnx_tools, model, onnx_tools.run_onnxruntime(model, feeds), feeds)
    assert [a.s for a in left[0].attribute if a.name == "direction"] == [b"bidirectional"]


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_integer_weights(onnx_tools, direction, each):
    """ONNX Runtime's dynamically quantised LSTM; a step's rounding may fall to the other side.

    Weights are small: on x86 processors without 8-bit dot products it adds pairs of products in
    16 bits, where 2 * 255 * 64 and more would saturate.

    `each`: with a scale for every gate's unit, and peepholes.
    """
    count, gates = (2 if direction == "bidirectional" else 1), 4 * HIDDEN
    scales = (count, gates) if each else (count,)
    integers = lambda *shape: RNG.integers(-60, 60, shape).astype(np.int8)  # noqa: E731
    zeros = np.zeros((count, 1, HIDDEN), np.float32)
    constants = {
        "w": integers(count, INPUTS, gates),
        "r": integers(count, HIDDEN, gates),
        "b": normal(count, 2 * gates),
        "h": zeros,
        "c": zeros,
        "ws": RNG.uniform(0.005, 0.02, scales).astype(np.float32),
        "wz": np.zeros(scales, np.int8),
        "rs": RNG.uniform(0.01, 0.03, scales).astype(np.float32),
        "rz": np.zeros(scales, np.int8),
    }
    if each:
        constants["p"] = normal(count, 3 * HIDDEN)
    names = ["x", "w", "r", "b", "", "h", "c", "p" if each else "", "ws", "wz", "rs", "rz"]
    node = helper.make_node(
        *("DynamicQuantizeLSTM", names, ["y", "last", "cell"]),
        domain="com.microsoft",
        hidden_size=HIDDEN,
        direction=direction,
    )
    feeds = {"x": normal(STEPS, 1, INPUTS)}
    state = (np.float32, (count, 1, HIDDEN))
    results = {"y": (np.float32, (STEPS, count, 1, HIDDEN)), "last": state, "cell": state}
    model = onnx_tools.build([node], {"x": (np.float32, feeds["x"].shape)}, results, constants)
    want = onnx_tools.run_onnxruntime(model, feeds)
    loaded = load(model)
    functions = [f for v, f in loaded.module.functions.items() if v.name_hint != "main"]
    told = [json.loads(str(f.attrs["onnx_attributes"])) for f in functions]
    for name in ("state_codes", "input_codes"):
        assert [each[name] for each in told] == ["uint8"] * len(told)
    for w, g in zip(want, onnx_tools.run_tvm(loaded, feeds), strict=True):
        np.testing.assert_allclose(g, w, atol=2e-3)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_integer_weights_of_a_sequence_that_ends_early(onnx_tools, direction):
    """What lies behind its end has no part in the scale of its input, however large."""
    gates = 4 * HIDDEN
    constants = {
        "w": RNG.integers(-60, 60, (1, INPUTS, gates)).astype(np.int8),
        "r": RNG.integers(-60, 60, (1, HIDDEN, gates)).astype(np.int8),
        "b": normal(1, 2 * gates),
        "length": np.array([STEPS - 2], np.int32),
        "ws": np.array([0.01], np.float32),
        "wz": np.zeros(1, np.int8),
    }
    names = ["x", "w", "r", "b", "length", "", "", "", "ws", "wz", "ws", "wz"]
    node = helper.make_node(
        *("DynamicQuantizeLSTM", names, ["y", "last", "cell"]),
        domain="com.microsoft",
        hidden_size=HIDDEN,
        direction=direction,
    )
    x = normal(STEPS, 1, INPUTS)
    x[STEPS - 2 :] *= 1000
    state = (np.float32, (1, 1, HIDDEN))
    results = {"y": (np.float32, (STEPS, 1, 1, HIDDEN)), "last": state, "cell": state}
    model = onnx_tools.build([node], {"x": (np.float32, x.shape)}, results, constants)
    want = onnx_tools.run_onnxruntime(model, {"x": x})
    for w, g in zip(want, onnx_tools.run_tvm(load(model), {"x": x}), strict=True):
        np.testing.assert_allclose(g, w, atol=2e-3)


@pytest.mark.parametrize("op", ["RNN", *GATES])
def test_16_bit_floats(onnx_tools, op):
    """Computed in 32 bits between the casts, as onnxruntime does it: the same bits."""
    gates = {"RNN": 1, **GATES}[op] * HIDDEN
    half = lambda *shape: (normal(*shape) / 2).astype(np.float16)  # noqa: E731
    constants = {"w": half(1, gates, INPUTS), "r": half(1, gates, HIDDEN), "b": half(1, 2 * gates)}
    feeds = {"x": half(STEPS, ROWS, INPUTS)}
    node = helper.make_node(op, ["x", "w", "r", "b"], ["y", "last"], hidden_size=HIDDEN)
    ports = {"x": (np.float16, feeds["x"].shape)}
    results = {"y": (np.float16, None), "last": (np.float16, None)}
    model = onnx_tools.build([node], ports, results, constants)
    want = onnx_tools.run_onnxruntime(model, feeds)
    rewritten = onnx_tools.prepass(model)
    (layer,) = [node for node in rewritten.graph.node if node.op_type == op]
    stored = {tensor.name: tensor.data_type for tensor in rewritten.graph.initializer}
    assert {stored[name] for name in layer.input[1:] if name} == {TensorProto.FLOAT}
    for w, g in zip(want, onnx_tools.run_onnxruntime(rewritten, feeds), strict=True):
        assert w.dtype == g.dtype == np.float16
        np.testing.assert_array_equal(g, w)
