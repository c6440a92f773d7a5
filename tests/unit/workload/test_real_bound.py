"""How close a float32 layer must be: bounds hold for any order of sums, and show real errors."""

import numpy as np
import pytest

from match_aie.workload import (
    RealTail,
    Window,
    attention,
    layer_norm,
    real_conv2d,
    real_dense,
    real_expected,
    real_matmul,
    real_pool2d,
    real_softmax,
    recurrent,
    reference,
    rms_norm,
    within_bound,
)
from match_aie.workload.running import Near, gamma, product, rounded, share, wrong

RNG = np.random.default_rng(5)
ACTIVATIONS = ("relu", "clip", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")
WORKLOADS = {
    "dense": real_dense(rows=3, inputs=70, outputs=5, bias=True, residual=True),
    "transposed": real_dense(
        rows=3, inputs=7, outputs=5, bias=True, x_axes=("C", "B"), y_axes=("K", "B")
    ),
    **{
        name: real_dense(rows=3, inputs=7, outputs=5, tail=RealTail(name, 0.5, -1.0, 1.0))
        for name in ACTIVATIONS
    },
    "matmul": real_matmul(
        {"B": 2, "G": 3, "OY": 4, "C": 5, "K": 6},
        ("B", "OY", "G", "C"),
        ("B", "G", "K", "C"),
        ("B", "OY", "G", "K"),
        RealTail(factor=0.125),
    ),
    "conv": real_conv2d(
        shape=(1, 6, 5, 4),
        weight_shape=(6, 3, 3, 2),
        groups=2,
        window=Window((2, 1), (1, 1), (1, 1, 0, 1)),
        bias=True,
        residual=True,
        tail=RealTail("relu"),
    ),
    "average": real_pool2d("avg_pool2d", shape=(1, 6, 6, 3), filter_shape=(3, 2)),
    "maximum": real_pool2d("max_pool2d", shape=(1, 6, 6, 3), filter_shape=(3, 2)),
    "softmax": real_softmax(rows=3, columns=17),
    "norm": layer_norm(rows=3, columns=33, epsilon=1e-5),
    "rms norm": rms_norm(rows=3, columns=33, epsilon=1e-5),
    "attention": attention(batch=2, heads=3, queries=4, keys=9, size=5, value_size=6, factor=0.4),
    "gru": recurrent("gru", steps=6, batch=2, inputs=3, hidden=5),
    "gru, state": recurrent("gru", steps=3, batch=2, inputs=3, hidden=5, initial=True),
    "gru, after": recurrent("gru", steps=4, batch=2, inputs=3, hidden=5, linear_before_reset=False),
    "lstm": recurrent("lstm", steps=6, batch=2, inputs=3, hidden=5, initial=True),
    "lstm, cells": recurrent(
        "lstm", steps=4, batch=2, inputs=3, hidden=5, cell=True, known=("x2",), last_cell=True
    ),
}


def drawn(workload, scale=1.0):
    made = {
        o.name: (RNG.standard_normal(o.shape) * scale).astype(np.float32)
        for o in workload.operands[:-1]
    }
    inputs = [made[o.name] for o in workload.inputs]
    return inputs, {o.name: made[o.name] for o in workload.constants}


def in_float32(a, b, order):
    """a @ b^T product by product, in float32, in the given order of the reduction."""
    total = np.zeros((len(a), len(b)), np.float32)
    for at in order:
        total = total + a[:, None, at] * b[None, :, at]
    return total


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_value_is_the_reference(name):
    """Of a recurrent layer too, where the states before each step are the reference's."""
    workload = WORKLOADS[name]
    inputs, constants = drawn(workload)
    plain = reference(workload, inputs, constants)
    found = real_expected(workload, inputs, constants, plain)
    np.testing.assert_allclose(found.value.reshape(plain.shape), plain, rtol=1e-6, atol=1e-6)
    assert (found.error >= 0).all()
    assert within_bound(workload, inputs, constants, plain).all()
    if name != "maximum":
        # One rounding takes a part of what is allowed, and a thousandth of the result is wrong.
        assert share(plain, found) < 1
        off = plain + np.float32(1e-3) * np.abs(plain).max()
        assert not within_bound(workload, inputs, constants, off).any()


@pytest.mark.parametrize("length", [1, 3, 16, 144, 1000])
def test_any_order_is_within_the_bound(length):
    workload = real_dense(rows=4, inputs=length, outputs=6)
    (x,), constants = drawn(workload)
    orders = [range(length), range(length)[::-1], RNG.permutation(length)]
    orders.append(np.argsort(-np.abs(x[0])))
    for order in orders:
        got = in_float32(x, constants["weight"], order)
        assert within_bound(workload, [x], constants, got).all()


def test_equal_terms_round_the_same_way_every_time():
    """The worst that is known: a constant image, all errors of one sign; 2e-5 would be exceeded."""
    workload = real_dense(rows=1, inputs=4608, outputs=1)
    x, weight = np.full((1, 4608), 0.1, np.float32), np.full((1, 4608), 0.7, np.float32)
    got = in_float32(x, weight, range(4608))
    wanted = reference(workload, [x], {"weight": weight})
    assert abs(got - wanted).max() > 2e-5 * wanted.max()
    assert within_bound(workload, [x], {"weight": weight}, got).all()


def test_what_cancels_may_lose_more():
    """Two large products that leave little: the bound is of the products."""
    workload = real_dense(rows=1, inputs=3, outputs=1)
    x = np.array([[1e4, 1.0, -1e4]], np.float32)
    weight = np.full((1, 3), 0.1, np.float32)
    got = in_float32(x, weight, range(3))
    assert abs(float(got[0, 0]) - 0.1) > 1e-5
    assert within_bound(workload, [x], {"weight": weight}, got).all()


@pytest.mark.parametrize("error", [1e-5, -1e-5])
def test_a_small_error_of_a_short_sum_shows(error):
    workload = real_dense(rows=4, inputs=9, outputs=6, bias=True)
    (x,), constants = drawn(workload)
    x, constants = np.abs(x), {name: np.abs(value) for name, value in constants.items()}
    got = in_float32(x, constants["weight"], range(9)) + constants["bias"]
    assert within_bound(workload, [x], constants, got).all()
    got[2, 3] *= np.float32(1 + error)
    close = within_bound(workload, [x], constants, got)
    assert not close[2, 3]
    assert close.sum() == close.size - 1


@pytest.mark.parametrize("length", [256, 1024, 2304, 4608])
def test_one_product_missing_of_a_long_sum_shows(length):
    """The last of every sum, as a kernel that stops a step early leaves it out."""
    workload = real_dense(rows=4, inputs=length, outputs=32)
    (x,), constants = drawn(workload)
    got = in_float32(x, constants["weight"], range(length))
    assert within_bound(workload, [x], constants, got).all()
    short = in_float32(x, constants["weight"], range(length - 1))
    assert (~within_bound(workload, [x], constants, short)).any()


def test_maxima_are_exact():
    workload = WORKLOADS["maximum"]
    inputs, constants = drawn(workload)
    got = reference(workload, inputs, constants)
    assert within_bound(workload, inputs, constants, got).all()
    got[0, 1, 1, 1] = np.nextafter(got[0, 1, 1, 1], np.float32(np.inf))
    assert (~within_bound(workload, inputs, constants, got)).sum() == 1


def test_a_wrong_step_of_a_recurrent_layer_shows_where_it_is():
    for name in ("gru", "gru, after", "lstm", "lstm, cells"):
        workload = WORKLOADS[name]
        inputs, constants = drawn(workload)
        got = reference(workload, inputs, constants)
        got[2, 1, 3] += np.float32(1e-5)
        close = within_bound(workload, inputs, constants, got)
        assert not close[2, 1, 3]
        assert close[:2].all()


def test_a_wrong_last_cell_shows():
    workload = WORKLOADS["lstm, cells"]
    inputs, constants = drawn(workload)
    got = reference(workload, inputs, constants)
    got[-1, 1, 3] += np.float32(1e-4)
    close = within_bound(workload, inputs, constants, got)
    assert (~close).sum() == 1
    assert not close[-1, 1, 3]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("size", [1e7, 1e30])
def test_bounds_of_long_sequences_stay_finite(kind, size):
    """Gates of large sums may be anything, which an LSTM's cell carries on from step to step."""
    workload = recurrent(kind, steps=1200, batch=1, inputs=8, hidden=6)
    inputs, constants = drawn(workload)
    inputs[0] *= np.float32(size)
    got = reference(workload, inputs, constants)
    near = real_expected(workload, inputs, constants, got)
    # o tanh(c): 1 * 2 + 1 * 1 + 1 * 2; u (n - h): 2 * 1 + (1 + 1) * 2, and roundings.
    assert 0 <= near.error.min() <= near.error.max() < (5.1 if kind == "lstm" else 6.2)
    assert within_bound(workload, inputs, constants, got).all()


def test_infinities_and_nan_stand_in_the_same_places():
    near = Near(np.array([np.nan, np.inf, 1.0, 1e39]), np.array([0.0, 0.0, 1e-7, 0.0]))
    special = np.array([np.nan, np.inf, 1.0, np.inf], np.float32)
    assert not wrong(special, near).any()
    assert wrong(np.array([1.0, -np.inf, np.nan, 3e38], np.float32), near).all()
    assert share(special, near) == 0


def test_a_masked_score_is_a_zero():
    x = np.array([[0.5, -np.inf, 1.0], [-np.inf] * 3], np.float32)
    workload = real_softmax(rows=2, columns=3)
    e = np.exp(x[0].astype(np.float64))
    got = np.stack([e / e.sum(), np.full(3, np.nan)]).astype(np.float32)
    assert within_bound(workload, [x], {}, got).all()
    got[0, 1] = 1e-6
    assert not within_bound(workload, [x], {}, got)[0, 1]


def test_rules():
    unit = 2.0**-24
    assert gamma(3) == pytest.approx(3 * unit, rel=1e-6)
    assert gamma(1 << 24) == np.inf
    near = rounded(np.array([2.0]), np.array([0.5]))
    assert near.error[0] == pytest.approx(0.5 + 2.5 * unit, rel=1e-9)
    one = Near(np.array([[3.0, 4.0]]), np.array([[0.1, 0.0]]))
    other = Near(np.array([[1.0], [-2.0]]), np.array([[0.0], [0.2]]))
    made = product(one, other)
    assert made.value[0, 0] == -5
    assert made.error[0, 0] == pytest.approx(0.1 + 0.8, rel=1e-5)


@pytest.mark.parametrize("make", [layer_norm, rms_norm])
@pytest.mark.parametrize("large", [1e19, 1.8e19, 1.84e19, 1.85e19, 3e19, 1e30])
def test_rows_whose_squares_pass_float32_are_what_they_are_in_float32(make, large):
    """0, as ONNX computes norms in float32; else they are as they are. Near the end, either."""
    workload = make(rows=1, columns=2, epsilon=1e-5)
    _, constants = drawn(workload)
    x = np.array([[large, -large]], np.float32)
    for order in ((0, 1), (1, 0)):
        with np.errstate(over="ignore"):
            total = x[0, order[0]] * x[0, order[0]] + x[0, order[1]] * x[0, order[1]]
            root = np.float32(1) / np.sqrt(total / np.float32(2) + np.float32(1e-5))
        got = x * root * constants["weight"] + constants.get("bias", np.float32(0))
        assert within_bound(workload, [x], constants, got).all()
        if make is rms_norm:
            # Twice a square is beyond float32 from 1.3044e19 on.
            assert (got == 0).all() == (large > 1.31e19)
    wanted = reference(workload, [x], constants)
    assert make is layer_norm or (wanted == 0).all() == (large > 1.31e19), wanted


def test_where_one_rounding_decides_whether_squares_overflow_both_are_right():
    workload = rms_norm(rows=1, columns=1, epsilon=1e-5)
    constants = {"weight": np.ones(1, np.float32)}
    edge = np.float32(np.sqrt(np.float64(np.finfo(np.float32).max)))
    x = np.array([[edge]], np.float32)
    for got in (0.0, 1.0):
        assert within_bound(workload, [x], constants, np.full((1, 1), got, np.float32)).all()
    below = x * np.float32(0.999)
    assert not within_bound(workload, [below], constants, np.zeros((1, 1), np.float32)).any()
    above = x * np.float32(1.001)
    assert not within_bound(workload, [above], constants, np.ones((1, 1), np.float32)).any()


@pytest.mark.parametrize("lost", [np.inf, -np.inf, np.nan])
def test_a_result_that_is_lost_is_no_small_share(lost):
    """Where the reference is finite; where it is infinite, too, nothing is lost."""
    near = Near(np.array([1.0, 2.0]), np.array([1e-6, 1e-6]))
    assert share(np.float32([1.0, lost]), near) == np.inf
    assert share(np.float32([1.0, 2.0]), near) == 0.0
    assert share(np.float32([1.0, np.inf]), Near(np.array([1.0, np.inf]), near.error)) == 0.0
