"""Small float networks end to end: every heavy operator in a module, and close to onnxruntime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from real_harness import COMPILERS

import match_aie as match
from match_aie.targets.cpu.machine import PORTABLE, machine
from tests.closeness import same_meaning
from tests.thinned import thinned

ort = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")


class Net:
    """A model under construction; values are names."""

    def __init__(self):
        self.nodes, self.constants, self.rng = [], [], np.random.default_rng(5)

    def weight(self, *shape):
        return self.constant((0.3 * self.rng.standard_normal(shape)).astype(np.float32))

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, output, shape):
        real = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info(n, real, s) for n, s in inputs.items()],
            [helper.make_tensor_value_info(output, real, shape)],
            self.constants,
        )
        opset = [helper.make_opsetid("", 20)]
        made = helper.make_model(graph, opset_imports=opset, ir_version=9)
        onnx.checker.check_model(made)
        return made


def gelu(form, scaled):
    net = Net()
    v = net.op("Add", net.op("MatMul", "x", net.weight(19, 33)), net.weight(33))
    root = np.float32(np.sqrt(0.5) if scaled else np.sqrt(2.0))
    inner = net.op("Mul" if scaled else "Div", v, net.constant(root))
    total = net.op("Add", net.op("Erf", inner), net.constant(np.float32(1)))
    half = net.constant(np.float32(0.5))
    if form == 0:
        y = net.op("Mul", net.op("Mul", v, total), half)
    elif form == 1:
        y = net.op("Mul", net.op("Mul", v, half), total)
    else:
        y = net.op("Mul", v, net.op("Mul", total, half))
    return net.model({"x": [1, 5, 19]}, y, [1, 5, 33]), "dense"


def dense(activation, residual):
    net = Net()
    y = net.op("Add", net.op("MatMul", "x", net.weight(17, 9)), net.weight(9))
    inputs = {"x": [7, 17]}
    if residual:
        inputs["r"] = [7, 9]
        y = net.op("Add", y, "r")
    if activation == "Silu":
        y = net.op("Mul", y, net.op("Sigmoid", y))
    elif activation:
        y = net.op(activation, y)
    return net.model(inputs, y, [7, 9]), "dense"


def turned():
    net = Net()
    x = net.op("Transpose", "x", perm=[0, 2, 1])
    y = net.op("Relu", net.op("Add", net.op("MatMul", x, net.weight(13, 21)), net.weight(21)))
    y = net.op("Add", net.op("MatMul", y, net.weight(21, 13)), net.weight(13))
    y = net.op("Add", "x", net.op("Transpose", y, perm=[0, 2, 1]))
    return net.model({"x": [1, 13, 18]}, y, [1, 13, 18]), "dense"


def heads(batch, divide, mask=None):
    net = Net()
    q, k, v = (
        net.op("Transpose", name, perm=perm)
        for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))
    )
    scores = net.op("MatMul", q, k)
    factor = net.constant(np.float32(4.0 if divide else 0.25))
    scores = net.op("Div" if divide else "Mul", scores, factor)
    inputs = {"q": [batch, 27, 3, 16], "k": [batch, 29, 3, 16], "v": [batch, 29, 3, 10]}
    if mask == "causal":
        hidden = np.triu(np.full((27, 29), np.finfo(np.float32).min), 1)
        scores = net.op("Add", scores, net.constant(hidden[None, None].astype(np.float32)))
    elif mask:
        inputs["mask"] = list(mask)
        scores = net.op("Add", "mask", scores)
    scores = net.op("Softmax", scores, axis=-1)
    y = net.op("Transpose", net.op("MatMul", scores, v), perm=[0, 2, 1, 3])
    return net.model(inputs, y, [batch, 27, 3, 10]), "attention"


def known_matrix():
    """A batch of matrices by constant ones, which come of a product of constants."""
    net = Net()
    folded = net.op("MatMul", net.weight(1, 3, 18, 7), net.weight(7, 20))
    y = net.op("MatMul", "x", folded)
    return net.model({"x": [1, 3, 25, 18]}, y, [1, 3, 25, 20]), "matmul"


def cell(kind, batch, initial):
    gates = 3 if kind == "GRU" else 4
    net, hidden = Net(), 21
    given = ["x", net.weight(1, gates * hidden, 6), net.weight(1, gates * hidden, hidden)]
    given += [net.weight(1, 2 * gates * hidden)]
    inputs = {"x": [5, batch, 6]}
    if initial:
        given += ["", "h"]
        inputs["h"] = [1, batch, hidden]
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    y = net.op(kind, *given, hidden_size=hidden, **more)
    return net.model(inputs, y, [5, 1, batch, hidden]), kind.lower()


def convolution(groups, residual):
    net = Net()
    weights = net.weight(12, 12 // groups, 3, 3)
    y = net.op("Conv", "x", weights, net.weight(12), group=groups, pads=[1, 0, 1, 2])
    inputs = {"x": [1, 12, 7, 6]}
    if residual:
        inputs["r"] = [1, 12, 7, 6]
        y = net.op("Add", y, "r")
    y = net.op("Relu", y)
    return net.model(inputs, y, [1, 12, 7, 6]), "conv2d"


def norm():
    net = Net()
    y = net.op("LayerNormalization", "x", net.weight(37), net.weight(37), axis=-1)
    return net.model({"x": [3, 37]}, net.op("Softmax", y, axis=-1), [3, 37]), "layer_norm"


def pools(padded):
    net = Net()
    pads = {"pads": [1, 1, 1, 1], "strides": [2, 2]} if padded else {}
    v = net.op("MaxPool", "x", kernel_shape=[3, 3], **pads)
    v = net.op("AveragePool", v, kernel_shape=[2, 2], count_include_pad=int(padded), **pads)
    return net.model(
        {"x": [1, 19, 12, 11]}, net.op("GlobalAveragePool", v), [1, 19, 1, 1]
    ), "avg_pool2d"


def alone(form):
    """A function of what no product makes, and of its own result."""
    net = Net()
    v = net.op("LayerNormalization", "x", net.weight(37), net.weight(37), axis=-1)
    if form == "Erf":
        inner = net.op("Div", v, net.constant(np.float32(np.sqrt(2.0))))
        total = net.op("Add", net.op("Erf", inner), net.constant(np.float32(1)))
        y = net.op("Mul", net.op("Mul", v, total), net.constant(np.float32(0.5)))
    else:
        y = net.op(form, v)
    return net.model({"x": [3, 5, 37]}, net.op("Add", y, "x"), [3, 5, 37]), "function"


MODELS = {
    **{f"alone_{form}": (alone, form) for form in ("Erf", "Sigmoid", "Tanh", "Gelu")},
    "pools": (pools, False),
    "pools_padded": (pools, True),
    **{f"gelu{f}{s:d}": (gelu, f, s) for f in range(3) for s in (False, True)},
    **{f"dense_{a}": (dense, a, False) for a in ("Relu", "Tanh", "Sigmoid", "Silu", "Gelu")},
    "dense_residual": (dense, "", True),
    "dense_residual_relu": (dense, "Relu", True),
    "turned": (turned,),
    "attention": (heads, 1, True),
    "attention_batch": (heads, 2, False),
    "attention_causal": (heads, 1, True, "causal"),
    "attention_words": (heads, 2, False, (2, 1, 1, 29)),
    "attention_places": (heads, 2, True, (3, 27, 29)),
    "known_matrix": (known_matrix,),
    "gru": (cell, "GRU", 1, False),
    "gru_batch_initial": (cell, "GRU", 3, True),
    "lstm": (cell, "LSTM", 2, False),
    "lstm_initial": (cell, "LSTM", 1, True),
    "convolution": (convolution, 1, False),
    "convolution_groups_residual": (convolution, 3, True),
    "depthwise": (convolution, 12, False),
    "norm_softmax": (norm,),
}


#: One of each sort; the rest is for `make test-slow`.
QUICK = (
    "alone_Erf",
    "gelu00",
    "gelu21",
    "dense_Silu",
    "turned",
    "attention_batch",
    "attention_causal",
    "known_matrix",
    "gru_batch_initial",
    "convolution_groups_residual",
    "norm_softmax",
    "pools_padded",
)


@pytest.mark.parametrize("name", thinned(QUICK, 2))
def test_close_to_onnxruntime(name, tmp_path):
    compared(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name not in QUICK])
def test_others_close_to_onnxruntime(name, tmp_path):
    compared(name, tmp_path)


def compared(name, tmp_path):
    make, *arguments = MODELS[name]
    model, kind = make(*arguments)
    net = match.compile(model, "CPU")
    layers = net.program.schedule.layers
    modules = machine().name != PORTABLE  # which has none for floats: all is the fallback's
    assert not modules or kind in {layer.workload.kind for layer in layers}
    rng = np.random.default_rng(3)
    feeds = {p.name: rng.standard_normal(p.shape).astype(np.float32) for p in net.inputs}
    result = net.write(tmp_path / "net").run(feeds)
    assert result.matches_reference is (True if modules else None), result.mismatches
    session = ort.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, feeds)
    (got,) = result.outputs.values()
    assert same_meaning(got, expected).all(), np.abs(got - expected).max()
