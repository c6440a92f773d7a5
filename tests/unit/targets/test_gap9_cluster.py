"""The cluster as an execution module: what it takes, converts, packs and reserves."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.walk import Controller
from match_aie.mapping import check, search
from match_aie.targets.gap9.cluster.float_patterns import refuses_real
from match_aie.targets.gap9.cluster.kernels import is_real
from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.targets.gap9.cluster.packing import pack, scratch_bytes, weight_row_bytes, wrap32
from match_aie.targets.gap9.cluster.patterns import refuses
from match_aie.workload import (
    Quantized,
    Window,
    conv2d,
    elementwise,
    full_range,
    pool2d,
    reference,
)
from tests.unit.targets.gap9_layers import LAYERS, TAIL, X, conv, depthwise, lengths, linear, whole

MODULE = Cluster()


def constants_of(workload, seed=0):
    rng = np.random.default_rng(seed)
    k = workload.output.shape[-1]
    return {
        "weight": rng.integers(-128, 128, workload.operand("weight").shape).astype(np.int8),
        "bias": rng.integers(-999, 999, k).astype(np.int32),
        "scale": rng.uniform(0.001, 0.004, k).astype(np.float32),
    }


@pytest.mark.parametrize("name", LAYERS)
def test_takes_and_maps_its_layers(name):
    layer = LAYERS[name]
    if not {operand.dtype for operand in layer.operands} & {"float16", "bfloat16"}:
        # The others come from `lowering.shorter`, behind selection; no network states them.
        assert (refuses_real(layer) if is_real(layer) else refuses(layer)) is None
    found = search(layer, MODULE)
    check(layer, MODULE, found[0].mapping)


REFUSED = {
    "grouped": (
        conv2d(X, X, shape=(1, 4, 4, 8), weight_shape=(8, 3, 3, 4), groups=2, scales=8, tail=TAIL),
        "2 groups of 4 to 4 channels",
    ),
    "wide weights": (
        conv2d(
            X, X, shape=(1, 4, 4, 8), weight_shape=(8, 1, 1, 8), weight_dtype="int16", scales=8,
            tail=TAIL,
        ),
        "weight is int16",
    ),
    "broadcast": (
        elementwise(
            "add", X, X, X, shape=(1, 2, 2, 4), shape1=(1, 2, 2, 1), out=(1, 2, 2, 4), tail=TAIL
        ),
        "broadcast",
    ),
    "empty window": (
        pool2d(
            "avg_pool2d", X, X, shape=(1, 2, 2, 4), filter_shape=(2, 2),
            window=Window(padding=(2, 2, 2, 2)), tail=TAIL,
        ),
        "over no position",
    ),
    "per channel": (
        pool2d(
            "avg_pool2d", Quantized("uint8"), X, shape=(1, 2, 2, 4), filter_shape=(2, 2), tail=TAIL
        ),
        "quantised per channel",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_says_why_not(name):
    workload, reason = REFUSED[name]
    assert reason in (refuses(workload) or "")


def test_converts_within_an_lsb_of_the_model():
    layer = conv(6, 6, 5, 7)
    constants = constants_of(layer)
    converted = MODULE.convert(layer, constants)
    assert not isinstance(converted, str)
    assert converted.workload.fixed_point
    assert converted.workload.tail.rounding == "floor"
    assert converted.error_lsb < 1
    x = np.random.default_rng(1).integers(0, 256, (1, 6, 6, 5)).astype(np.uint8)
    ours = reference(converted.workload, [x], converted.constants).astype(int)
    assert np.abs(ours - reference(layer, [x], constants).astype(int)).max() <= 1


def test_averages_that_cannot_be_divided_stay_in_float():
    """Windows at the border are over fewer positions: no one multiplier serves all."""
    layer = pool2d(
        "avg_pool2d", X, Quantized("uint8", 0.07, 9), shape=(1, 5, 5, 3), filter_shape=(3, 3),
        window=Window(padding=(1, 1, 1, 1)), tail=full_range("uint8", 9),
    )  # fmt: skip
    converted = MODULE.convert(layer, {})
    assert converted.workload is layer
    assert converted.error_lsb == 0


def test_packs_whole_words():
    layer = conv(4, 4, 3, 5)
    packed = pack(layer, constants_of(layer) | {"scale": np.ones(5, np.float32)})
    assert packed["weight"].shape == (5, 28) == (5, weight_row_bytes(layer))
    assert not packed["weight"][:, 27:].any()
    column = depthwise(4, 4, 6, (3, 5))
    turned = pack(column, constants_of(column))["weight"]
    assert turned.shape == (6, 20)
    np.testing.assert_array_equal(
        turned.reshape(6, 5, 4)[:, :, :3], constants_of(column)["weight"][..., 0].transpose(0, 2, 1)
    )


def test_folds_zero_points_into_the_offset():
    layer = linear(1, 8, 4)
    constants = constants_of(layer)
    converted = MODULE.convert(layer, constants)
    packed = MODULE.pack(converted.workload, converted.constants)
    x = np.arange(8).astype(np.uint8)
    raw = constants["weight"].astype(np.int64) @ x
    t = wrap32(raw * packed["multiplier"] + packed["offset"]).astype(np.int64)
    tail = converted.workload.tail
    stored = np.clip(t >> tail.shift, tail.lo, tail.hi)
    expected = reference(converted.workload, [x[None]], converted.constants)
    np.testing.assert_array_equal(stored, expected[0])


def test_scratch_is_per_core():
    assert scratch_bytes(conv(8, 8, 16, 4), lengths(whole(conv(8, 8, 16, 4)))) == 8 * 2 * 144
    assert scratch_bytes(LAYERS["point"], lengths(whole(LAYERS["point"]))) == 0
    strip = depthwise(8, 8, 4)
    assert scratch_bytes(strip, lengths(whole(strip))) == 8 * 4 * 4 * 10


def test_the_bound_is_of_the_longer_unit():
    """The controller, which waits for kernels after the first loads; or the engine.

    The controller starts the first loads and the last store.
    """
    controller = Controller(layer=0.0, visit=100.0, many=(0.0, 100.0), wait=10.0, code=0.0)
    model = PulpNN(controller=controller, start=30.0)
    value = lambda *v: [np.asarray(x, float) for x in v]  # noqa: E731
    assert model.combine(np.asarray(1000.0), value(400.0), value(250.0)) == 1280
    assert model.combine(np.asarray(1000.0), value(400.0), value(50.0)) == 1130
    loading = replace(model, loads=3)
    assert loading.combine(np.asarray(1000.0), value(400.0), value(50.0)) == 1030 + 100 + 3 * 40
    assert model.combine(np.asarray(400.0), value(1000.0), value(250.0)) == 1000


def test_combining_never_decreases():
    model, rng = PulpNN(), np.random.default_rng(7)
    for _ in range(500):
        compute, move = rng.uniform(1, 1000, 2)
        edge = rng.uniform(0, move)
        base = model.combine(np.asarray(compute), [np.asarray(move)], [np.asarray(edge)])
        for more in ((1, 0, 0), (0, 1, 0), (0, 0, min(1.0, move - edge))):
            grown = model.combine(
                np.asarray(compute + more[0]),
                [np.asarray(move + more[1])],
                [np.asarray(edge + more[2])],
            )
            assert grown >= base - 1e-9
