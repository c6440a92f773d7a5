"""Weights of GRUs and LSTMs, and what a Pad fills with, stored as integers, become floats."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

RNG = np.random.default_rng(7)
STEPS, INPUTS, HIDDEN = 4, 3, 5
GATES = {"GRU": 3, "LSTM": 4}


class Stored:
    """Constants and nodes in front of a layer."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def pair(self, name, channels, dtype, axis):
        scale = np.float32(RNG.uniform(0.005, 0.02, channels or ()))
        zero = np.zeros(channels or (), dtype)
        zero += dtype(3 if dtype in (np.int8, np.uint8) and not channels else 0)
        self.constants |= {f"{name}_s": scale, f"{name}_z": zero}
        return [f"{name}_s", f"{name}_z"], {"axis": axis} if channels else {}

    def integers(self, name, shape, dtype, *, axis=None, bound=100):
        """A DequantizeLinear, per tensor or per channel of `axis`."""
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -bound
        self.constants[f"{name}_q"] = RNG.integers(low, bound, shape).astype(dtype)
        pair, options = self.pair(name, shape[axis] if axis is not None else 0, dtype, axis)
        node = helper.make_node("DequantizeLinear", [f"{name}_q", *pair], [name], **options)
        self.nodes.append(node)

    def reals(self, name, shape, *, axis):
        """A QuantizeLinear and a DequantizeLinear behind floats."""
        self.constants[f"{name}_f"] = RNG.uniform(-2, 2, shape).astype(np.float32)
        pair, options = self.pair(name, shape[axis], np.int8, axis)
        for op, source, result in (
            ("QuantizeLinear", f"{name}_f", f"{name}_q"),
            ("DequantizeLinear", f"{name}_q", name),
        ):
            self.nodes.append(helper.make_node(op, [source, *pair], [result], **options))


def model_of(tools, op, direction, fill, extra=(), results=("y",)):
    count, gates = (2 if direction == "bidirectional" else 1), GATES[op] * HIDDEN
    stored = Stored()
    fill(stored, (count, gates, INPUTS), (count, gates, HIDDEN), (count, 2 * gates))
    reset = {"linear_before_reset": 1} if op == "GRU" else {}
    layer = helper.make_node(
        *(op, ["x", "w", "r", "b"], ["y"]), hidden_size=HIDDEN, direction=direction, **reset
    )
    outputs = {name: (np.float32, None) for name in results}
    x = RNG.standard_normal((STEPS, 1, INPUTS)).astype(np.float32)
    nodes = [*stored.nodes, layer, *extra]
    return tools.build(nodes, {"x": (np.float32, x.shape)}, outputs, stored.constants), {"x": x}


def by_rows(stored, w, r, b):
    stored.integers("w", w, np.int8, axis=1)
    stored.integers("r", r, np.int8, axis=-2)
    stored.integers("b", b, np.int32)


def by_tensor(stored, w, r, b):
    stored.integers("w", w, np.uint8)
    stored.integers("r", r, np.int8)
    stored.constants["b"] = RNG.standard_normal(b).astype(np.float32)


def in_training(stored, w, r, b):
    stored.reals("w", w, axis=1)
    stored.reals("r", r, axis=1)
    stored.constants["b"] = RNG.standard_normal(b).astype(np.float32)


def turned(stored, w, r, b):
    """Stored as [D, I, G H], as products have them."""
    by_tensor(stored, (w[0], w[2], w[1]), r, b)
    stored.nodes[0].output[0] = "columns"
    stored.nodes.append(helper.make_node("Transpose", ["columns"], ["w"], perm=[0, 2, 1]))


