"""Weights that come straight to the tiles: memory tiles hold activations, and results once."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from match_aie.cost_models.aie_timed import timed_cycles
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.semaphores import handshakes, numbers, semaphores
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph import timed as sizes
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.pass_work import memory_work
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_splits import columns_for, spreads
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.workload import reference
from tests.aie_timed import BF16, layer

NPU1 = device("npu1")


def sized(pair, rows, parts, calls, turns, passes, cut=1, spread=1, feeds=1):
    """A layer, and its sizes with weights that come straight to the tiles.

    Args:
        pair: element types of the operands.
        rows: of the layer.
        parts: of the reduction, of the columns, of the rows.
        calls: rows and columns of a call, tiles of `mmul`; calls along the columns.
        turns: of a call.
        passes: over the rows.
        cut: parts of the activations of a pass.
        spread: memory tiles of the results.
        feeds: ways for the weights of a column of tiles.
    """
    array = columns_for("npu1", parts[1] * parts[2], parts[0])
    plain = DenseLayer(rows, 64, 64, *pair, pair[0])
    (tiling,) = native_tilings(plain, array)
    columns = parts[1] * calls[1] * calls[2] * tiling.n - 3
    reduction = parts[0] * turns * 2 * tiling.k
    made = layer(np.random.default_rng(3), rows, reduction, columns, pair)
    mapping = ArrayMapping(
        replace(dense_layer(made[0]), rows=ceil(rows / passes)), tiling, (1, 1), "overlapped",
        *parts, calls[0] * tiling.m, calls[1] * tiling.n, home="chip", reduction_steps=turns,
    )  # fmt: skip
    return made, Timed(mapping, array, rows, feeds, spread=spread, cut=cut, direct=True)


INT8, INT16 = ("int8", "int8"), ("int16", "int8")


@pytest.fixture(autouse=True)
def _ways_of_their_own(monkeypatch):
    """Tiles of a chain share no way for activations, as those of large layers do not."""
    monkeypatch.setattr(sizes, "JOINED", 0)


@pytest.mark.parametrize(
    ("pair", "rows", "parts", "calls", "turns", "passes", "cut", "spread", "feeds"),
    [
        (INT8, 16, (1, 1, 1), (2, 2, 2), 1, 2, 1, 1, 1),  # one tile
        (INT8, 29, (4, 1, 4), (1, 2, 3), 2, 2, 2, 4, 1),  # as of large products: rows are missing
        (BF16, 32, (2, 1, 4), (1, 2, 3), 3, 2, 3, 2, 1),
        (INT8, 16, (2, 2, 2), (1, 1, 2), 2, 2, 1, 1, 2),  # a way for each part of the columns
        (INT16, 122, (1, 1, 8), (2, 2, 2), 2, 2, 1, 1, 1),  # tiles of two columns share a way
    ],
)  # fmt: skip
def test_weights_straight_to_the_tiles_make_the_reference(
    pair, rows, parts, calls, turns, passes, cut, spread, feeds
):
    """Executed on counts and semaphores, each way in turn slower than others; read back."""
    made, timed = sized(pair, rows, parts, calls, turns, passes, cut, spread, feeds)
    assert timed.fits
    program = lay_out(TimedGraph("layer", timed, Numbers(timed, *made)).graph, NPU1)
    assert not isinstance(program, Infeasible), program
    check(program, NPU1)
    found = handshakes(program)
    assert not [*semaphores(found, NPU1), *numbers(program, found, NPU1)]
    past = [r for r in program.routes if r.source.tile[1] == 0 and r.sinks[0].tile[1] > 1]
    assert len(past) == len(timed.w_ways) == parts[0] * parts[1]
    assert {len(route.sinks) for route in past} == {parts[2]}
    assert {b.copies for b in program.buffers if b.tile[1] == 1 and b.name[0] == "y"} == {1}
    workload, constants = made
    x = [drawn(workload.inputs[0], np.random.default_rng(seed)) for seed in range(2)]
    wanted = [reference(workload, [one], constants) for one in x]
    outward = [route.source for route in program.routes if not route.reads.startswith("x")]
    for on, slow in [(None, ()), *((found, [one]) for one in outward[::2])]:
        done = execute(program, NPU1, [{"x": one} for one in x], semaphores=on, slow=slow)
        for at, one in enumerate(wanted):
            np.testing.assert_array_equal(done.tensor(one, run=at), one)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize(("columns", "cut"), [(2, 1), (6, 2)])
def test_the_model_is_near_the_simulator(columns, cut):
    """Requests of single turns, and results that a memory tile holds once, included."""
    made, timed = sized(INT8, 256, (2, 1, 2), (16, 8, columns), 16, 2, cut)
    priced = price(timed.mapping, timed.device, Assumed())
    assert isinstance(priced, Priced)
    program = lay_out(TimedGraph("layer", timed, Numbers(timed, *made)).graph, NPU1)
    assert not isinstance(program, Infeasible), program

    modelled = timed_cycles(memory_work(timed, priced.cost))
    assert run_layer(program, NPU1).cycles == pytest.approx(modelled, rel=0.02)


def test_weights_that_are_read_again_do_not_come_straight():
    """Nor on an array whose text is another tool's, nor where parts share a way."""
    _, timed = sized(INT8, 16, (2, 2, 2), (1, 1, 2), 2, 2, feeds=2)
    assert timed.fits
    assert not replace(timed, feeds=1).fits
    half = replace(timed.mapping, row_parts=1)
    assert half.row_steps == 2
    assert not replace(timed, mapping=half).fits
    assert not replace(timed, device=replace(timed.device, dispatch_us=None)).fits
    stays = replace(timed.mapping, home="tile", reduction_steps=1)
    assert not replace(timed, mapping=stays).fits


def test_a_pass_may_have_rows_beside_which_no_weights_lie():
    """252 rows of 4,032 in bfloat16 leave 8 KB of each memory tile: a call's results, once."""
    one = DenseLayer(249, 4032, 4224, "bfloat16", "bfloat16", "bfloat16", relu=False)
    mapping = ArrayMapping(
        one, native_tilings(one, NPU1)[0], (2, 4), "flat", 4, 1, 4, 64, 64, home="chip",
        reduction_steps=18,
    )  # fmt: skip
    able = [t for t in spreads(mapping, columns_for("npu1", 4, 4), 4224, 1) if t.fits]
    assert [(t.direct, t.spread, t.passes) for t in able] == [(True, 4, 17)]
    assert able[0].cuts == (1, 2, 3, 6, 9)
    assert [replace(able[0], cut=cut).fits for cut in able[0].cuts] == [True] * 3 + [False] * 2
    plain = replace(able[0], mapping=replace(mapping, layer=replace(one, bias=False)))
    assert sum(plain.w_loads) == 4032 * 4224 * 2
    assert sum(able[0].w_loads) == sum(plain.w_loads) + 18 * 4224 * 4  # a bias behind each turn
