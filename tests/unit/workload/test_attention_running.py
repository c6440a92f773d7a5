"""Attention with a running softmax: its distance from float64, its rule, its parameters."""

import numpy as np
import pytest

from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import reference
from match_aie.workload.attention_running import (
    FULL,
    MOST_SHIFT,
    MOST_WEIGHT,
    RunningNumbers,
    running_attention,
    runs,
    scores_of,
    weight_table,
    with_part,
)
from tests.aie_attention import LONG
from tests.aie_attention import running_attention as layer_of

#: Steps of results that the arithmetic may be from float64.
STEPS = 2.0


def exact(layer, constants, inputs):
    """What real numbers make of quantised inputs, in steps of the output."""
    p = dict(layer.parameters)
    gamma = float(constants["scores_scale"][0]) * p["scores_step"]
    share = float(constants["scale"][0]) / p["weights_step"]
    x, x1, x2 = (array.astype(np.float64) for array in inputs)
    scores = x @ x1 * gamma
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = weights / weights.sum(axis=-1, keepdims=True) @ x2 * share
    tail = layer.tail
    return np.clip(y + tail.zero_point, tail.lo, tail.hi)


def uniform(rng, rows, keys, size):
    shapes = (1, rows, size), (1, size, keys), (1, keys, size)
    return [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]


def normal(rng, rows, keys, size):
    x, x1, x2 = uniform(rng, rows, keys, size)
    wide = rng.uniform(2, 50)
    draw = lambda like: np.clip(np.rint(rng.standard_normal(like.shape) * wide), -128, 127)  # noqa: E731
    return [draw(x).astype(np.int8), draw(x1).astype(np.int8), x2]


def rising(rng, rows, keys, size):
    """Every part has larger scores than the one before, or than the one behind."""
    x, x1, x2 = uniform(rng, rows, keys, size)
    x[:] = rng.integers(1, 128)
    x1[:] = np.linspace(-127, 127, keys).astype(np.int8)[:: 1 if rng.random() < 0.5 else -1]
    return [x, x1, x2]


def equal(rng, rows, keys, size):
    x, x1, x2 = uniform(rng, rows, keys, size)
    x[:], x2[:] = 0, rng.choice([-128, 127])
    return [x, x1, x2]


def one_hot(rng, rows, keys, size):
    x, x1, x2 = uniform(rng, rows, keys, size)
    x[:], x1[:] = 127, -127
    x1[..., int(rng.integers(keys))] = 127
    return [x, x1, x2]


def two_hot(rng, rows, keys, size):
    """Two keys of nearly the same score whose values are as far apart as can be."""
    x, x1, x2 = uniform(rng, rows, keys, size)
    x[:] = rng.integers(0, 128, x.shape)
    x1[:] = -127
    near, far = rng.choice(keys, 2, replace=False)
    x1[..., near] = rng.integers(0, 127, x1[..., near].shape)
    x1[..., far] = x1[..., near] - rng.integers(0, 2, x1[..., far].shape)
    x2[:, near], x2[:, far] = 127, -128
    return [x, x1, x2]


def shadowed(rng, rows, keys, size):
    """A key far above all others, whose values are the opposite: much weight in small ones."""
    x, x1, x2 = uniform(rng, rows, keys, size)
    x[:], x1[:] = 0, 0
    x[..., 0] = 127
    x1[:, 0, int(rng.integers(keys))] = rng.integers(0, 128)
    x2[:] = np.where(x1[:, 0, :, None] > 0, 127, -128)
    return [x, x1, x2]


DRAWN = (uniform, normal, rising, equal, one_hot, two_hot, shadowed)


def distance(seed, draw, sizes, wide) -> float:
    layer, constants = layer_of(seed, heads=1, sizes=sizes, wide=wide)
    made = in_fixed_point(layer, constants)
    assert not isinstance(made, str), made
    assert runs(made.workload)
    inputs = draw(np.random.default_rng(seed), *sizes)
    got = reference(made.workload, inputs, made.constants).astype(np.float64)
    return float(np.abs(got - exact(layer, constants, inputs)).max())


