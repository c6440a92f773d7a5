"""NE16's emulation: equal to the recorded cases bit for bit, and strict about its registers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ne16_layers import layers, tiles
from ne16_library import (
    BASE,
    COMPILERS,
    addresses,
    answer,
    dtype_of,
    emulation,
    place,
    random_case,
)

from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile, tile_registers
from match_aie.targets.gap9.timing.timed import read_layers
from tests.shared import DATA


@pytest.fixture(scope="module", params=COMPILERS)
def ne16(request, tmp_path_factory):
    return emulation(tmp_path_factory.mktemp("ne16"), request.param)


@pytest.fixture(scope="module")
def golden():
    return np.load(DATA / "ne16_golden.npz")


@pytest.mark.parametrize("case", read_layers(DATA / "ne16_cycles.csv"), ids=lambda case: case.name)
def test_recorded_cases(ne16, golden, case):
    layer, tile, name = case.layer, case.tile, case.name
    kind = {0: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32}[layer.scale_bits]
    bias = golden[f"{name}.bias"] if f"{name}.bias" in golden else np.zeros(tile.outputs, np.int32)
    parts = [
        golden[f"{name}.x"],
        golden[f"{name}.packed_w"],
        golden[f"{name}.scale"].astype(kind),
        bias,
        golden[f"{name}.y"],
    ]
    offsets = place(parts)
    for offset, part in zip(offsets[:-1], parts[:-1], strict=True):
        ne16.put(offset, part)
    ((registers),) = tile_registers(layer, tile, addresses(offsets))
    number = ne16.job(registers)
    assert ne16.message == ""
    ne16.wait(number)
    expected = golden[f"{name}.y"]
    found = ne16.get(offsets[-1], expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=120)
@given(st.data())
def test_tiles_equal_their_definition(ne16, data):
    layer = data.draw(layers())
    tile = data.draw(tiles(layer))
    x, weight, scale, bias, packed = random_case(layer, tile, data.draw(st.integers(0, 99)))
    y = np.zeros((tile.rows, tile.columns, tile.outputs), dtype_of(layer))
    offsets = place([x, packed, scale, bias, y])
    for offset, part in zip(offsets, (x, packed, scale, bias), strict=False):
        ne16.put(offset, part)
    ne16.tile(layer, tile, offsets)
    assert ne16.message == ""
    found = ne16.get(offsets[-1], y.dtype, y.shape)
    np.testing.assert_array_equal(found, answer(layer, tile, x, weight, scale, bias))


SMALL = Ne16Layer(Mode.CONV3X3, 1, 8, 1, 16, True, 18, True)
SMALL_TILE = Ne16Tile(5, 5, 32, 5, 5, 16, 1, 1)


def small(ne16):
    x, weight, scale, bias, packed = random_case(SMALL, SMALL_TILE, 1)
    y = np.zeros((5, 5, 32), np.uint8)
    offsets = place([x, packed, scale, bias, y])
    for offset, part in zip(offsets, (x, packed, scale, bias), strict=False):
        ne16.put(offset, part)
    ((registers),) = tile_registers(SMALL, SMALL_TILE, addresses(offsets))
    expected = answer(SMALL, SMALL_TILE, x, weight, scale, bias)
    return list(registers), offsets, expected


@pytest.mark.parametrize(
    ("index", "value", "reason"),
    [
        (23, 0x0010A090 & ~7, "weight bits 1; legal is 2 to 8"),
        (23, 0x02089017 | 3 << 5, "filter mode 3; legal is 0 to 2"),
        (23, 0x02089817, "rounding is not implemented"),
        (20, 3 << 28, "rows of zeros above 3; legal is 0 to 2"),
        (20, 1 << 28 | 131, "padding value 131; legal is 0"),
        (15, 33 << 16 | 16, "last output channels 33; legal is 1 to 32"),
        (16, 4 << 16 | 2, "rows of the last tile 4; legal is 1 to 3"),
        (17, 9 << 16 | 3, "input rows of the last tile 9; legal is 1 to 4"),
        (18, 0 << 16 | 1, "blocks of output channels 0"),
        (21, 5, "weight offset 5; legal is -255 to 0"),
        (12, 16, "first weight stride 16; legal is 18"),
        (0, BASE + 131072 - 4607, "register 0 (weights) is 0x1001ee01"),
        (1, BASE - 1, "register 1 (inputs) is 0x0fffffff"),
        (2, 0, "register 2 (outputs) is 0x00000000"),
        (5, BASE + 131072, "register 5 (biases) is 0x10020000"),
        (5, BASE + 2, "register 5 is 0x10000002, not aligned"),
    ],
)
def test_registers_out_of_range(ne16, index, value, reason):
    registers, _, _ = small(ne16)
    registers[index] = value
    ne16.job(registers)
    assert reason in ne16.message


def test_outputs_are_there_after_the_wait_only(ne16):
    registers, offsets, expected = small(ne16)
    number = ne16.job(registers)
    assert np.all(ne16.get(offsets[4], np.uint8, expected.shape) == 0xA5)
    ne16.wait(number)
    np.testing.assert_array_equal(ne16.get(offsets[4], np.uint8, expected.shape), expected)


def test_a_third_job_completes_the_first(ne16):
    registers, offsets, expected = small(ne16)
    for copy in range(3):
        registers[2] = BASE + offsets[4] + copy * 1024
        last = ne16.job(registers)
    np.testing.assert_array_equal(ne16.get(offsets[4], np.uint8, expected.shape), expected)
    assert np.all(ne16.get(offsets[4] + 1024, np.uint8, expected.shape) == 0xA5)
    ne16.wait(last)
    np.testing.assert_array_equal(ne16.get(offsets[4] + 2048, np.uint8, expected.shape), expected)


def test_jobs_run_in_order(ne16):
    """A job that overwrites what an earlier one reads runs after it."""
    registers, offsets, expected = small(ne16)
    copied = offsets[4] + 1024
    ne16.put(copied, ne16.get(offsets[0], np.uint8, (5, 5, 16)))
    first = list(registers)
    first[1] += copied - offsets[0]
    ne16.job(first)
    registers[2] = BASE + copied
    ne16.wait(ne16.job(registers))
    assert ne16.message == ""
    np.testing.assert_array_equal(ne16.get(offsets[4], np.uint8, expected.shape), expected)
    np.testing.assert_array_equal(ne16.get(copied, np.uint8, expected.shape), expected)


def test_a_job_may_not_write_what_it_reads(ne16):
    registers, offsets, _ = small(ne16)
    registers[2] = BASE + offsets[0] + 399
    ne16.job(registers)
    assert "writes where it reads (NE16 reading weights)" in ne16.message


def test_who_touches_a_running_job(ne16):
    registers, offsets, _ = small(ne16)
    number = ne16.job(registers)
    ne16.library.test_touch(offsets[0], 16, 0)
    assert ne16.message == ""
    ne16.library.test_touch(offsets[0], 16, 1)
    assert "not waited for (NE16 reading inputs)" in ne16.message
    ne16.library.test_touch(offsets[4] + 799, 1, 0)
    assert "not waited for (NE16 writing outputs)" in ne16.message
    ne16.library.test_touch(offsets[4] + 800, 1, 1)
    assert ne16.message == ""
    ne16.library.test_idle()
    assert "not waited for" in ne16.message
    ne16.wait(number)
    ne16.library.test_touch(offsets[0], 16, 1)
    ne16.library.test_idle()
    assert ne16.message == ""


def test_operands_must_have_arrived(ne16):
    registers, offsets, _ = small(ne16)
    ne16.library.test_outstanding(offsets[1] + 4600, offsets[1] + 4601)
    ne16.job(registers)
    assert ne16.message == "NE16 reading weights: a transfer is outstanding"
    ne16.library.test_outstanding(0, 0)


def test_the_protocol(tmp_path):
    ne16 = emulation(tmp_path, COMPILERS[0])
    ne16.library.test_write(3, 0)
    assert "while no job is acquired" in ne16.message
    ne16.library.test_acquire()
    ne16.library.test_write(24, 7)
    assert ne16.message == "NE16: register 24 is written (0x00000007); legal are 0 to 23"
    ne16.library.test_acquire()
    assert "is acquired before job" in ne16.message


def test_stream_in_adds_to_what_is_there(ne16):
    layer = Ne16Layer(Mode.CONV1X1, 1, 8, 4, 0, False, 0, True)
    tile = Ne16Tile(4, 3, 10, 4, 3, 20)
    x, weight, scale, bias, packed = random_case(layer, tile, 3)
    y = np.full((4, 3, 10), 1000, np.int32)
    offsets = place([x, packed, scale, bias, y])
    for offset, part in zip(offsets, (x, packed, scale, bias, y), strict=True):
        ne16.put(offset, part)
    ((registers),) = tile_registers(layer, tile, addresses(offsets))
    registers = [*registers[:23], registers[23] | 1 << 14]
    ne16.wait(ne16.job(registers))
    expected = answer(layer, tile, x, weight, scale, bias) + 1000
    np.testing.assert_array_equal(ne16.get(offsets[4], np.int32, y.shape), expected)
