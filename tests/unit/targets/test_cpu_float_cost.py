"""What the cost model of float32 products knows of caches."""

import numpy as np
import pytest

from match_aie.targets.cpu.float_cost import LINE, PAGE, conflicting
from match_aie.targets.cpu.float_module import FloatProducts
from match_aie.targets.cpu.machine import machine
from match_aie.workload import real_dense


@pytest.mark.parametrize(
    ("row", "part", "share"),
    [
        (PAGE, PAGE, 1.0),  # whole rows leave nothing out
        (2 * PAGE, 1024, 0.25),  # the same quarter of every other page
        (PAGE // 2, 1024, 0.5),
        (3 * PAGE, 1536, 0.375),
        (PAGE + LINE, 1024, 1.0),  # rows begin everywhere in a page
    ],
)
def test_parts_of_rows_reach_a_share_of_the_sets(row, part, share):
    # Counted: the lines within a page that the part of any of 64 rows touches.
    touched = {(r * row + at) % PAGE // LINE for r in range(64) for at in range(0, part, LINE)}
    assert len(touched) * LINE / PAGE == share
    assert float(conflicting(row, np.asarray(part))) == pytest.approx(part / share - part)


def test_blocks_of_long_rows_need_more_of_the_cache():
    module = FloatProducts(machine("x86-64-v3"))
    cache, home = module.memories
    workload = real_dense(rows=196, inputs=2048, outputs=512)
    tile = {"B": np.asarray(196), "K": np.asarray(64), "C": np.asarray(256)}
    assert module.reserved_bytes(workload, cache, tile) == 3 * 196 * 256 * 4
    assert module.reserved_bytes(workload, home, tile) == 0
    whole = {**tile, "C": np.asarray(2048)}
    assert module.reserved_bytes(workload, cache, whole) == 0
    turned = real_dense(rows=196, inputs=2048, outputs=512, y_axes=("K", "B"))
    assert module.reserved_bytes(turned, cache, tile) == 0
