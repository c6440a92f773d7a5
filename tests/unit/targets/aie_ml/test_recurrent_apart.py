"""Recurrent layers whose inputs are multiplied by a tile of their own."""

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.recurrent import TURNS, in_turns, met_bytes, recurrent_banks
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.graph.recurrent import recurrent_call
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall, inputs_call
from match_aie.targets.aie_ml.schedule.recurrent import group_works
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.aie_ml.simulate.returning import returning_routes
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import CELLS, layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")

APART = Loop("C", 2), Loop("K", 1), Loop("K", 16)


def program(workload, constants, spatial=APART):
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    assert plan.nest.spatial == spatial
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_executed_programs_equal_their_references(kind, after):
    """Groups that are full and not, units and inputs that fill nothing; a second run."""
    for seed, (steps, inputs, hidden) in enumerate(((9, 5, 17), (1, 30, 4), (18, 180, 32))):
        workload, constants, x = layer(kind, after, steps, inputs, hidden, seed)
        wanted = reference(workload, [x], constants)
        _, made = program(workload, constants)
        assert len(made.cores) == 2
        done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_products_of_8_bits(kind, after):
    workload, constants, x = layer8(kind, after, 6, 13, 50, 0, "uint8", 120)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants)
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


def test_inputs_hide_behind_the_steps():
    """Their number does not show as long as their products take no longer than the steps."""
    intervals = {}
    for inputs in (16, 96):
        workload, constants, _ = layer("gru", True, 64, inputs, 32)
        plan, made = program(workload, constants)
        result = simulate_program(made, VEK280)
        assert result.steady
        assert result.interval == pytest.approx(plan.cost.interval, rel=0.01)
        assert not returning_routes(made)
        intervals[inputs] = result.interval
        _, alone = program(workload, constants, (Loop("K", 16),))
        assert simulate_program(alone, VEK280).interval > 1.1 * result.interval
    assert intervals[16] == intervals[96]


def test_the_code_of_many_inputs_is_a_loop():
    """So that program memory holds it; from some number on their tile is the slower one."""
    workload, constants, _ = layer("gru", True, 64, 256, 32)
    plan, made = program(workload, constants)
    call = inputs_call(plan.cut)
    assert call.input_parts == 2
    few, _, _ = layer("gru", True, 64, 96, 32)
    assert inputs_call(program(few, layer("gru", True, 64, 96, 32)[1])[0].cut).input_parts == 1
    ahead, steps = (next(group_works(each, VEK280.architecture)) for each in (call, plan.cut))
    assert ahead.body > steps.body
    assert simulate_program(made, VEK280).interval > call.passes * ahead.body


def test_long_runs_have_a_tile_for_inputs_and_short_ones_not():
    """It takes a group's products ahead, and the way of their sums."""
    for steps, kind in ((64, True), (4, False)):
        workload, _, _ = layer("gru", False, steps, 64, 32)
        plan = plan_cut(workload, "vek280", 1)
        assert not isinstance(plan, Infeasible)
        assert isinstance(plan.cut, StatesCall) is kind


@pytest.mark.parametrize("hidden", [16, 32])
def test_copies_of_what_streams_move_have_banks_of_their_own(hidden):
    """The core is on one copy while streams are on the other: only its stores are charged."""
    workload, constants, _ = layer("gru", True, 64, 32, hidden)
    plan, made = program(workload, constants)
    call = plan.cut
    banked = recurrent_banks(call, VEK280)
    for one in banked:
        assert (one.banks == TURNS) == (one.name in ("in0", "out"))
        assert one.banks == TURNS or not set(one.banks) & set(TURNS)
    assert met_bytes(call, banked) == call.out_bytes
    for core in made.cores:
        moved = {name for one in core.work for role, name in one.uses if role == "moved"}
        assert moved == {"in0", "out"}
    graph = plan.graph("layer", workload, constants)
    assert all(kernel.turns == TURNS for kernel in graph.kernels)


def test_what_streams_move_meets_loads_where_weights_need_its_banks():
    """Half of the weights of 64 units are more than a bank holds."""
    workload, constants, _ = layer("gru", True, 64, 32, 64)
    plan, made = program(workload, constants)
    banked = recurrent_banks(plan.cut, VEK280)
    assert not in_turns(banked)
    assert met_bytes(plan.cut, banked) == plan.cut.out_bytes + plan.cut.in_bytes
    graph = plan.graph("layer", workload, constants)
    assert [kernel.turns for kernel in graph.kernels] == [TURNS, None]
    assert not any(role == "moved" for one in made.cores[1].work for role, _ in one.uses)


def test_parameters_are_those_of_a_part():
    """Both together have the weights of a layer, and the tables once."""
    workload, constants, _ = layer8("gru", True, 6, 13, 50, 0, "uint8", 120)
    plan, _ = program(workload, constants)
    sizes = [
        {p.name: p.size for p in each.parameters} for each in (plan.cut, inputs_call(plan.cut))
    ]
    whole = {p.name: p.size for p in recurrent_call(workload, "layer", VEK280).parameters}
    assert sum(each["w"] for each in sizes) == whole["w"]
    assert set(whole) - set(sizes[0]) == {"begin"}
    assert set(whole) - set(sizes[1]) == {"ab", "cd"}
