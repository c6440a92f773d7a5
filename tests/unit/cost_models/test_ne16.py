"""NE16's cost model: fitted to half of the measurements, and close to the simulated tiles."""

from pathlib import Path

import numpy as np
import pytest

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.cost_models.ne16 import ClosedForm, Ne16Cost
from match_aie.hardware import Block
from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile
from match_aie.targets.gap9.timing.measured import halves, read_layers, read_transfers
from match_aie.targets.gap9.timing.ne16 import run_turns, tile_turns
from match_aie.workload import Quantized, Window, conv2d

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
FILTERS = {Mode.CONV3X3: "conv3x3", Mode.DEPTHWISE: "depthwise", Mode.CONV1X1: "conv1x1"}


@pytest.fixture(scope="module")
def layers():
    if not DATA.exists():
        pytest.skip("needs ne16_cycles.csv of the shared data, which is not here")
    return read_layers(DATA / "ne16_cycles.csv")


def cycles(form, measured):
    layer, tile = measured.layer, measured.tile
    image = np.asarray(tile.rows), np.asarray(tile.columns)
    channels = np.asarray(tile.inputs), np.asarray(tile.outputs)
    bits = layer.weight_bits, layer.scale_bits
    return float(form.cycles(FILTERS[layer.mode], image, *channels, *bits))


def fitted(layers):
    """Least squares of relative errors: the form is linear in its constants."""
    nothing = ClosedForm(0, 0, 0, 0)
    units = [ClosedForm(*(float(i == j) for j in range(4))) for i in range(4)]
    base = np.array([cycles(nothing, layer) for layer in layers])
    each = np.array([[cycles(unit, layer) for unit in units] for layer in layers]) - base[:, None]
    measured = np.array([layer.cycles for layer in layers])
    rest = (measured - base - Ne16Cost().job) / measured
    answer, *_ = np.linalg.lstsq(each / measured[:, None], rest, rcond=None)
    return ClosedForm(*(round(float(value), 1) for value in answer))


def test_constants_are_the_fit_to_half_of_the_rows(layers):
    some, _ = halves(layers)
    assert fitted(some) == ClosedForm()


def test_the_other_half(layers):
    _, held_out = halves(layers)
    found = [(cycles(ClosedForm(), x) + Ne16Cost().job) / x.cycles - 1 for x in held_out]
    assert np.abs(found).mean() <= 0.03
    assert np.abs(found).max() <= 0.08


def workload(mode, stride, size, inputs, outputs):
    filter_ = 1 if mode is Mode.CONV1X1 else 3
    pad = filter_ // 2
    depthwise = mode is Mode.DEPTHWISE
    return conv2d(
        Quantized("uint8", 0.1),
        Quantized("uint8", 0.1),
        shape=(1, size, size, outputs if depthwise else inputs),
        weight_shape=(outputs, filter_, filter_, 1 if depthwise else inputs),
        groups=outputs if depthwise else 1,
        window=Window((stride, stride), (1, 1), (pad, pad, pad, pad)),
    )


def random_tiles(rng, count=200):
    """(workload, tile sizes, the same as a tile of jobs), over modes, strides and sizes."""
    for _ in range(count):
        mode = Mode(int(rng.integers(0, 3)))
        stride, size = int(rng.integers(1, 3)), int(rng.integers(6, 50))
        inputs, outputs = (int(rng.choice([8, 16, 32, 64])) for _ in range(2))
        layer = workload(mode, stride, size, inputs, outputs)
        extent = layer.sizes["OY"]
        rows, columns = (int(rng.integers(1, extent + 1)) for _ in range(2))
        k = int(rng.choice([d for d in (8, 16, 32, 64) if outputs % d == 0 and d <= outputs]))
        dims = {**layer.sizes, "OY": rows, "OX": columns}
        dims["G" if mode is Mode.DEPTHWISE else "K"] = k
        filter_ = layer.sizes["FY"]
        seen = [(n - 1) * stride + filter_ - filter_ // 2 for n in (rows, columns)]
        lanes = k if mode is Mode.DEPTHWISE else inputs
        jobs = Ne16Tile(rows, columns, k, *seen, lanes, filter_ // 2, filter_ // 2)
        yield layer, dims, (Ne16Layer(mode, stride), jobs)


def test_tiles_cost_what_they_are_simulated_to():
    predicted, simulated = [], []
    for layer, dims, jobs in random_tiles(np.random.default_rng(4)):
        tile = {dim: np.asarray(size) for dim, size in dims.items()}
        predicted.append(float(Ne16Cost().kernel_cycles(layer, tile)))
        turns = tile_turns(*jobs)
        _, queue = run_turns(turns, 0.0)
        simulated.append(max(queue.last - turns[0].program, 578.0))
    error = np.abs(np.array(predicted) / np.array(simulated) - 1)
    assert error.mean() <= 0.05
    ranks = [np.argsort(np.argsort(values)) for values in (predicted, simulated)]
    assert np.corrcoef(*ranks)[0, 1] >= 0.98


def test_vectorised_over_tiles():
    layer = workload(Mode.CONV3X3, 1, 20, 32, 64)
    sizes = {dim: np.asarray(size) for dim, size in layer.sizes.items()}
    many = {**sizes, "OY": np.array([3, 10, 20]), "K": np.array([32, 40, 64])}
    together = Ne16Cost().kernel_cycles(layer, many)
    for at in range(3):
        one = {**sizes, "OY": many["OY"][at], "K": many["K"][at]}
        assert together[at] == Ne16Cost().kernel_cycles(layer, one)


def test_stride_two_counts_jobs():
    """576 jobs of 2x2 pixels, whose programming takes longer than they do."""
    layer = workload(Mode.CONV3X3, 2, 96, 3, 8)
    sizes = {dim: np.asarray(size) for dim, size in layer.sizes.items()}
    model = Ne16Cost()
    # The first job runs while the second is programmed whole.
    expected = 574 * model.reprogram + model.program
    assert model.kernel_cycles(layer, sizes) == pytest.approx(expected, rel=0.003)


def test_transfers():
    if not DATA.exists():
        pytest.skip("needs dma_cycles.csv of the shared data, which is not here")
    for row in read_transfers(DATA / "dma_cycles.csv"):
        moved = row.transfer
        nbytes, lines = np.asarray(moved.nbytes), np.asarray(moved.lines)
        found = float(MchanTransfers().moved_cycles(nbytes, lines, moved.direction))
        # What a core notices late, and the cold caches of the first transfer, are not charged.
        assert -8 <= found - row.cycles <= 8 or row.cold


@pytest.mark.parametrize(
    ("mode", "inputs", "outputs", "packed"),
    [
        (Mode.CONV3X3, 3, 8, 8 * 144),
        (Mode.CONV1X1, 40, 32, 32 * 48),
        (Mode.DEPTHWISE, 8, 8, 144),
        (Mode.DEPTHWISE, 64, 64, 576),
    ],
)
def test_bytes_of_packed_weights(mode, inputs, outputs, packed):
    layer = workload(mode, 1, 9, inputs, outputs)
    weight = layer.operand("weight")
    assert Ne16Cost().packed(layer, Block(weight, np.asarray(weight.nbytes), 1)) == packed
