"""What NE16 takes and refuses, and how its constants and tiles look."""

import re
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import ModelError
from match_aie.hardware import convert
from match_aie.mapping import SearchOptions, search
from match_aie.targets.gap9.ne16.job import Mode, Ne16Tile
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tile, ne16_tiles, pack
from match_aie.targets.gap9.ne16.module import Ne16
from match_aie.targets.gap9.ne16.packing import unpack_weights
from match_aie.targets.gap9.ne16.patterns import PATTERNS, refuses
from match_aie.workload import Quantized, Tail, Window, conv2d, dense, full_range, reference


def convolution(
    *,
    channels=16,
    outputs=32,
    size=3,
    stride=(1, 1),
    padding=(1, 1, 1, 1),
    dilation=(1, 1),
    groups=1,
    x=Quantized("uint8", 0.05),
    y=Quantized("uint8", 0.4),
    tail=None,
    weight_dtype="int8",
    image=(12, 10),
):
    return conv2d(
        x,
        y,
        shape=(1, *image, channels),
        weight_shape=(outputs, size, size, channels // groups),
        groups=groups,
        window=Window(stride, dilation, padding),
        weight_dtype=weight_dtype,
        tail=tail or full_range(y.dtype, y.zero_point),
        scales=outputs,
    )


def constants_of(workload, seed=0):
    rng = np.random.default_rng(seed)
    weight, bias, scale = (workload.operand(name) for name in ("weight", "bias", "scale"))
    return {
        "weight": rng.integers(-128, 128, weight.shape).astype(np.int8),
        "bias": rng.integers(-3000, 3000, bias.shape).astype(np.int32),
        "scale": rng.uniform(1e-4, 1e-3, scale.shape).astype(np.float32),
    }


@pytest.mark.parametrize(
    "workload",
    [
        convolution(),
        convolution(stride=(2, 2), padding=(0, 0, 1, 1)),
        convolution(size=1, padding=(0,) * 4, stride=(2, 2)),
        convolution(channels=32, groups=32),
        convolution(y=Quantized("int8", 0.4, -3)),
        convolution(x=Quantized("uint8", 0.05, 124), padding=(0,) * 4),
        convolution(x=Quantized("uint8", 0.05, 124)),
    ],
)
def test_what_it_takes(workload):
    assert refuses(workload) is None


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        (convolution(x=Quantized("int8", 0.05)), "NE16 reads uint8 activations only"),
        (convolution(x=Quantized("uint8", 0.05, 9), image=(1, 9)), "its image has a single line"),
        (convolution(tail=Tail(3, 3, 255)), "it clips to 3 .. 255"),
        (convolution(size=5), "its filter is 5x5"),
        (convolution(dilation=(2, 2), padding=(0,) * 4), "is dilated"),
        (convolution(stride=(2, 1)), r"its stride is \(2, 1\)"),
        (convolution(padding=(2, 2, 2, 2)), "it pads by 2"),
        (convolution(size=1), "it pads a 1x1 filter"),
        (convolution(groups=4), "it has 4 groups"),
        (convolution(outputs=32, channels=16, groups=16), "one per channel"),
        (convolution(outputs=33, stride=(2, 2)), "33 output channels; with stride 2"),
    ],
)
def test_what_it_refuses(workload, reason):
    found = refuses(workload)
    assert found is not None
    assert re.search(reason, found)


def test_pattern_names_are_unique():
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)


@pytest.mark.parametrize(
    ("least", "most", "zero"), [(-255, 0, 255), (-3, 252, 3), (0, 255, 0), (-40, -2, 40)]
)
@pytest.mark.parametrize("padded", [False, True])
def test_weights_less_a_zero_point(least, most, zero, padded):
    x, padding = Quantized("uint8", 0.05, 7), (1, 1, 1, 1) if padded else (0,) * 4
    workload = convolution(x=x, weight_dtype="int16", padding=padding)
    assert refuses(workload) is None
    constants = constants_of(workload)
    rng = np.random.default_rng(3)
    weight = rng.integers(least, most, workload.operand("weight").shape, endpoint=True)
    weight.flat[:2] = least, most
    constants["weight"] = weight.astype(np.int16)
    answer = convert(Ne16(), workload, constants)
    stored, operand = answer.constants["weight"], answer.workload.operand("weight")
    assert (operand.dtype, operand.zero_point, stored.dtype) == ("uint8", zero, np.uint8)
    np.testing.assert_array_equal(stored.astype(int) - zero, weight)
    assert ne16_layer(answer.workload).zero == zero
    flat = pack(answer.workload, answer.constants)["weight"].reshape(-1)
    planes = unpack_weights(flat, stored.shape, 8).view(np.uint8) ^ 0x80
    np.testing.assert_array_equal(planes, stored)
    image = rng.integers(0, 256, (1, 12, 10, 16)).astype(np.uint8)
    model = reference(workload, [image], constants).astype(int)
    own = reference(answer.workload, [image], answer.constants).astype(int)
    assert np.abs(model - own).max() <= 1


def test_weights_of_more_than_8_bits_are_declined():
    workload = convolution(weight_dtype="int16")
    constants = constants_of(workload)
    weight = constants["weight"].astype(np.int16)
    weight.flat[:2] = -129, 127
    found = convert(Ne16(), workload, {**constants, "weight": weight})
    assert found == "its weights reach from -129 to 127; NE16 takes at most 8 bits"


