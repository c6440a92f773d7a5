"""Jobs of NE16 with padding that is not 0: borders are jobs apart."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from match_aie.cost_models.ne16 import Ne16Cost
from match_aie.hardware import Charges
from match_aie.targets.gap9.ne16.layer import ne16_tiles
from match_aie.workload import Quantized, Window, conv2d

sides, pads = st.integers(3, 40), st.tuples(*[st.integers(0, 1)] * 4)


def strided(height, width, padding, depthwise, stride=2):
    return conv2d(
        Quantized("uint8", 0.1, 7),
        Quantized("uint8", 0.1),
        shape=(1, height, width, 16),
        weight_shape=(16, 3, 3, 1 if depthwise else 16),
        groups=16 if depthwise else 1,
        window=Window((stride, stride), (1, 1), padding),
    )


@given(sides, sides, pads, st.booleans())
def test_borders_of_a_stride_of_two_are_jobs_apart(height, width, padding, depthwise):
    """As many as the emitted code starts, two rows and columns each at most; all of them priced."""
    layer = strided(height, width, padding, depthwise)
    ranges = {dim: (0, size) for dim, size in layer.dims}
    jobs = Ne16Cost().call_price(layer, ranges)
    tiles = ne16_tiles(layer, ranges)
    assert sum(some.count for some in jobs) == sum(
        -(-tile.rows // 2) * -(-tile.columns // 2) for tile in tiles
    )
    run, programmed = Ne16Cost().call_bounds(layer, {d: np.asarray(s) for d, s in layer.dims})
    assert run == pytest.approx(sum(some.run * some.count for some in jobs))
    assert programmed == pytest.approx(sum(some.program * some.count for some in jobs))


def pieces(size, step):
    """Tiles of `step` along an axis: where each begins, and how long it is."""
    return [(first, min(step, size - first)) for first in range(0, size, step)]


def taken(layer, rows, columns):
    """Cycles of NE16's jobs in all tiles, and of the controller's programming of them."""
    found, sizes = np.zeros(2), layer.sizes
    for row in pieces(sizes["OY"], rows):
        for column in pieces(sizes["OX"], columns):
            ranges = {dim: (0, size) for dim, size in layer.dims} | {"OY": row, "OX": column}
            jobs = Ne16Cost().call_price(layer, ranges)
            found += [sum(getattr(j, what) * j.count for j in jobs) for what in ("run", "program")]
    return found


def told(layer, rows, columns, ask):
    """The sum of what `ask` says of each tile's sizes."""
    sizes, found = layer.sizes, 0.0
    for _, row in pieces(sizes["OY"], rows):
        for _, column in pieces(sizes["OX"], columns):
            tile = {dim: np.asarray(size) for dim, size in layer.dims}
            found = found + ask(tile | {"OY": np.asarray(row), "OX": np.asarray(column)})
    return found


@given(sides, sides, pads, st.integers(1, 20), st.integers(1, 20), st.integers(1, 2))
def test_tiles_of_one_size_have_their_share_of_the_borders(
    height, width, padding, rows, columns, stride
):
    """Summed over tiles that divide the image evenly, the energy is of what all of them take."""
    layer = strided(height, width, padding, False, stride)
    sizes = layer.sizes
    assume(sizes["OY"] % rows == 0 and sizes["OX"] % columns == 0)
    assume(sizes["OY"] * sizes["OX"] <= 40 * rows * columns)  # there are few tiles
    units, core = taken(layer, rows, columns)
    unit = Ne16Cost(charges=Charges(unit=1.0, core=0.0, byte=0.0))
    energy = told(layer, rows, columns, lambda tile: unit.kernel_energy(layer, tile))
    assert energy == pytest.approx(units)
    controller = Ne16Cost(charges=Charges(unit=0.0, core=1.0, byte=0.0))
    walk = controller.controller.visit + controller.controller.wait
    energy = told(layer, rows, columns, lambda tile: controller.kernel_energy(layer, tile) - walk)
    assert energy == pytest.approx(core)


@given(sides, sides, pads, st.integers(1, 40), st.integers(1, 40), st.integers(1, 2), st.booleans())
def test_bounds_are_not_above_what_tiles_take(
    height, width, padding, rows, columns, stride, depthwise
):
    """Also with a smaller tile at the end of either axis."""
    layer = strided(height, width, padding, depthwise, stride)
    sizes = layer.sizes
    rows, columns = min(rows, sizes["OY"]), min(columns, sizes["OX"])
    assume(sizes["OY"] * sizes["OX"] <= 100 * rows * columns)  # as above
    bounds = told(
        layer, rows, columns, lambda tile: np.asarray(Ne16Cost().call_bounds(layer, tile))
    )
    assert np.all(bounds <= taken(layer, rows, columns) * (1 + 1e-9))
