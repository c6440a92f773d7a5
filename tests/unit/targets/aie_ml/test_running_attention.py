"""Attention with a running softmax: its plans, programs' results, schedules, texts."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.streaming import streaming_banks
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.running_attention import RunningGraph
from match_aie.targets.aie_ml.graph.running_cuts import RunningCuts, attention_cuts
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.running_attention import running_schedules
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.dialect import DIALECTS
from match_aie.targets.xdna.mlir.objects import objects
from match_aie.workload.attention_running import runs
from tests.aie_attention import running_attention
from tests.aie_layers import random_inputs
from tests.streamed_checks import executed, overlap_rightly, read_from_its_nest

NPU1, NPU2 = device("npu1"), device("npu2")


def converted(seed, **options):
    """The layer in the array's arithmetic."""
    made = in_fixed_point(*running_attention(seed, **options))
    assert not isinstance(made, str), made
    assert runs(made.workload)
    return made.workload, dict(made.constants)


def drawn_cut(workload, seed):
    """A cut with a block that fits a tile, and kernels that fit it."""
    rng, kind = np.random.default_rng(seed), RunningCuts(workload, NPU1)
    cuts = [cut for cut in kind.all(4) if kind.refuses(cut) is None]
    cut = cuts[int(rng.integers(len(cuts)))]
    made = replace(cut, block=int(rng.choice([16, 32, 48])))
    if kind.refuses(made) is not None or made.column_rows * (made.columns - 1) >= made.rows:
        made = cut
    priced = kind.price(made)
    assert isinstance(priced, tuple), priced
    return kind, priced[0]


def check(seed) -> int:
    """A random layer in the interpreter, two runs; tiles that it takes."""
    workload, constants = converted(seed)
    kind, cut = drawn_cut(workload, seed)
    inputs = random_inputs(workload, np.random.default_rng(seed))
    return executed(kind, cut, workload, constants, inputs)


def test_programs_equal_the_reference() -> None:
    assert len({check(seed) for seed in range(4)}) > 1


def test_tiles_of_weights_have_as_many_keys_as_cores_multiply() -> None:
    """Eight on npu2, as tiles of scores have: nothing is turned, and products take half as long."""
    workload, constants = converted(3, heads=1, sizes=(20, 397, 64))
    made = {}
    for array in (NPU1, NPU2):
        kind = RunningCuts(workload, array)
        plan = plan_cut(workload, array.name, 4)
        assert not isinstance(plan, Infeasible)
        call = RunningGraph("layer", plan.cut, array, workload, constants).call
        made[call.spec.keys] = call
        adds = schedule_of(call.adds, array.architecture)
        assert adds.macs > 0.9 * call.adds.tiling.macs * adds.body
        for schedule in running_schedules(call, array.architecture).rounds["values"]:
            for _, loop in schedule.loops:
                overlap_rightly(loop)
    assert sorted(made) == [4, 8]
    inputs = random_inputs(workload, np.random.default_rng(3))
    assert executed(kind, plan.cut, workload, constants, inputs) >= 1


@pytest.mark.slow
def test_more_programs_do() -> None:
    for seed in range(100, 140):
        check(seed)


def test_a_plan_is_read_from_its_nest_and_not_searched_again(monkeypatch) -> None:
    workload, _ = converted(0, heads=2, sizes=(40, 260, 64))
    read_from_its_nest(workload, RunningCuts, monkeypatch)


def test_the_layers_arithmetic_decides_the_kernel() -> None:
    layer = running_attention(0, heads=2, sizes=(40, 260, 64))
    kept = in_fixed_point(*layer, running=False)
    assert not isinstance(kept, str)
    assert not runs(kept.workload)
    assert not isinstance(attention_cuts(kept.workload, NPU1), RunningCuts)
    assert isinstance(attention_cuts(converted(0)[0], NPU1), RunningCuts)


def test_parts_of_another_size_are_another_layer() -> None:
    workload, constants = converted(0, heads=1, sizes=(20, 300, 64))
    cut = replace(RunningCuts(workload, NPU1)._base, part=48)
    with pytest.raises(TargetError, match="rows by 48 keys"):
        _ = RunningGraph("layer", cut, NPU1, workload, constants).call


def test_what_does_not_fit_a_tile_is_said_by_bank() -> None:
    workload, constants = converted(0, heads=1, sizes=(64, 1500, 64))
    cut = next(RunningCuts(workload, NPU1).all(4))
    graph = RunningGraph("layer", replace(cut, block=128), NPU1, workload, constants)
    found = streaming_banks(graph.call, NPU1)
    assert isinstance(found, Infeasible)
    assert found.demand > found.bound


@pytest.mark.parametrize("sizes", [(20, 3000, 64), (3, 70, 216), (5, 64, 256), (600, 3000, 64)])
def test_heads_of_any_size_that_a_memory_tile_holds_have_a_plan(sizes) -> None:
    """Two heads where they fit; values too wide for a running softmax have the exact one."""
    made = in_fixed_point(*running_attention(0, heads=2, sizes=sizes))
    assert not isinstance(made, str), made
    assert runs(made.workload) == (sizes[2] < 256)
    plan = plan_cut(made.workload, "npu1", 4)
    assert not isinstance(plan, Infeasible), plan
    program = lay_out(plan.graph("layer", made.workload, zeros_of(made.workload)), NPU1)
    assert not isinstance(program, Infeasible), program


def test_every_element_crosses_the_chips_memory_once() -> None:
    workload, _ = converted(0, heads=8, sizes=(1500, 1500, 64))
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, zeros_of(workload)), NPU1)
    assert not isinstance(program, Infeasible), program
    run = run_layer(program, NPU1)
    once = 4 * 8 * 1500 * 64
    assert once <= run.moved < 1.05 * once  # rows and keys are filled up
    compute = dict(plan.cost.parts)["compute"]
    assert compute <= run.cycles < 1.3 * compute
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program
    (made,) = objects(program)
    assert {entry.pieces for entry in made.entries} == {(0,), (1,)}


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_of_a_loop_overlap_without_taking_each_others_place(seed) -> None:
    workload, constants = converted(seed)
    _, cut = drawn_cut(workload, seed)
    call = RunningGraph("layer", cut, NPU1, workload, constants).call
    found = running_schedules(call, NPU1.architecture)
    for schedule in (found.queries, *found.rounds["values"]):
        assert schedule.loops
        for _, loop in schedule.loops:
            overlap_rightly(loop)


@pytest.mark.parametrize("seed", [0, 1])
def test_its_text_is_read_back(seed) -> None:
    workload, constants = converted(seed)
    kind, cut = drawn_cut(workload, seed)
    program = lay_out(kind.graph(cut, 4, "layer", workload, constants), NPU1)
    assert not isinstance(program, Infeasible), program
    for dialect in DIALECTS.values():
        written = text(program, NPU1, dialect)
        assert read(written, NPU1, kernels_of(program)) == program
