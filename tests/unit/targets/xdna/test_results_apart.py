"""Results of chains above each other in several memory tiles: fewer passes, the same numbers."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.fit import fit
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.array.semaphores import handshakes
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.slots import Rectangle
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_plan import timed_near, timed_of_split
from match_aie.targets.aie_ml.graph.timed_splits import columns_for, finer_passes, spreads
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.workload import reference
from tests.aie_timed import layer

NPU1 = device("npu1")


@pytest.mark.parametrize(
    ("rows", "columns", "most", "sizes"),
    [(4, 1, 1, [4]), (4, 1, 2, [2, 2]), (3, 2, 2, [2, 4]), (1, 5, 2, [2, 3]), (2, 3, 4, [3, 3])],
)
def test_pieces_hold_all_chains_once(rows, columns, most, sizes):
    pieces = Rectangle(0, range(rows), range(columns)).pieces(most)
    assert [piece.chains for piece in pieces] == sizes
    held = [(row, column) for piece in pieces for row in piece.rows for column in piece.columns]
    assert sorted(held) == [(row, column) for row in range(rows) for column in range(columns)]


@pytest.mark.parametrize(
    ("rows", "parts", "spread"),
    [
        (32, (4, 1, 4), 1),
        (32, (4, 1, 4), 2),
        (32, (4, 1, 4), 4),
        (29, (2, 1, 4), 2),
        (16, (2, 2, 2), 2),
    ],
)
def test_results_of_several_memory_tiles_are_the_reference(rows, parts, spread):
    """Executed with each channel slower than others in turn, printed, and read back."""
    workload, constants = layer(np.random.default_rng(3), rows, 64 * parts[0], 48)
    whole = dense_layer(workload)
    array = columns_for("npu1", parts[1] * parts[2], parts[0])
    (tiling,) = native_tilings(whole, array)
    mapping = ArrayMapping(
        replace(whole, rows=ceil(rows / 2)), tiling, (1, 1), "overlapped", *parts, 4, 16,
        home="chip", reduction_steps=2,
    )  # fmt: skip
    timed = Timed(mapping, array, rows, 1, spread=spread)
    assert timed.fits
    graph = TimedGraph("layer", timed, Numbers(timed, workload, constants)).graph
    program = lay_out(graph, NPU1)
    check(program, NPU1)
    tiles = {route.sinks[0].tile for route in program.routes if route.role == "out"}
    assert len(tiles) == len(timed.results)
    assert len(timed.results) == max(1, min(spread, parts[2])) * len(timed.slots)
    x = drawn(workload.inputs[0], np.random.default_rng(2))
    wanted = reference(workload, [x], constants)
    done = execute(program, NPU1, {"x": x}, semaphores=handshakes(program))
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


def test_a_pass_may_have_rows_whose_results_fit_no_single_memory_tile():
    """240 rows of 4,032 in bfloat16 leave 40 KB of each memory tile."""
    one = DenseLayer(235, 4032, 4224, "bfloat16", "bfloat16", "bfloat16", relu=False)
    mapping = ArrayMapping(
        one, native_tilings(one, NPU1)[0], (3, 2), "flat", 4, 1, 4, 60, 64, home="chip",
        reduction_steps=18,
    )  # fmt: skip
    array = columns_for("npu1", 4, 4)
    able = [t for t in spreads(mapping, array, 4224, 1) if t.fits and not t.direct]
    assert [t.spread for t in able] == [2, 4]
    assert fit(mapping, array).memory.inputs_held
    assert Floor(mapping, array).slots == 1
    assert 18 in finer_passes(replace(one, rows=4224), array, Given(4, 1, 4), 32)


def test_plans_near_the_best_are_all_that_are_fast_enough():
    """The best one of a split is among them, and none that takes as long as was said."""
    one = DenseLayer(191, 512, 193, resident=False)
    split = Given(2, 1, 2)
    best = timed_of_split(one, "npu1", split)
    near = timed_near(one, "npu1", split, 1.3 * best.cycles)
    assert best.cycles == min(plan.cycles for plan in near)
    assert max(plan.cycles for plan in near) < 1.3 * best.cycles
    assert not timed_near(one, "npu1", split, best.cycles)