@pytest.mark.parametrize("groups", [1, 32])
def test_constants_as_ne16_reads_them(groups):
    module = Ne16()
    workload = convolution(channels=32, groups=groups)
    answer = convert(module, workload, constants_of(workload))
    assert answer.error_lsb < 1
    found = pack(answer.workload, answer.constants)
    weight = answer.constants["weight"]
    assert found["weight"].shape == ((2, 144) if groups == 32 else (32, 2 * 144))
    flat = found["weight"].reshape(-1)
    np.testing.assert_array_equal(
        unpack_weights(flat, weight.shape, 8, depthwise=groups == 32), weight
    )
    factors = found["multiplier"].astype(np.int64) @ [1, 256]
    np.testing.assert_array_equal(factors, answer.constants["multiplier"])


def test_conversion_stays_within_one_step_of_the_model():
    workload = convolution(x=Quantized("uint8", 0.05), y=Quantized("int8", 0.4, -3))
    constants = constants_of(workload)
    answer = convert(Ne16(), workload, constants)
    x = np.random.default_rng(1).integers(0, 256, (1, 12, 10, 16)).astype(np.uint8)
    model = reference(workload, [x], constants).astype(int)
    own = reference(answer.workload, [x], answer.constants).astype(int)
    assert np.abs(model - own).max() <= 1


def test_the_layers_jobs():
    workload = convolution(stride=(2, 2), y=Quantized("int8", 0.4, -3))
    answer = convert(Ne16(), workload, constants_of(workload))
    layer = ne16_layer(answer.workload)
    assert (layer.mode, layer.stride, layer.relu, layer.out_bytes) == (Mode.CONV3X3, 2, False, 1)
    assert layer.shift == answer.workload.tail.shift
    with pytest.raises(ModelError, match="without a shift"):
        ne16_layer(workload)


def test_a_tile_of_an_image():
    workload = convolution()
    whole = ne16_tile(workload, {})
    assert whole == Ne16Tile(12, 10, 32, 12, 10, 16, 1, 1)
    part = ne16_tile(workload, {"OY": (4, 4), "OX": (0, 5), "K": (8, 8)})
    assert part == Ne16Tile(4, 5, 8, 6, 6, 16, 0, 1)
    last = ne16_tile(workload, {"OY": (8, 4), "OX": (5, 5)})
    assert last == Ne16Tile(4, 5, 32, 5, 6, 16, 0, 0)


def test_rows_of_a_dense_layer_are_pixels_of_a_line():
    workload = dense(
        Quantized("uint8", 0.1),
        Quantized("uint8", 0.1),
        rows=6,
        inputs=40,
        outputs=10,
        tail=full_range("uint8", 0),
        scales=10,
    )
    assert ne16_tile(workload, {"B": (2, 3)}) == Ne16Tile(1, 3, 10, 1, 3, 40)


@pytest.mark.parametrize("l1_bytes", [4096, 12_000, 92_160])
def test_depthwise_tiles_are_whole_blocks_of_sixteen(l1_bytes):
    module = Ne16(l1_bytes)
    workload = convolution(channels=64, outputs=64, groups=64)
    answer = convert(module, workload, constants_of(workload))
    best = search(answer.workload, module, SearchOptions("exact"))[0]
    for loop in best.mapping.temporal[: best.mapping.kernel]:
        assert loop.dim != "G" or loop.step % 16 == 0


def test_too_small_an_l1_is_infeasible():
    module = Ne16(512)
    workload = convolution(channels=16, outputs=32)
    answer = convert(module, workload, constants_of(workload))
    found = search(answer.workload, module, SearchOptions("exact"))
    assert not isinstance(found, list)


def test_a_bordered_layer_is_nine_parts():
    """Padding that means 124: every part of the image has offsets of its own."""
    workload = convolution(x=Quantized("uint8", 0.05, 124), channels=3, outputs=8)
    answer = convert(Ne16(), workload, constants_of(workload))
    tiles = ne16_tiles(answer.workload, {})
    assert [(tile.rows, tile.columns) for tile in tiles[:3]] == [(1, 1), (1, 8), (1, 1)]
    assert sum(tile.rows * tile.columns for tile in tiles) == 120
    inner = ne16_tiles(answer.workload, {"OY": (4, 4), "OX": (2, 6)})
    assert inner == (Ne16Tile(4, 6, 8, 6, 8, 3, 0, 0),)
    offsets = pack(answer.workload, answer.constants)["offset"].reshape(9, 8)
    weight, factors = (answer.constants[name].astype(int) for name in ("weight", "multiplier"))
    lacking = weight[:, 0].sum(axis=(1, 2))
    np.testing.assert_array_equal(offsets[1] - offsets[4], factors * 124 * lacking)


def test_sums_are_stored_as_int32():
    workload = convolution(y=Quantized("int32"), tail=Tail(0, 0, 1))
    sums = replace(workload, tail=None, operands=tuple(_without_scale(workload)))
    assert refuses(sums) is None
    constants = constants_of(workload)
    del constants["scale"]
    answer = convert(Ne16(), sums, constants)
    layer = ne16_layer(answer.workload)
    assert (layer.out_bytes, layer.shift, layer.relu) == (4, 0, False)
    assert answer.error_lsb == 0


def _without_scale(workload):
    return [operand for operand in workload.operands if operand.name != "scale"]
