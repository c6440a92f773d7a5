"""NE16's cost model: fitted to half of the measurements, and close to the simulated tiles."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.cost_models.mchan import MchanTransfers
from match_aie.cost_models.ne16 import Ne16Cost
from match_aie.cost_models.ne16_form import ClosedForm
from match_aie.hardware import Block, Cut, Loop, Mapping
from match_aie.lowering.tiles import tile_program
from match_aie.mapping.evaluate import Evaluation, overfull
from match_aie.mapping.space import candidates
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile
from match_aie.targets.gap9.ne16.module import Ne16
from match_aie.targets.gap9.timing.controller import Access, Code
from match_aie.targets.gap9.timing.ne16 import Turn, run_turns, tile_turns
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.targets.gap9.timing.timed import halves, read_layers, read_transfers
from match_aie.workload import Quantized, Tail, Window, conv2d, with_fixed_tail
from tests.shared import DATA

FILTERS = {Mode.CONV3X3: "conv3x3", Mode.DEPTHWISE: "depthwise", Mode.CONV1X1: "conv1x1"}


@pytest.fixture(scope="module")
def layers():
    return read_layers(DATA / "ne16_cycles.csv")


def cycles(form, measured):
    layer, tile = measured.layer, measured.tile
    image = np.asarray(tile.rows), np.asarray(tile.columns)
    channels = np.asarray(tile.inputs), np.asarray(tile.outputs)
    bits = layer.weight_bits, layer.scale_bits
    zeros = (
        tile.rows + layer.filter - 1 - tile.top - tile.in_rows,
        tile.columns + layer.filter - 1 - tile.left - tile.in_columns,
    )
    return float(form.cycles(FILTERS[layer.mode], image, *channels, *bits, zeros=zeros))


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


def random_layers(rng, count=150):
    """(workload, the same as a tile of jobs), over modes, strides and sizes."""
    for _ in range(count):
        mode = Mode(int(rng.integers(0, 3)))
        stride, size = int(rng.integers(1, 3)), int(rng.integers(3, 50))
        inputs, outputs = (int(rng.choice([8, 16, 32, 64])) for _ in range(2))
        layer = workload(mode, stride, size, inputs, outputs)
        rows, pad = layer.sizes["OY"], layer.sizes["FY"] // 2
        lanes = outputs if mode is Mode.DEPTHWISE else inputs
        tile = Ne16Tile(rows, rows, outputs, size, size, lanes, pad, pad)
        yield layer, (Ne16Layer(mode, stride), tile)


def rank_correlation(a, b):
    """Spearman's, equal values at their mean rank."""

    def ranks(values):
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(count) - (count - 1) / 2)[place]

    return np.corrcoef(ranks(np.round(a, 6)), ranks(np.round(b, 6)))[0, 1]


def programmed(turns):
    """The jobs of a tile with what the emitted code takes to program them."""
    code, access = Code(), Access()
    works = [code.second if number < 2 else code.later for number in range(len(turns))]
    return [Turn(w.cycles(access), turn.run) for w, turn in zip(works, turns, strict=True)]


def test_whole_layers_cost_what_they_are_simulated_to():
    predicted, simulated = [], []
    for layer, jobs in random_layers(np.random.default_rng(4)):
        tile = {dim: np.asarray(size) for dim, size in layer.dims}
        predicted.append(float(Ne16Cost().kernel_cycles(layer, tile)))
        turns = programmed(tile_turns(*jobs))
        _, queue = run_turns(turns, 0.0)
        simulated.append(queue.last - turns[0].program)
    error = np.abs(np.array(predicted) / np.array(simulated) - 1)
    assert error.mean() <= 0.03
    assert rank_correlation(predicted, simulated) >= 0.99


def random_mapping(layer, module, rng):
    """A nest of tiles of random sizes in random order; each operand cut at a random loop."""
    unroll = {loop.dim: loop.size for loop in module.spatial(layer)}
    tile = {}
    for dim in ("G", "K", "OY", "OX"):
        size = layer.sizes[dim]
        tile[dim] = int(rng.choice(candidates(size, min(unroll.get(dim, 1), size), "ragged")))
    cut = [dim for dim in tile if tile[dim] < layer.sizes[dim]]
    loops = [Loop(dim, -(-layer.sizes[dim] // tile[dim]), tile[dim]) for dim in cut]
    loops = [loops[at] for at in rng.permutation(len(loops))]
    cuts = []
    for names in (("x",), ("weight", "multiplier", "offset"), ("y",)):
        axes = [axis for name in names for axis in layer.operand(name).axes]
        moving = {dim for axis in axes for dim, _ in axis.terms}
        index = int(rng.integers(0, len(loops) + 1))
        while index and loops[index - 1].dim not in moving:
            index -= 1
        cuts += [Cut(name, "L1", index) for name in names]
    kernel = max(cut.index for cut in cuts)
    kept = {dim: layer.sizes[dim] for dim, _ in layer.dims} | {
        loop.dim: loop.step for loop in loops[:kernel]
    }
    inside = [Loop(d, -(-s // unroll.get(d, 1)), unroll.get(d, 1)) for d, s in kept.items()]
    inside = [loop for loop in inside if loop.size > 1]
    nest = (*loops[:kernel], *inside)
    return Mapping(tuple(module.spatial(layer)), nest, kernel, tuple(cuts))


def in_fixed_point(layer):
    """A layer as the module converts it; nothing depends on the values."""
    channels = layer.output.shape[-1]
    return with_fixed_tail(
        layer, Tail(0, 0, 255, "floor", 20), multiplier=channels, offset=channels, bias=False
    )


def test_mappings_rank_as_they_are_simulated():
    module, rng = Ne16(60_000), np.random.default_rng(5)
    timing = Gap9Timing(260e6, offload=0.0)
    simulator = ScratchpadSimulator(timing)
    predicted, simulated = [], []
    for mode, stride, size, inputs, outputs in (
        (Mode.CONV3X3, 1, 20, 32, 64),
        (Mode.CONV3X3, 2, 32, 16, 32),
        (Mode.CONV1X1, 1, 24, 16, 64),
        (Mode.DEPTHWISE, 1, 24, 64, 64),
    ):
        layer = in_fixed_point(workload(mode, stride, size, inputs, outputs))
        model = module.cost_model(layer)
        for _ in range(40):
            mapping = random_mapping(layer, module, rng)
            if overfull(layer, module, model, mapping):
                continue
            program = replace(tile_program(layer, module, mapping), near=True)
            predicted.append(Evaluation(layer, module, model, mapping).cost().cycles)
            simulated.append(simulator.layer("ne16", layer, program))
    assert len(predicted) > 100
    error = np.abs(np.array(predicted) / np.array(simulated) - 1)
    assert error.mean() <= 0.05
    assert rank_correlation(predicted, simulated) >= 0.98


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
    expected = 574 * model.controller.reprogram + model.controller.second
    assert model.kernel_cycles(layer, sizes) == pytest.approx(expected, rel=0.003)


def test_transfers():
    for row in read_transfers(DATA / "dma_cycles.csv"):
        moved = row.transfer
        nbytes, lines = np.asarray(moved.nbytes), np.asarray(moved.lines)
        found = float(MchanTransfers().alone_cycles(nbytes, lines, moved.direction))
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
