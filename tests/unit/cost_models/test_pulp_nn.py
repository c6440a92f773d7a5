"""The closed form against the loop-by-loop count, which shares no code with it."""

import numpy as np
import pytest

from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.hardware import Block, TileCostModel
from match_aie.targets.gap9.cluster.packing import weight_row_bytes
from match_aie.targets.gap9.timing.cluster import call_cycles
from match_aie.targets.gap9.timing.controller import Access, Code
from match_aie.workload import Quantized, dense, full_range, real_dense
from tests.unit.targets.gap9_layers import LAYERS, lengths, random_ranges, short, whole

MODEL = PulpNN()
TILES = 40


def predicted_and_simulated(workload, seed):
    """Cycles of random tiles by both, [2, TILES]."""
    rng = np.random.default_rng(seed)
    tiles = [random_ranges(workload, rng) for _ in range(TILES)]
    model = [float(MODEL.kernel_cycles(workload, lengths(tile))) for tile in tiles]
    code = Code()
    start = code.calls.get(workload.kind, code.call).cycles(Access())
    return np.array([model, [start + call_cycles(workload, tile) for tile in tiles]])


def rank_correlation(a, b):
    """Spearman's, ties by their mean rank."""
    ranks = [
        np.array([(np.sum(v < x) + np.sum(v <= x) + 1) / 2 for x in v])
        for v in (np.round(a, 3), np.round(b, 3))
    ]
    return np.corrcoef(*ranks)[0, 1]


def test_is_a_tile_cost_model():
    assert isinstance(MODEL, TileCostModel)


@pytest.mark.parametrize("name", LAYERS)
def test_close_on_tiles_of_a_layer(name):
    model, simulated = predicted_and_simulated(LAYERS[name], 1)
    assert np.mean(np.abs(model / simulated - 1)) < 0.05
    if np.unique(np.round(simulated)).size > 1:
        assert rank_correlation(model, simulated) > 0.98


def test_close_over_all_layers():
    model, simulated = np.hstack([predicted_and_simulated(w, 2) for w in LAYERS.values()])
    assert np.mean(np.abs(model / simulated - 1)) < 0.02
    assert rank_correlation(model, simulated) > 0.995


@pytest.mark.parametrize("name", LAYERS)
def test_vectorised(name):
    """An array of tiles gives what its tiles give one by one."""
    layer, rng = LAYERS[name], np.random.default_rng(3)
    tiles = [lengths(random_ranges(layer, rng)) for _ in range(6)]
    together = {dim: np.array([tile[dim] for tile in tiles]) for dim, _ in layer.dims}
    alone = [float(MODEL.kernel_cycles(layer, tile)) for tile in tiles]
    np.testing.assert_allclose(np.broadcast_to(MODEL.kernel_cycles(layer, together), 6), alone)


@pytest.mark.parametrize("name", LAYERS)
def test_a_call_costs_its_overhead(name):
    layer = LAYERS[name]
    dear = PulpNN(call=1000.0).kernel_cycles(layer, lengths(whole(layer)))
    assert dear - MODEL.kernel_cycles(layer, lengths(whole(layer))) == pytest.approx(968)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("taps", [9, 16])
def test_weights_beside_16_bit_inputs_move_as_they_are_packed(dtype, taps):
    """Two bytes each, whatever the model has; odd rows have half a word more."""
    x = Quantized("int16", 0.1, 0)
    tail = full_range("int16", 0)
    layer = dense(x, x, rows=1, inputs=taps, outputs=8, scales=8, tail=tail, weight_dtype=dtype)
    weight = layer.operand("weight")
    model = np.asarray(3 * taps * (weight.nbytes // weight.size))
    moved = PulpNN().as_stored(layer, Block(weight, model, np.asarray(1)))
    assert moved.nbytes == 3 * weight_row_bytes(layer)


def test_weights_of_half_precision_move_as_they_are_packed():
    """The packed tile's bytes, odd rows with half a word more; other operands as they are."""
    for inputs in (6, 7):
        layer = short(real_dense(rows=1, inputs=inputs, outputs=12, bias=True))
        moved = {
            name: PulpNN().as_stored(
                layer, Block(layer.operand(name), np.asarray(4 * size), np.asarray(1))
            )
            for name, size in (("weight", 5 * inputs), ("bias", 5))
        }
        assert moved["weight"].nbytes == 5 * weight_row_bytes(layer)
        assert moved["bias"].nbytes == 20
