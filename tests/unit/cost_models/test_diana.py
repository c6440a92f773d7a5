"""DIANA's cost model: the published form, and close to the array walked row by row."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.diana import DianaDigital, packed_bytes
from match_aie.errors import Infeasible
from match_aie.hardware import TileCostModel
from match_aie.lowering import tile_program
from match_aie.mapping import search
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.diana.facts import FACTS
from match_aie.targets.diana.module import DigitalArray
from match_aie.targets.diana.packing import pack, swap_words
from match_aie.targets.diana.patterns import refuses
from match_aie.targets.diana.timing import DianaTiming, array_cycles
from match_aie.workload import Quantized, Window, conv2d, dense, elementwise, full_range

MODEL = DianaDigital()
I8 = Quantized("int8", 0.5, 0)
TAIL = full_range("int8", 0)


def convolution(c, k, rows, columns, size=3, stride=1, depthwise=False, padding=None):
    """With SAME padding, the same on all sides where nothing else is said."""
    return conv2d(
        I8,
        I8,
        shape=(1, rows, columns, c),
        weight_shape=(c, size, size, 1) if depthwise else (k, size, size, c),
        groups=c if depthwise else 1,
        window=Window((stride, stride), padding=padding or (size // 2,) * 4),
        scales=1,
        tail=TAIL,
    )


def linear(rows, inputs, outputs):
    return dense(I8, I8, rows=rows, inputs=inputs, outputs=outputs, scales=1, tail=TAIL)


def converted(workload, seed=0):
    """In the array's arithmetic, with constants."""
    rng = np.random.default_rng(seed)
    constants = {}
    for operand in workload.constants:
        if operand.name == "scale":
            constants["scale"] = np.full(operand.shape, 2.0**-5, np.float32)
        elif operand.name == "weight":
            constants["weight"] = rng.integers(-128, 128, operand.shape).astype(np.int8)
        else:
            constants["bias"] = rng.integers(-(2**15), 2**15, operand.shape).astype(np.int32)
    return DigitalArray().convert(workload, constants)


SUM = (1, 32, 32, 16)
LAYERS = {
    "conv": convolution(64, 64, 32, 32),
    "first": convolution(3, 16, 32, 32),
    "halved": convolution(16, 32, 32, 32, stride=2),
    "behind": convolution(16, 32, 32, 32, stride=2, padding=(0, 0, 1, 1)),
    "inside": convolution(16, 16, 9, 20, 5, padding=(0, 2, 1, 0)),
    "wide": convolution(20, 33, 17, 29, 5),
    "five": convolution(32, 16, 9, 40, 5, 2),
    "point": convolution(64, 128, 12, 12, 1),
    "depthwise": convolution(64, 0, 25, 5, depthwise=True),
    "dense": linear(1, 640, 128),
    "rows": linear(5, 70, 37),
    "add": elementwise("add", I8, I8, I8, shape=SUM, shape1=SUM, out=SUM, tail=TAIL),
}


def whole(workload):
    return SimpleNamespace(ranges={dim: (0, size) for dim, size in workload.dims})


def cycles(workload):
    """Of the kernel on the whole layer, as the cost model says."""
    return float(MODEL.kernel_cycles(workload, {d: np.asarray(n) for d, n in workload.dims}))


def test_is_a_tile_cost_model():
    assert isinstance(MODEL, TileCostModel)


def test_the_published_layer():
    """246,528 cycles, 153.1 MAC per cycle; with its transfers near the 146.1 that were measured."""
    layer = LAYERS["conv"]
    assert cycles(layer) == 246_528
    assert layer.macs / cycles(layer) == pytest.approx(153.1, abs=0.05)
    found = search(converted(layer).workload, DigitalArray())
    assert not isinstance(found, Infeasible)
    assert layer.macs / found[0].cost.cycles == pytest.approx(146.12, rel=0.02)


@pytest.mark.parametrize("name", LAYERS)
def test_whole_layers_as_the_array_walks_them(name):
    assert cycles(LAYERS[name]) == pytest.approx(array_cycles(LAYERS[name], whole(LAYERS[name])))


