"""Jobs of NE16 with stride 2 and padding that is not 0: borders are jobs apart."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from match_aie.cost_models.ne16 import Ne16Cost
from match_aie.targets.gap9.ne16.layer import ne16_tiles
from match_aie.workload import Quantized, Window, conv2d

sides, pads = st.integers(3, 40), st.tuples(*[st.integers(0, 1)] * 4)


def strided(height, width, padding, depthwise):
    return conv2d(
        Quantized("uint8", 0.1, 7),
        Quantized("uint8", 0.1),
        shape=(1, height, width, 16),
        weight_shape=(16, 3, 3, 1 if depthwise else 16),
        groups=16 if depthwise else 1,
        window=Window((2, 2), (1, 1), padding),
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


@given(sides, sides, pads, st.integers(1, 20), st.integers(1, 20))
def test_tiles_of_one_size_have_their_share_of_the_borders(height, width, padding, rows, columns):
    """Summed over tiles that divide the image evenly, it is what all of them take."""
    layer = strided(height, width, padding, False)
    sizes, model = layer.sizes, Ne16Cost()
    assume(sizes["OY"] % rows == 0 and sizes["OX"] % columns == 0)
    taken = np.zeros(2)
    for first in range(0, sizes["OY"], rows):
        for left in range(0, sizes["OX"], columns):
            ranges = {dim: (0, size) for dim, size in layer.dims}
            jobs = model.call_price(layer, ranges | {"OY": (first, rows), "OX": (left, columns)})
            taken += [sum(getattr(j, what) * j.count for j in jobs) for what in ("run", "program")]
    tile = {dim: np.asarray(size) for dim, size in layer.dims}
    tile |= {"OY": np.asarray(rows), "OX": np.asarray(columns)}
    count = (sizes["OY"] // rows) * (sizes["OX"] // columns)
    assert np.array(model.call_bounds(layer, tile)) * count == pytest.approx(taken)
