"""Layers of rows as stages of pipelines: what tiles compute, and what lies between stages."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import match_aie as match
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.faces import Piece
from match_aie.targets.aie_ml.graph.pipeline import gates
from match_aie.targets.aie_ml.graph.pipeline_rows import Grid, meet, stage_plan_of
from match_aie.targets.aie_ml.graph.row_layers import refuses_turned
from match_aie.targets.aie_ml.graph.row_stage import (
    RowStage,
    RowStagePlan,
    row_stage_of,
    row_stages,
)
from match_aie.targets.aie_ml.graph.turned_stage import turned_stages
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from match_aie.targets.versal.module import plan_of
from match_aie.workload import Quantized, permute, reference
from tests.aie_layers import random_inputs
from tests.aie_programs import VEK280
from tests.networks.blocks import Block, block_network

PIPELINE = {"memory": "plio", "optimize_for": "throughput", "modules": ("array",)}


def compiled(block, **options):
    """A block for throughput."""
    return match.compile(block_network(block), VersalAIEML(**PIPELINE, **options), cache=False)


@pytest.fixture(scope="module")
def layers():
    """A norm, a table and a sum of 24 rows, by kind."""
    found = compiled(Block(24, 64, 96), columns_per_layer=2).program.schedule.chosen
    return {layer.workload.kind: layer for layer in found}


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_rows_over_tiles_mean_what_the_layer_means(layers, data):
    """Any split, rows that are filled up, several calls a run: executed twice, equal."""
    layer = layers[data.draw(st.sampled_from(["layer_norm", "table", "add"]))]
    wide = 96 if layer.workload.kind == "table" else 64
    stages = row_stages(layer.workload, "vek280", wide, (24, 28), 3)
    stage = data.draw(st.sampled_from(stages))
    program = lay_out(stage.graph("layer", layer.constants), VEK280, 3)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    assert len(program.cores) == stage.tiles
    rng = np.random.default_rng(stage.tiles)
    runs = [random_inputs(layer.workload, rng) for _ in range(2)]
    names = {way.outside.name: way.outside.blocks.operand for way in program.crossings}
    given = [
        {name: run[operand] for name, operand in names.items() if operand != "y"} for run in runs
    ]
    done = execute(program, VEK280, given)
    for number, run in enumerate(runs):
        read = [run[operand.name] for operand in layer.workload.inputs]
        wanted = reference(layer.workload, read, layer.constants)
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)


@given(
    st.sampled_from([8, 13, 24, 28]),
    st.sampled_from([8, 16, 20]),
    st.sampled_from(["int8", "uint8"]),
    st.data(),
)
@settings(max_examples=15, deadline=None)
def test_a_transpose_over_tiles_means_what_it_means(rows, columns, dtype, data):
    """Any parts of the rows and columns, whole tiles of eight of both."""
    workload = permute(Quantized(dtype), shape=(1, 1, rows, columns), axes=(0, 1, 3, 2))
    assert refuses_turned(workload) is None
    up = (-(-rows // 8) * 8,), (-(-columns // 8) * 8,)
    stage = data.draw(st.sampled_from(turned_stages(workload, "vek280", *up, 2)))
    assert stage_plan_of(workload, "vek280", RowStagePlan(stage).nest).stage == stage
    program = lay_out(stage.graph("layer", {}), VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    rng = np.random.default_rng(rows)
    runs = [random_inputs(workload, rng)["x"] for _ in range(2)]
    done = execute(program, VEK280, [{f"x_{at}": x for at in range(stage.tiles)} for x in runs])
    for number, x in enumerate(runs):
        wanted = x.reshape(rows, columns).T
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("int16", (1, 1, 8, 8), (0, 1, 3, 2)),
        ("int8", (1, 2, 8, 8), (0, 1, 3, 2)),
        ("int8", (1, 8, 1, 8), (0, 2, 1, 3)),
    ],
    ids=["two bytes", "several matrices", "nothing changes places"],
)
def test_other_orders_of_axes_stay_with_the_core(dtype, shape, axes):
    assert refuses_turned(permute(Quantized(dtype), shape=shape, axes=axes)) is not None


def test_a_nest_names_its_plan(layers):
    for layer in (layers["layer_norm"], layers["table"], layers["add"]):
        wide = 96 if layer.workload.kind == "table" else 64
        for stage in row_stages(layer.workload, "vek280", wide, (24,), 3):
            assert row_stage_of(layer.workload, "vek280", RowStagePlan(stage).nest).stage == stage
    nest = RowStagePlan(RowStage(layers["add"].workload, "vek280", 1, 1, 24, 60, 1)).nest
    with pytest.raises(TargetError, match="is no stage of a add"):
        row_stage_of(layers["add"].workload, "vek280", nest)


def test_a_norm_takes_whole_rows(layers):
    stage = RowStage(layers["layer_norm"].workload, "vek280", 2, 2, 3, 32, 4)
    reason = stage.refuses()
    assert reason is not None
    assert reason.resource == "elements of a row in a tile"
    assert replace(stage, column_parts=1, part_columns=64).refuses() is None


def test_what_a_tile_does_not_hold_is_refused(layers):
    reason = RowStage(layers["add"].workload, "vek280", 1, 1, 1000, 64, 1).refuses()
    assert reason is not None
    assert "banks" in reason.unit


def test_more_tiles_than_a_memory_tile_takes_streams_are_refused(layers):
    """A part of a dense layer's reduction lies in one memory tile: four norms write it."""
    dense = plan_of(layers["dense"].workload, "vek280", layers["dense"].mapping).timed
    (rows, wide), norm = (dense.rows, dense.mapping.layer.columns), layers["add"].workload
    many = RowStage(norm, "vek280", 8, 1, rows // 8, wide, 1)
    reason = gates(dense, many)
    assert not isinstance(reason, Infeasible) or reason.resource != "streams into a memory tile"
    back = gates(many, replace(many, row_parts=1, call_rows=rows))
    assert isinstance(back, Infeasible)
    assert (back.resource, back.demand, back.bound) == ("streams into a memory tile", 8, 4)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_the_quick_question_counts_writers_as_pieces_do(data):
    """`Grid.across` beside all pairs of pieces that meet; more where passes differ."""

    def grid(end):
        parts, high, passes = (data.draw(st.integers(1, 4)) for _ in range(3))
        return Grid(parts, high, passes, 4 * data.draw(st.integers(1, 4)), end, "int8")

    before, after = grid(16), grid(16)
    if before.padded != after.padded:
        assert not meet(before, after, 16, 1 << 20)
        return
    most = max(sum(a.meets(b) for a in pieces(before)) for b in pieces(after))
    high, wide = before.across(after)
    assert most <= high * wide
    if before.parts * before.high == after.parts * after.high:
        assert most == high * wide
    assert meet(before, after, high * wide, 1 << 20)
    assert not meet(before, after, high * wide - 1, 1 << 20)


def pieces(grid):
    """All parts of a matrix."""
    period = grid.parts * grid.high
    return [
        Piece(part * grid.high, grid.high, period, grid.passes, (at, min(at + grid.wide, grid.end)))
        for part in range(grid.parts)
        for at in range(0, grid.end, grid.wide)
    ]


@pytest.mark.parametrize(
    "block",
    [
        Block(24, 64, 96),
        Block(26, 64, 128, "after", odd=True),
        Block(16, 96, 64, "", point=3),
        Block(36, 64, 48, tokens=24),
    ],
    ids=["norm before", "norm after, any scale", "no norm, zero points", "mixer"],
)
def test_a_block_is_one_pipeline(block):
    """One graph, executed twice, equal to its reference, at the pace of its slowest stage."""
    layers = compiled(block, columns_per_layer=4).program.schedule.chosen
    assert len(layers) == (4 if not block.norm else 12 if block.tokens else 5)
    (run,) = stretches(layers, "vek280", np.random.default_rng(3))
    (other,) = stretches(layers, "vek280", np.random.default_rng(4))
    done = execute(run.program, VEK280, [run.tensors, other.tensors])
    for number, each in enumerate((run, other)):
        wanted = each.results[0][1]
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
        assert np.unique(wanted).size > 20
    slowest = max(plan_of(one.workload, "vek280", one.mapping).interval for one in layers)
    pace = simulate_program(run.program, VEK280)
    assert pace.steady
    assert 0.9 * slowest < pace.interval < 1.4 * slowest


def test_layers_stay_graphs_of_their_own_where_rows_find_no_place(monkeypatch):
    monkeypatch.setattr("match_aie.targets.aie_ml.graph.pipeline_offers.row_candidates", _nothing)
    layers = compiled(Block(24, 64, 96), columns_per_layer=2).program.schedule.chosen
    assert len(list(stretches(layers, "vek280", np.random.default_rng(0)))) == len(layers)


def _nothing(*_):
    return ()


def test_what_a_user_asks_of_a_dense_layer_is_asked_of_dense_layers_alone():
    """A wish inside of a block: rows around it stay graphs of their own."""
    free = compiled(Block(24, 64, 96), columns_per_layer=2).program.schedule.chosen
    label = next(layer.label for layer in free if layer.workload.kind == "dense")
    options = PIPELINE | {"columns_per_layer": 2, "layers": {label: {"columns": 1}}}
    net = match.compile(block_network(Block(24, 64, 96)), VersalAIEML(**options), cache=False)
    layers = net.program.schedule.chosen
    asked = next(layer for layer in layers if layer.label == label)
    assert plan_of(asked.workload, "vek280", asked.mapping).columns == 1
    assert len(list(stretches(layers, "vek280", np.random.default_rng(0)))) == len(layers)
