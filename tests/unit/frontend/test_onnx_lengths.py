"""Recurrent layers whose sequences end at different steps, against onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

RNG = np.random.default_rng(9)
STEPS, ROWS, INPUTS, HIDDEN = 5, 4, 3, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer(tools, op, direction, lengths, known, outputs, **attributes):
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    constants = {
        "w": RNG.standard_normal((directions, rows, INPUTS)).astype(np.float32),
        "r": RNG.standard_normal((directions, rows, HIDDEN)).astype(np.float32),
        "h": RNG.standard_normal((directions, ROWS, HIDDEN)).astype(np.float32),
    }
    feeds = {"x": RNG.standard_normal((STEPS, ROWS, INPUTS)).astype(np.float32)}
    (constants if known else feeds)["lengths"] = np.array(lengths, np.int32)
    names = ["x", "w", "r", "", "lengths", "h", *["h"] * (len(outputs) > 2)]
    node = helper.make_node(
        op, names, outputs, hidden_size=HIDDEN, direction=direction, **attributes
    )
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    results = {name: (np.float32, None) for name in outputs}
    return tools.build([node], ports, results, constants), feeds


@pytest.mark.parametrize("lengths", [(5, 3, 1, 4), (5, 5, 2, 5)])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", [*GATES, "LSTM with cells"])
def test_every_sequence_has_its_own_end(onnx_tools, op, direction, known, lengths):
    outputs = ["y", "last", "cell"] if op == "LSTM with cells" else ["y", "last"]
    op = op.split()[0]
    model, feeds = layer(onnx_tools, op, direction, lengths, known, outputs)
    want = onnx_tools.run_onnxruntime(model, feeds)
    rewritten = onnx_tools.prepass(model)
    assert all("lengths" not in n.input for n in rewritten.graph.node if n.op_type == op)
    got = onnx_tools.run_onnxruntime(rewritten, feeds)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "more"), [("GRU", []), ("LSTM", ["cell"])])
def test_a_sequence_without_steps(onnx_tools, op, more):
    outputs = ["y", "last", *more]
    model, feeds = layer(onnx_tools, op, "bidirectional", (5, 0, 2, 0), False, outputs)
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_each_direction_keeps_its_own_parameters(onnx_tools):
    own = {
        "activations": ["HardSigmoid", "Tanh", "Elu", "HardSigmoid", "LeakyRelu", "Tanh"],
        "activation_alpha": [0.3, 0.6, 0.4, 0.2],
        "activation_beta": [0.4, 0.6],
    }
    outputs = ["y", "last", "cell"]
    model, feeds = layer(
        onnx_tools, "LSTM", "bidirectional", (5, 3, 1, 4), False, outputs, input_forget=1, **own
    )
    want = onnx_tools.run_onnxruntime(model, feeds)
    got = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attributes",
    [{"activations": ["Relu", "Tanh", "Tanh"]}, {"activations": ["Softsign"] * 3}, {"clip": 3.0}],
)
def test_a_last_cell_that_no_gate_can_hold_is_refused(onnx_tools, attributes):
    """Gates that are not 0 and 1 far from zero, or never get there, would change it."""
    outputs = ["y", "last", "cell"]
    model, _ = layer(onnx_tools, "LSTM", "forward", (5, 3, 1, 4), False, outputs, **attributes)
    with pytest.raises(UnsupportedOperatorError, match=r"last cells .* end early"):
        load(model)
