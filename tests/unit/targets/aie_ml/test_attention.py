"""Attention on the array: its plans, its schedule, its programs' results."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.attending import attending_banks
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.graph.attention import AttentionGraph
from match_aie.targets.aie_ml.graph.attention_cuts import AttentionCuts
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, cut_plans
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.schedule.attention import attention_schedules
from match_aie.targets.versal.module import AieArray
from match_aie.workload import AttentionSizes, Quantized
from tests.aie_attention import attention_of, random_attention
from tests.aie_programs import VEK280, case, equal
from tests.streamed_checks import overlap_rightly

BYTES = Quantized("int8", 0.05)


def plain(heads, queries, keys, size):
    """A layer without zero points, in fixed point."""
    sizes = AttentionSizes(heads, queries, keys, size, size)
    weights = Quantized("int8", 1 / 256, -128)
    made = in_fixed_point(*attention_of(sizes, (BYTES,) * 3, (BYTES, weights), BYTES))
    return made.workload, made.constants


def check(seed) -> int:
    """A random layer in the interpreter; tiles that it takes."""
    made = in_fixed_point(*random_attention(seed))
    plans = cut_plans(made.workload, "vek280", 4)
    assert not isinstance(plans, Infeasible), plans
    plan = plans[-1]
    assert cut_plan(made.workload, "vek280", plan.nest) == plan
    rng = np.random.default_rng(seed)
    layer = case(plan.graph("layer", made.workload, made.constants), *vars_of(made), rng)
    assert violations(layer.program, VEK280) == ()
    equal(layer)
    return plan.cut.tiles


def vars_of(made):
    return made.workload, made.constants


def test_random_attention_equals_its_reference() -> None:
    assert {check(seed) for seed in range(4)} > {1}


@pytest.mark.slow
def test_more_random_attention_equals_its_reference() -> None:
    for seed in range(1000, 1030):
        check(seed)


def test_heads_and_rows_are_spread() -> None:
    workload, constants = plain(4, 24, 20, 8)
    plans = cut_plans(workload, "vek280", 3)
    assert [plan.columns for plan in plans] == sorted({plan.columns for plan in plans})
    cut = plans[-1].cut
    assert cut.batch_parts * cut.groups == 4
    assert cut.row_parts > 1
    case(
        plans[-1].graph("layer", workload, constants), workload, constants, np.random.default_rng(0)
    )


def test_what_does_not_fit_a_tile_is_refused_by_name() -> None:
    sizes = AttentionSizes(1, 16, 400, 64, 64)
    point = Quantized("int8", 0.05, 1)  # without one, keys and values go by
    weights = Quantized("int8", 1 / 256, -128)
    made = in_fixed_point(*attention_of(sizes, (point,) * 3, (BYTES, weights), BYTES))
    found = cut_plans(made.workload, "vek280", 8)
    assert isinstance(found, Infeasible)
    assert "a bank of a tile for" in found.resource
    assert found.demand > found.bound


def test_cores_without_public_look_ups_get_none() -> None:
    layer, constants = random_attention(1)
    assert "AIE-MLv2" in AieArray("vek385", 4).convert(layer, constants)


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_of_a_loop_overlap_without_taking_each_others_place(seed) -> None:
    made = in_fixed_point(*random_attention(seed))
    cut = cut_plans(made.workload, "vek280", 2)[0].cut
    graph = AttentionGraph("layer", cut, VEK280, made.workload, made.constants)
    for schedule in attention_schedules(graph.call, device("vek280").architecture):
        for _, loop in schedule.loops:
            overlap_rightly(loop)


@pytest.mark.parametrize(("keys", "divided"), [(40, 16), (200, 4)])
def test_a_bank_has_room_for_exponentials_of_the_rows_that_are_divided_at_once(keys, divided):
    workload, constants = plain(1, 36, keys, 64)
    cut = AttentionCuts(workload, VEK280).cut((1, 1, 1))
    assert cut.divided == divided
    graph = AttentionGraph("layer", cut, VEK280, workload, constants)
    assert not isinstance(attending_banks(graph.call, VEK280), Infeasible)
    assert graph.call.stack_bytes >= 4 * divided * graph.call.scores.spec.n
    if divided < 16:
        more = replace(graph.call, divided=2 * divided)
        assert isinstance(attending_banks(more, VEK280), Infeasible)
