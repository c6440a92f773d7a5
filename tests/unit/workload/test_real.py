"""Float32 workloads: what their reference means, how close is close, and their JSON."""

import json

import numpy as np
import pytest

from match_aie.errors import ProjectError
from match_aie.workload import (
    RealTail,
    Window,
    attention,
    layer_norm,
    real_conv2d,
    real_dense,
    real_matmul,
    real_pool2d,
    real_softmax,
    recurrent,
    reference,
)
from match_aie.workload.codec import from_json, to_json
from match_aie.workload.real_reference import activate

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def arrays(workload):
    made = {o.name: draw(*o.shape) for o in workload.operands[:-1]}
    inputs = [made[o.name] for o in workload.inputs]
    return inputs, {o.name: made[o.name] for o in workload.constants}


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


def test_dense_with_everything():
    tail = RealTail("relu")
    workload = real_dense(rows=3, inputs=4, outputs=5, bias=True, residual=True, tail=tail)
    (x, residual), known = arrays(workload)
    expected = np.maximum(x @ known["weight"].T + known["bias"] + residual, 0)
    close(reference(workload, [x, residual], known), expected)


@pytest.mark.parametrize("x_axes", [("B", "C"), ("C", "B")])
@pytest.mark.parametrize("y_axes", [("B", "K"), ("K", "B")])
def test_transposed_operands_mean_the_same(x_axes, y_axes):
    plain = real_dense(rows=3, inputs=4, outputs=5, bias=True)
    (x,), known = arrays(plain)
    expected = reference(plain, [x], known)
    turned = real_dense(rows=3, inputs=4, outputs=5, bias=True, x_axes=x_axes, y_axes=y_axes)
    given = x if x_axes[0] == "B" else np.ascontiguousarray(x.T)
    got = reference(turned, [given], known)
    np.testing.assert_array_equal(got if y_axes[0] == "B" else got.T, expected)


def test_matmul_of_interleaved_heads():
    sizes = {"B": 2, "G": 3, "OY": 4, "K": 5, "C": 6}
    workload = real_matmul(
        sizes,
        ("B", "OY", "G", "C"),
        ("B", "K", "G", "C"),
        ("B", "OY", "G", "K"),
        RealTail(factor=0.5),
    )
    (x, x1), _ = arrays(workload)
    close(reference(workload, [x, x1]), 0.5 * np.einsum("bogc,bkgc->bogk", x, x1))


def test_convolution_is_a_sum_over_the_window():
    window = Window((2, 1), (1, 2), (1, 0, 0, 2))
    workload = real_conv2d(
        shape=(1, 5, 6, 4), weight_shape=(6, 2, 3, 2), groups=2, window=window, bias=True
    )
    (x,), known = arrays(workload)
    got = reference(workload, [x], known)
    padded = np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0)))
    for oy, ox, k in np.ndindex(*got.shape[1:]):
        group = k // 3
        seen = padded[0, 2 * oy : 2 * oy + 2, ox : ox + 5 : 2, 2 * group : 2 * group + 2]
        close(got[0, oy, ox, k], (seen * known["weight"][k]).sum() + known["bias"][k])


def test_rows():
    x = draw(2, 7)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    close(reference(real_softmax(rows=2, columns=7), [x]), e / e.sum(axis=1, keepdims=True))
    known = {"weight": draw(7), "bias": draw(7)}
    scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 0.1)
    workload = layer_norm(rows=2, columns=7, epsilon=0.1)
    close(reference(workload, [x], known), scaled * known["weight"] + known["bias"])


def test_attention_is_its_three_parts():
    sizes = {"batch": 2, "heads": 3, "queries": 4, "keys": 5, "size": 6, "value_size": 7}
    workload = attention(**sizes, factor=0.3)
    (q, k, v), _ = arrays(workload)
    scores = 0.3 * np.einsum("bogc,bkgc->bgok", q, k)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    close(reference(workload, [q, k, v]), np.einsum("bgok,bkgv->bogv", weights, v))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("before", [True, False])
