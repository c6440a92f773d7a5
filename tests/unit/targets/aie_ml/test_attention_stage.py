"""Attention as a stage of pipelines: what tiles compute, what lies before it, whole blocks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import match_aie as match
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.attention_keys import Heads, key_gates
from match_aie.targets.aie_ml.graph.attention_stage import attention_stages
from match_aie.targets.aie_ml.graph.faces import Piece, face_of
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_rows import stage_plan_of
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan
from match_aie.targets.aie_ml.graph.spread_plan import narrow, plan_of_pass
from match_aie.targets.aie_ml.graph.turned_stage import turned_stages
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from match_aie.workload import AttentionSizes, Quantized, permute, reference
from tests.aie_attention import attention_of
from tests.aie_layers import random_inputs
from tests.aie_programs import VEK280
from tests.networks.blocks import Block, block_network

PIPELINE = {"memory": "plio", "optimize_for": "throughput", "modules": ("array",)}


def joined(heads, rows, keys, size, *, points=False):
    """A layer of joined heads in fixed point; with and without zero points."""
    at = (3, -5, 7, 4, -128, -3) if points else (0,) * 6
    scales = (0.02, 0.02, 0.02, 0.5, 1 / 256 if points else 1 / 128, 0.02)
    q, k, v, scores, weights, y = (
        Quantized("int8", scale, point) for scale, point in zip(scales, at, strict=True)
    )
    sizes = AttentionSizes(heads, rows, keys, size, size, joined=True)
    made = in_fixed_point(*attention_of(sizes, (q, k, v), (scores, weights), y))
    return made.workload, made.constants


@given(
    st.sampled_from([1, 2, 3]),
    st.sampled_from([8, 13, 20]),
    st.sampled_from([8, 16]),
    st.booleans(),
    st.data(),
)
@settings(max_examples=10, deadline=None)
def test_heads_over_tiles_mean_what_the_layer_means(heads, rows, size, points, data):
    """Any split, rows and keys that are filled up: executed twice, equal."""
    # Weights with a zero point take no keys that are filled up.
    rows, keys = (min(rows, 16), 16) if points else (rows, rows)
    workload, constants = joined(heads, rows, keys, size, points=points)
    stages = attention_stages(workload, "vek280", (-(-rows // 8) * 8,), 3)
    stages = [each for each in stages if each.alone]
    check_stage(data.draw(st.sampled_from(stages)), workload, constants)


@pytest.mark.parametrize(
    ("heads", "parts", "points"), [(1, (6, 1), False), (2, (6, 1), False), (1, (12, 1), True)]
)
def test_values_come_by_a_stream_of_their_own_where_one_would_be_the_bound(heads, parts, points):
    """Few rows a tile, and many keys: values lie in the memory of the tile north."""
    workload, constants = joined(heads, 48, 48, 64, points=points)
    stages = attention_stages(workload, "vek280", (48,), 8)
    (stage,) = (each for each in stages if (each.row_parts, each.column_parts) == parts)
    assert stage.apart
    program = check_stage(stage, workload, constants)
    lent = {core.tile: core.lent for core in program.cores}
    assert all(
        places == (("in2", (column, row + 1), "in2"),) for (column, row), places in lent.items()
    )
    result = simulate_program(program, VEK280)
    assert result.steady
    assert result.interval < 1.1 * stage.cycles
    (wide,) = (each for each in stages if (each.row_parts, each.column_parts) == (1, 1))
    assert not wide.apart


def check_stage(stage, workload, constants):
    """A stage alone, executed twice: its nest names it, nothing is broken, results are equal."""
    assert stage_plan_of(workload, "vek280", RowStagePlan(stage).nest).stage == stage
    program = lay_out(stage.graph("layer", constants), VEK280, 3)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    assert len(program.cores) == stage.tiles
    rng = np.random.default_rng(stage.tiles)
    runs = [random_inputs(workload, rng) for _ in range(2)]
    names = {way.outside.name: way.outside.blocks.operand for way in program.crossings}
    fed = [
        {name: run[operand] for name, operand in names.items() if operand != "y"} for run in runs
    ]
    done = execute(program, VEK280, fed)
    for number, run in enumerate(runs):
        read = [run[operand.name] for operand in workload.inputs]
        wanted = reference(workload, read, constants)
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
    return program


def test_what_no_stage_can_be_is_refused():
    """Heads that are no whole tiles; zero points of weights where values are filled up."""
    odd, _ = joined(2, 16, 16, 12)
    assert attention_stages(odd, "vek280", (16,), 3) == ()
    filled, _ = joined(2, 16, 13, 16, points=True)
    assert attention_stages(filled, "vek280", (16,), 3) == ()
    workload, _ = joined(2, 16, 16, 16)
    (stage, *_) = attention_stages(workload, "vek280", (16,), 3)
    nest = RowStagePlan(replace(stage, passes=2)).nest
    with pytest.raises(TargetError, match="of attention"):
        stage_plan_of(workload, "vek280", nest)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_keys_and_values_lie_as_kernels_read_them(data):
    """Every element of pieces of both goes to its place in tiles of a head's keys and values."""
    heads, size, rows = 2, data.draw(st.sampled_from([8, 16])), 32
    workload, _ = joined(heads, rows, rows, size)
    (stage, *_) = attention_stages(workload, "vek280", (rows,), 3)
    holds, elements = Heads(stage, 0, heads), heads * size
    keys = np.arange(elements * rows).reshape(elements, rows)
    values = keys.size + np.arange(rows * elements).reshape(rows, elements)
    tiles = [
        (
            keys[h * size : (h + 1) * size].reshape(-1, 8, rows // 8, 8),
            values[:, h * size : (h + 1) * size].reshape(-1, 8, size // 8, 8),
        )
        for h in range(heads)
    ]
    wanted = np.concatenate([each.swapaxes(1, 2).ravel() for pair in tiles for each in pair])
    high = data.draw(st.sampled_from([8, size, elements]))
    wide = data.draw(st.sampled_from([8, 16, 32]))
    found = np.full(wanted.size, -1)
    for first in range(0, elements, high):
        for key in range(0, rows, wide):
            piece = Piece(first, high, elements, 1, (key, key + wide))
            part = keys[first : first + high, key : key + wide]
            turned = part.reshape(high // 8, 8, wide // 8, 8).transpose(2, 0, 1, 3)
            found[places(holds.keys(piece))] = turned.ravel()
            np.testing.assert_array_equal(
                found[places(holds.keys(piece, by_row=True))], part.ravel()
            )
    period, passes = data.draw(st.sampled_from([(32, 1), (16, 2)]))
    part_rows = data.draw(st.sampled_from([8, 16]))
    for row in range(0, period, part_rows):
        for column in range(0, elements, high):
            piece = Piece(row, part_rows, period, passes, (column, column + high))
            at = [row + n * period + r for n in range(passes) for r in range(part_rows)]
            part = values[at][:, column : column + high]
            stored = part.reshape(-1, 4, high // 8, 8).swapaxes(1, 2)
            found[places(holds.values(piece, 4))] = stored.ravel()
            left = found[places(holds.values(piece, 4, by_row=True))]
            np.testing.assert_array_equal(left, part.ravel())
    np.testing.assert_array_equal(found, wanted)


def places(access):
    """Numbers of the elements that a way touches, in its order."""
    steps = np.cumprod([1, *access.buffer[:-1]])
    at = np.array([int(np.dot(access.offset, steps))])
    loops = [(dim, 1, size) for dim, size in enumerate(access.tile)]
    for dim, stride, wrap in (*loops, *access.traversal):
        at = (np.arange(wrap)[:, None] * stride * steps[dim] + at[None, :]).ravel()
    return at


def test_stages_that_do_not_store_what_attention_reads_are_told():
    """Keys of other rows, or from a stage that is no transpose."""
    workload, _ = joined(2, 16, 16, 16)
    (stage, *_) = attention_stages(workload, "vek280", (16,), 3)
    turn = permute(Quantized("int8"), shape=(1, 1, 24, 32), axes=[0, 1, 3, 2])
    keys = face_of(turned_stages(turn, "vek280", (24,), (32,), 2)[0])
    found = key_gates(keys, face_of(stage), stage)
    assert isinstance(found, Infeasible)
    assert found.resource == "transposed keys and projected values"


def test_splits_beside_attention_are_bounded_by_steps_of_kernels():
    """Odd rows of tiles load weights twice: splits of even ones are kept beside those.

    Those of few streams come first.
    """
    layer = DenseLayer(208, 96, 192, relu=False)
    plain, filled = (candidates(layer, "vek280", 2, filled=each) for each in (False, True))
    bounds = {one.mapping: one.bound for one in plain}
    for one in filled:
        assert bounds.get(one.mapping, 0) <= one.bound
        if one.mapping.call_rows == 52:
            assert one.bound > 1.5 * bounds[one.mapping]
        made = with_kernel(one.mapping, narrow("vek280", one.mapping), VARIANTS)
        plan = plan_of_pass(made, one.rows, "vek280")
        assert plan is None or one.bound <= plan.interval

    def shape(m):
        return m.cas_length, m.column_parts, m.row_parts, m.call_rows

    assert (2, 2, 2, 104) not in set(map(shape, bounds))
    assert (2, 2, 2, 104) in {shape(one.mapping) for one in filled}
    alike: dict[tuple[int, int], list[int]] = {}
    for one in filled:
        rows = one.mapping.row_parts * one.mapping.call_rows * one.passes
        alike.setdefault((one.columns, rows), []).append(sum(one.streams))
    assert all(streams == sorted(streams) for streams in alike.values())


@pytest.mark.parametrize("norm", ["before", "after"])
def test_a_whole_block_is_one_pipeline(norm):
    """Projections, attention, sums, norms and dense layers: one program, executed, equal."""
    block = Block(32, 64, 96, norm, heads=2, odd=norm == "before")
    target = VersalAIEML(**PIPELINE, columns_per_layer=2)
    net = match.compile(block_network(block), target, cache=False)
    layers = net.program.schedule.chosen
    assert {layer.module for layer in net.program.schedule.layers} == {"array"}
    assert len(layers) == 13
    assert prove(layers, "vek280", np.random.default_rng(0)) == 1
