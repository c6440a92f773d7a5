"""Attention whose keys and values go by: its plans, programs' results, schedules, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.streaming import streaming_banks
from match_aie.targets.aie_ml.graph.attention_cuts import AttentionCuts
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.running_cuts import attention_cuts
from match_aie.targets.aie_ml.graph.streamed_attention import StreamedGraph, refuses_streams
from match_aie.targets.aie_ml.graph.streamed_cuts import StreamedCuts
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.schedule.streamed_attention import streamed_schedules
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.dialect import DIALECTS
from match_aie.targets.xdna.mlir.objects import objects
from match_aie.workload import AttentionSizes, Quantized
from tests.aie_attention import attention_of, long_attention
from tests.aie_layers import random_inputs
from tests.streamed_checks import executed, overlap_rightly, read_from_its_nest

NPU1 = device("npu1")


def drawn_cut(workload, seed):
    """A cut with a block and a part of any size that fits a tile, and kernels that fit it."""
    rng, kind = np.random.default_rng(seed), StreamedCuts(workload, NPU1)
    cuts = [cut for cut in kind.all(4) if kind.refuses(cut) is None]
    cut = cuts[int(rng.integers(len(cuts)))]
    made = replace(cut, block=int(rng.choice([8, 16, 24])), part=int(rng.choice([16, 32, 48])))
    made = replace(
        made, pieces=int(rng.choice([p for p in (1, 2) if made.block * made.w % 64 == 0]))
    )
    if made.parts < 2 or made.column_rows * (made.columns - 1) >= made.rows:
        made = cut
    priced = kind.price(made)
    assert isinstance(priced, tuple), priced
    return kind, priced[0]


def check(seed) -> int:
    """A random layer in the interpreter, two runs; tiles that it takes."""
    made = in_fixed_point(*long_attention(seed))
    workload, constants = made.workload, dict(made.constants)
    kind, cut = drawn_cut(workload, seed)
    inputs = random_inputs(workload, np.random.default_rng(seed))
    return executed(kind, cut, workload, constants, inputs)


def test_results_are_those_of_the_layer_that_keeps_its_scores() -> None:
    assert len({check(seed) for seed in range(4)}) > 1


@pytest.mark.slow
def test_more_results_are() -> None:
    for seed in range(100, 130):
        check(seed)


def test_a_plan_is_read_from_its_nest_and_not_searched_again(monkeypatch) -> None:
    workload = in_fixed_point(*long_attention(0, heads=2, sizes=(40, 260, 64))).workload
    read_from_its_nest(workload, StreamedCuts, monkeypatch)


def test_long_heads_are_planned_and_short_ones_keep_their_scores() -> None:
    long = in_fixed_point(*long_attention(0, heads=2, sizes=(40, 260, 64))).workload
    short = in_fixed_point(*long_attention(0, heads=2, sizes=(40, 100, 64))).workload
    assert isinstance(attention_cuts(long, NPU1), StreamedCuts)
    assert isinstance(attention_cuts(short, NPU1), AttentionCuts)
    plan = plan_cut(long, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    assert cut_plan(long, "npu1", plan.nest).cut == plan.cut


@pytest.mark.parametrize("at", range(3))
def test_a_zero_point_is_refused_by_name(at) -> None:
    inputs = [Quantized("int8", 0.02, 3 if number == at else 0) for number in range(3)]
    between = Quantized("int8", 0.05), Quantized("int8", 1 / 256, -128)
    sizes = AttentionSizes(1, 16, 400, 64, 64)
    made = in_fixed_point(*attention_of(sizes, tuple(inputs), between, Quantized("int8", 0.02)))
    reason = refuses_streams(made.workload)
    assert reason is not None
    assert ("queries", "keys", "values")[at] in reason
    found = plan_cut(made.workload, "npu1", 4)
    assert isinstance(found, Infeasible)
    assert "a bank of a tile" in found.resource
    cut = StreamedCuts(in_fixed_point(*long_attention(0)).workload, NPU1)._base
    with pytest.raises(TargetError, match="zero point"):
        _ = StreamedGraph("layer", cut, NPU1, made.workload, made.constants).call


def test_weights_that_begin_elsewhere_are_refused_by_name() -> None:
    sizes = AttentionSizes(1, 16, 400, 64, 64)
    between = Quantized("int8", 0.05), Quantized("int8", 1 / 256, -100)
    made = in_fixed_point(
        *attention_of(sizes, (Quantized("int8", 0.02),) * 3, between, Quantized("int8", 0.02))
    )
    reason = refuses_streams(made.workload)
    assert reason is not None
    assert "least value" in reason


def test_what_does_not_fit_a_tile_is_said_by_bank() -> None:
    workload = in_fixed_point(*long_attention(0, heads=1, sizes=(64, 1500, 64))).workload
    kind = StreamedCuts(workload, NPU1)
    cut = next(kind.all(4))
    graph = StreamedGraph("layer", replace(cut, block=128), NPU1, workload, zeros_of(workload))
    found = streaming_banks(graph.call, NPU1)
    assert isinstance(found, Infeasible)
    assert found.demand > found.bound
    assert "sums of results" in found.resource or "scores" in found.resource


def whisper():
    """The heads of Whisper-base's encoder."""
    return in_fixed_point(*long_attention(0, heads=8, sizes=(1500, 1500, 64))).workload


def test_every_element_crosses_the_chips_memory_once() -> None:
    workload = whisper()
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, zeros_of(workload)), NPU1)
    assert not isinstance(program, Infeasible), program
    run = run_layer(program, NPU1)
    once = 4 * 8 * 1500 * 64
    assert once <= run.moved < 1.05 * once  # rows and keys are filled up
    compute = dict(plan.cost.parts)["compute"]
    assert compute <= run.cycles < 1.3 * compute


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_of_a_loop_overlap_without_taking_each_others_place(seed) -> None:
    workload = in_fixed_point(*long_attention(seed)).workload
    _, cut = drawn_cut(workload, seed)
    call = StreamedGraph("layer", cut, NPU1, workload, zeros_of(workload)).call
    found = streamed_schedules(call, NPU1.architecture)
    for schedule in (found.queries, *(one for both in found.rounds.values() for one in both)):
        assert schedule.loops
        for _, loop in schedule.loops:
            overlap_rightly(loop)


@pytest.mark.parametrize("seed", [0, 1])
def test_its_text_is_read_back(seed) -> None:
    workload = in_fixed_point(*long_attention(seed)).workload
    kind, cut = drawn_cut(workload, seed)
    program = lay_out(kind.graph(cut, 4, "layer", workload, zeros_of(workload)), NPU1)
    assert not isinstance(program, Infeasible), program
    for dialect in DIALECTS.values():
        written = text(program, NPU1, dialect)
        assert read(written, NPU1, kernels_of(program)) == program


def test_the_text_of_whispers_heads_is_read_back() -> None:
    workload = whisper()
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, zeros_of(workload)), NPU1)
    assert not isinstance(program, Infeasible), program
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program
    (made,) = objects(program)
    assert {entry.pieces for entry in made.entries} == {(0,), (1,), (2,), (3,)}


def test_a_column_alone_has_too_few_channels_where_it_has_one_memory_tile() -> None:
    """Keys, values, queries and four results: one more than come in."""
    workload = in_fixed_point(*long_attention(0)).workload
    kind = StreamedCuts(workload, NPU1)
    found = {(cut.columns, cut.high): kind.refuses(cut) for cut in kind.all(4)}
    assert found[1, 4] is not None
    assert (found[1, 4].demand, found[1, 4].bound) == (7, 6)
    assert found[1, 3] is None
    assert found[2, 4] is None