@pytest.mark.parametrize("draw", DRAWN)
def test_results_are_within_two_steps_of_float64(draw) -> None:
    rng = np.random.default_rng(len(draw.__name__))
    for seed in range(8):
        keys, size = LONG[int(rng.integers(len(LONG)))]
        sizes = int(rng.integers(1, 20)), keys, size
        assert distance(seed, draw, sizes, float(rng.choice([1.0, 0.3, 0.01, 1e-4]))) <= STEPS
    assert distance(1, draw, (8, 1500, 64), 1.0) <= STEPS


@pytest.mark.slow
def test_results_of_many_shapes_are() -> None:
    rng, most = np.random.default_rng(5), 0.0
    for seed in range(300):
        size = int(rng.choice([8, 16, 33, 64, 100, 128]))
        keys = int(rng.integers(14336 // (-(-size // 8) * 8) + 1, 2500))
        sizes = int(rng.integers(1, 20)), keys, size
        draw = DRAWN[seed % len(DRAWN)]
        most = max(most, distance(seed, draw, sizes, float(rng.choice([1.0, 0.3, 0.05, 1e-3]))))
    assert most <= STEPS


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sizes": (4, 224, 64)}, "fit a tile"),
        ({"sizes": (4, 7, 64)}, "fit a tile"),
        ({"sizes": (4, 60, 400)}, "too long"),
        ({"sizes": (4, 300, 64), "wide": 2.0}, "powers of two apart"),
    ],
)
def test_what_it_cannot_hold_keeps_the_models_arithmetic(options, why) -> None:
    layer, constants = layer_of(0, heads=1, **options)
    answer = running_attention(layer, constants)
    assert isinstance(answer, str)
    assert why in answer
    made = in_fixed_point(layer, constants)
    assert isinstance(made, str) or not runs(made.workload)  # its softmax may be too fine, too


def test_weights_and_sums_of_long_rows_fit_32_bits() -> None:
    """Equal scores and the largest values: powers grow as weights do."""
    made = in_fixed_point(*layer_of(0, heads=1, sizes=(2, 260, 64)))
    n, rows = RunningNumbers.of(made.workload), None
    for _ in range(200):
        part = np.zeros((1, 256), np.int64), np.full((256, 1), -128)
        rows = with_part(rows, *part, weight_table(), n)
        assert rows.total.max() < 2 * FULL
        assert rows.sums.min() >= -(1 << 31)
    assert rows.total.min() > FULL // 2
    assert 256 * MOST_WEIGHT < FULL


def test_sums_are_shifted_where_a_row_grows_and_only_there() -> None:
    made = in_fixed_point(*layer_of(0, heads=1, sizes=(2, 260, 64)))
    n, table = RunningNumbers.of(made.workload), weight_table()
    one = 1 << 15
    low = with_part(None, np.array([[0, 0], [0, 0]]), np.array([[3], [4]]), table, n)
    same = with_part(low, np.array([[0], [one - 1]]), np.array([[5]]), table, n)
    most = int(table[0])
    assert same.power[0] == low.power[0]
    assert same.total[0] == low.total[0] + table[(int(low.power[0, 0]) << 5)]
    grown = int(same.power[1, 0] - low.power[1, 0])
    assert grown > MOST_SHIFT
    assert 0 < same.total[1, 0] <= most  # nothing is left of what was there


def test_the_bound_is_at_most_what_results_can_differ_by() -> None:
    layer, constants = layer_of(0, heads=1, sizes=(4, 300, 64))
    made = running_attention(layer, constants)
    assert not isinstance(made, str)
    assert 0 < made.error_lsb <= 255


def test_scores_saturate_like_the_core() -> None:
    made = in_fixed_point(*layer_of(0, heads=1, sizes=(4, 300, 64)))
    n = RunningNumbers.of(made.workload)
    assert scores_of(np.array([[1 << 24, -(1 << 24)]]), n).tolist() == [[32767, -32768]]