@pytest.mark.parametrize("fill", [by_rows, by_tensor, in_training, turned])
@pytest.mark.parametrize(
    ("op", "direction"), [("GRU", "forward"), ("LSTM", "forward"), ("GRU", "bidirectional")]
)
def test_layers_read_floats(onnx_tools, op, direction, fill):
    model, feeds = model_of(onnx_tools, op, direction, fill)
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    rewritten = onnx_tools.prepass(model)
    left = {node.op_type for node in rewritten.graph.node}
    assert op in left
    assert not left & {"QuantizeLinear", "DequantizeLinear"}
    (got,) = onnx_tools.run_onnxruntime(rewritten, feeds)
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("fill", [by_rows, by_tensor, in_training])
def test_weights_are_those_of_onnxruntime(onnx_tools, fill):
    """Bit for bit."""
    model, feeds = model_of(onnx_tools, "LSTM", "forward", fill)
    rewritten = onnx_tools.prepass(model)
    (layer,) = (node for node in rewritten.graph.node if node.op_type == "LSTM")
    held = {tensor.name: tensor for tensor in rewritten.graph.initializer}
    stored = {tensor.name for tensor in model.graph.initializer}
    names = [name for name in ("w", "r", "b") if f"{name}_s" in stored]
    model.graph.output.extend(helper.make_tensor_value_info(name, 1, None) for name in names)
    _, *wanted = onnx_tools.run_onnxruntime(model, feeds)
    for name, want in zip(names, wanted, strict=True):
        got = numpy_helper.to_array(held[layer.input["xwrb".index(name)]])
        np.testing.assert_array_equal(got, want)


def test_a_value_that_a_pad_fills_with_is_a_float(onnx_tools):
    """As onnxruntime's quantiser stores it: behind a DequantizeLinear of its own."""
    stored = Stored()
    stored.integers("value", (), np.int8)
    nodes = [*stored.nodes, helper.make_node("Pad", ["x", "pads", "value"], ["y"])]
    constants = {**stored.constants, "pads": np.array([0, 1, 2, 0], np.int64)}
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    inputs, outputs = {"x": (np.float32, x.shape)}, {"y": (np.float32, None)}
    model = onnx_tools.build(nodes, inputs, outputs, constants)
    rewritten = onnx_tools.prepass(model)
    assert [node.op_type for node in rewritten.graph.node] == ["Pad"]
    (want,), (got,) = (onnx_tools.run_onnxruntime(m, {"x": x}) for m in (model, rewritten))
    np.testing.assert_array_equal(got, want)


def test_weights_that_others_read_stay_integers(onnx_tools):
    """A product beside the layer may multiply integers."""

    def fill(stored, w, r, b):
        by_tensor(stored, w, r, b)
        stored.nodes.append(helper.make_node("Transpose", ["r"], ["turned"], perm=[0, 2, 1]))

    product = helper.make_node("MatMul", ["y", "turned"], ["product"])
    model, feeds = model_of(onnx_tools, "GRU", "forward", fill, (product,), ("y", "product"))
    kept_as_it_is(onnx_tools, model, feeds)


def test_weights_that_leave_the_network_stay_integers(onnx_tools):
    model, feeds = model_of(onnx_tools, "GRU", "forward", by_tensor, results=("y", "r"))
    kept_as_it_is(onnx_tools, model, feeds)


def kept_as_it_is(tools, model, feeds):
    """One constant is still read where the network runs, and results are the same."""
    want = tools.run_onnxruntime(model, feeds)
    rewritten = tools.prepass(model)
    assert [n.op_type for n in rewritten.graph.node].count("DequantizeLinear") == 1
    for w, g in zip(want, tools.run_onnxruntime(rewritten, feeds), strict=True):
        np.testing.assert_allclose(g, w, atol=1e-5)


def test_a_constant_that_is_the_input_stays(onnx_tools):
    """Only W, R and B are weights."""

    def fill(stored, w, r, b):
        by_rows(stored, w, r, b)
        stored.integers("s", (1, 1, HIDDEN), np.int8)

    model, feeds = model_of(onnx_tools, "GRU", "forward", fill)
    (layer,) = (node for node in model.graph.node if node.op_type == "GRU")
    layer.input.extend(["", "s"])
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    rewritten = onnx_tools.prepass(model)
    assert [n.op_type for n in rewritten.graph.node].count("DequantizeLinear") == 1
    (got,) = onnx_tools.run_onnxruntime(rewritten, feeds)
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("scales", [4, 7])
def test_scales_that_do_not_fit_fold_nothing(onnx_tools, scales):
    model, _ = model_of(onnx_tools, "GRU", "forward", by_rows)
    for tensor in model.graph.initializer:
        if tensor.name == "w_s":
            values = np.ones(scales, np.float32)
            tensor.raw_data, tensor.dims[:] = values.tobytes(), [scales]
    rewritten = onnx_tools.prepass(model)
    assert [n.op_type for n in rewritten.graph.node].count("DequantizeLinear") == 1