def test_gru_of_one_step(before):
    workload = recurrent(
        "gru", steps=1, batch=1, inputs=3, hidden=2, initial=True, linear_before_reset=before
    )
    (x, h), c = arrays(workload)
    w, r = c["weight"].reshape(3, 2, 3), c["recurrent"].reshape(3, 2, 2)
    wb, rb = c["bias"].reshape(2, 3, 2)
    z, reset = (sigmoid(x[0] @ w[g].T + wb[g] + h @ r[g].T + rb[g]) for g in (0, 1))
    inner = reset * (h @ r[2].T + rb[2]) if before else (reset * h) @ r[2].T + rb[2]
    n = np.tanh(x[0] @ w[2].T + wb[2] + inner)
    close(reference(workload, [x, h], c)[0], (1 - z) * n + z * h)


def test_lstm_carries_state_and_cell():
    workload = recurrent("lstm", steps=2, batch=1, inputs=3, hidden=2)
    (x,), c = arrays(workload)
    h, cell = np.zeros((1, 2)), np.zeros((1, 2))
    for step in range(2):
        total = x[step] @ c["weight"].T + h @ c["recurrent"].T + c["bias"].sum(0)
        i, o, f, g = np.split(total, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(cell)
        close(reference(workload, [x], c)[step], h)


def test_an_lstm_begins_with_a_cell_and_gives_the_last_one():
    """Two steps at once are two layers one behind the other."""
    size = {"batch": 2, "inputs": 3, "hidden": 2, "initial": True, "cell": True, "last_cell": True}
    one, two = (recurrent("lstm", steps=steps, **size) for steps in (1, 2))
    assert two.output.shape == (3, 2, 2)
    x, h, cell = (RNG.standard_normal(o.shape).astype(np.float32) for o in two.inputs)
    c = {o.name: RNG.standard_normal(o.shape).astype(np.float32) for o in two.constants}
    first = reference(one, [x[:1], h, cell], c)
    second = reference(one, [x[1:], *first], c)
    close(reference(two, [x, h, cell], c), np.stack([first[0], *second]))


@pytest.mark.parametrize(
    ("tail", "at_one"),
    [
        (RealTail("gelu"), 0.8413447),
        (RealTail("gelu_tanh"), 0.8411920),
        (RealTail("silu"), 0.7310586),
        (RealTail("clip", 1.0, -0.5, 0.25), 0.25),
    ],
)
def test_activations(tail, at_one):
    close(activate(np.array([1.0]), tail), [at_one])


WORKLOADS = {
    "dense": real_dense(rows=1, inputs=2, outputs=3, tail=RealTail("clip", 0.5, -0.25)),
    "norm": layer_norm(rows=1, columns=2, epsilon=1e-5),
    "gru": recurrent("gru", steps=1, batch=2, inputs=3, hidden=4),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_json_there_and_back(name):
    workload = WORKLOADS[name]
    assert from_json(json.loads(json.dumps(to_json(workload)))) == workload


def test_json_of_an_unknown_activation_is_refused():
    data = to_json(WORKLOADS["dense"])
    data["real"]["activation"] = "swish9"
    with pytest.raises(ProjectError, match="swish9"):
        from_json(data)


def test_multiply_accumulates_of_two_products():
    sizes = {"batch": 1, "heads": 2, "queries": 3, "keys": 5, "size": 7, "value_size": 11}
    assert attention(**sizes, factor=1.0).macs == 2 * 3 * 5 * (7 + 11)
    assert recurrent("gru", steps=2, batch=3, inputs=5, hidden=7).macs == 2 * 3 * 21 * (5 + 7)


@pytest.mark.parametrize("counted", [False, True])
def test_pools_are_of_the_positions_inside(counted):
    """Two by two over a padded 2 x 2 image: corners see one element, edges two."""
    window = Window(padding=(1, 1, 1, 1), count_include_pad=counted)
    shape = {"shape": (1, 2, 2, 1), "filter_shape": (2, 2), "window": window}
    image = np.array([[-1.0, -2.0], [-4.0, -8.0]], np.float32).reshape(1, 2, 2, 1)
    most = reference(real_pool2d("max_pool2d", **shape), [image])[0, :, :, 0]
    np.testing.assert_array_equal(most, [[-1, -1, -2], [-1, -1, -2], [-4, -4, -8]])
    mean = reference(real_pool2d("avg_pool2d", **shape), [image])[0, :, :, 0]
    sums = np.array([[-1, -3, -2], [-5, -15, -10], [-4, -12, -8]], np.float32)
    counts = np.full((3, 3), 4.0) if counted else np.outer([1, 2, 1], [1, 2, 1])
    np.testing.assert_array_equal(mean, sums / counts)
