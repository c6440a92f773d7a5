"""The C function of emitted code and `tile_registers` write the same registers."""

import ctypes
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ne16_layers import layers, tiles
from ne16_library import COMPILERS, HERE, build, c_layer, c_tile

from match_aie.targets.gap9.ne16.job import Mode, Ne16Addresses, Ne16Layer, Ne16Tile, tile_registers

AT = Ne16Addresses(0x10004000, 0x10001000, 0x10000100, 0x10000200, 0x10009000)


@pytest.fixture(scope="module", params=COMPILERS)
def recorder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorder")
    library = build(folder, request.param, HERE / "ne16_recorder.c")
    library.test_record.restype = ctypes.POINTER(ctypes.c_uint32)
    return library


def record(library, layer, tile):
    at = (ctypes.c_uint32 * 5)(AT.x, AT.weight, AT.scale, AT.bias, AT.y)
    found = (ctypes.c_uint32 * 2)()
    words = library.test_record(c_layer(layer), c_tile(layer, tile), at, found)
    count, writes = found
    return [tuple(words[24 * job : 24 * job + 24]) for job in range(count)], writes


@settings(max_examples=200)
@given(st.data())
def test_registers(recorder, data):
    layer = data.draw(layers())
    tile = data.draw(tiles(layer))
    if data.draw(st.booleans()):
        tile = replace(
            tile,
            in_line=(tile.in_columns + 3) * (tile.inputs + 16),
            in_pixel=tile.inputs + 16,
            out_line=(tile.columns + 2) * (tile.outputs + 32) * layer.out_bytes,
            out_pixel=(tile.outputs + 32) * layer.out_bytes,
        )
    jobs, _ = record(recorder, layer, tile)
    at = AT if layer.scale_bits else Ne16Addresses(AT.x, AT.weight, 0, 0, AT.y)
    assert jobs == tile_registers(layer, tile, at)


def test_later_jobs_of_a_tile_write_six_registers(recorder):
    layer = Ne16Layer(Mode.CONV3X3, 2)
    jobs, writes = record(recorder, layer, Ne16Tile(48, 48, 8, 96, 96, 3))
    assert (len(jobs), writes) == (576, 2 * 24 + 574 * 6)


@pytest.mark.parametrize("rows", [1, 3, 4, 32768, 65534, 65535, 65536])
def test_as_many_rows_as_a_register_counts(recorder, rows):
    """Threes are found by a multiplication, which is exact no further."""
    layer, tile = Ne16Layer(Mode.CONV1X1), Ne16Tile(rows, 1, 33, rows, 1, 17)
    jobs, _ = record(recorder, layer, tile)
    assert jobs == tile_registers(layer, tile, AT)
    assert jobs[0][19] >> 16 == -(-rows // 3)