@given(st.integers(1, 40), st.integers(1, 33), st.integers(1, 33), st.sampled_from([1, 3, 5, 7]))
def test_tiles_of_rows_add_up(channels, rows, columns, size):
    """The model's rows are average ones, the timing's each its own: all of them are the layer."""
    layer = convolution(channels, 16, rows, columns, size)
    parts = [
        array_cycles(layer, SimpleNamespace(ranges={**whole(layer).ranges, "OY": (row, 1)}))
        for row in range(rows)
    ]
    assert sum(parts) == pytest.approx(cycles(layer))


@pytest.mark.parametrize("activations", [1_024, 16_384])
@pytest.mark.parametrize("name", LAYERS)
def test_mappings_take_what_they_are_simulated_to(name, activations):
    """Transfers and the controller's walk included, on tiles of small memories.

    More than 32 tiles are walked by loops, which take ten times as long a tile. Tiles at a border
    are priced as average ones.
    """
    module, layer = DigitalArray(activations, 40_960), converted(LAYERS[name])
    found = search(layer.workload, module)
    assert not isinstance(found, Infeasible)
    tiles = tile_program(layer.workload, module, found[0].mapping)
    simulator = ScratchpadSimulator(DianaTiming(FACTS.frequency_hz))
    simulated = simulator.layer(module.name, layer.workload, tiles)
    assert found[0].cost.cycles == pytest.approx(
        simulated, rel=0.02 if activations > 2_048 else 0.035
    )


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "add"])
def test_packed_constants_are_as_long_as_the_model_says(name):
    found = converted(LAYERS[name])
    packed = pack(found.workload, found.constants)
    for constant in ("weight", "offset"):
        assert packed[constant].nbytes == packed_bytes(found.workload, constant)


def test_layout():
    """Lanes innermost, words reversed; offsets as planes of bytes; depthwise every fourth lane."""
    found = converted(LAYERS["wide"])
    weight = found.constants["weight"]
    rows = swap_words(pack(found.workload, found.constants)["weight"])
    blocks = rows.reshape(3, 32, 5, 5, 16)
    assert blocks[1, 5, 2, 4, 3] == weight[19, 2, 4, 5]
    assert not blocks[2, :, :, :, 1:].any()
    assert not blocks[:, 20:].any()
    planes = swap_words(pack(found.workload, found.constants)["offset"]).reshape(3, 4, 16)
    values = np.ascontiguousarray(planes.transpose(0, 2, 1)).view("<i4").reshape(-1)
    assert np.array_equal(values[:33], found.constants["offset"])
    single = converted(LAYERS["depthwise"])
    lanes = swap_words(pack(single.workload, single.constants)["weight"]).reshape(16, 9, 4, 4)
    assert np.array_equal(
        lanes[..., 0].transpose(0, 2, 1).reshape(64, 9),
        single.constants["weight"].reshape(64, 9),
    )
    assert not lanes[..., 1:].any()


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        (convolution(16, 16, 8, 8, 2), "2x2"),
        (
            convolution(16, 16, 8, 8, padding=(1, 1, 2, 1)),
            "pads (1, 1, 2, 1); the array pads up to 1 a side",
        ),
        (convolution(16, 16, 9, 9, stride=3), "stride"),
        (
            conv2d(
                *(I8, I8),
                shape=(1, 8, 8, 16),
                weight_shape=(16, 1, 1, 8),
                groups=2,
                scales=1,
                tail=TAIL,
            ),
            "groups",
        ),
        (
            dense(
                Quantized("uint8", 0.5, 0), I8, rows=1, inputs=16, outputs=16, scales=1, tail=TAIL
            ),
            "uint8",
        ),
    ],
)
def test_refusals(workload, reason):
    assert reason in (refuses(workload) or "")


@pytest.mark.parametrize("channels", [33, 48])
def test_weights_are_cut_in_blocks_of_16(channels):
    """Whole or not: together they do not fit the weight memory."""
    found = search(converted(convolution(20, channels, 9, 9, 7)).workload, DigitalArray())
    assert not isinstance(found, Infeasible)
    assert any(loop.dim == "K" for loop in found[0].mapping.temporal)


def test_takes_what_it_says():
    assert not any(refuses(workload) for workload in LAYERS.values())


def test_transfers_block():
    """70 cycles a piece and 16 bytes a cycle, all of them the controller's."""
    region = SimpleNamespace(lines=(100, (3, 2)))
    time = DianaTiming(FACTS.frequency_hz).transfer(region, store=False)
    assert (time.program, time.engine) == (6 * (70 + 7), 0.0)
