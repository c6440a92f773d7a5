"""Recurrent layers on the array: programs executed, what does not fit, schedules, intervals."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.recurrent import recurrent_banks
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.recurrent import RecurrentCuts, recurrent_call
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_alone, spec_for
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR, Line
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, STORE, machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.recurrent import GateTimes, group_schedule, group_works
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import CELLS, layer

VEK280 = device("vek280")


def program(workload, constants):
    plan = plan_cut(workload, "vek280", 1)
    assert not isinstance(plan, Infeasible), plan
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return made


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_executed_programs_equal_their_references(kind, after):
    """Groups that are full and not, sizes that fill nothing; a second run begins anew."""
    for seed, (steps, inputs, hidden) in enumerate(((9, 5, 17), (1, 30, 4), (8, 32, 32))):
        workload, constants, x = layer(kind, after, steps, inputs, hidden, seed)
        wanted = reference(workload, [x], constants)
        done = execute(program(workload, constants), VEK280, [{"x": x[::-1].copy()}, {"x": x}])
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


def test_a_gru_of_64_units():
    """The code of its inputs' products is a loop, so that program memory holds it."""
    workload, constants, x = layer("gru", True, 19, 32, 64)
    wanted = reference(workload, [x], constants)
    done = execute(program(workload, constants), VEK280, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    call = recurrent_call(workload, "layer", VEK280)
    whole = next(group_works(call, VEK280.architecture))
    assert whole.counts["product"] == (call.group // 4 * 4 + call.group * 8) * 3 * 4 * 4


def test_layers_that_fit_no_tile_are_infeasible():
    for kind, inputs, hidden, what in (
        ("gru", 32, 96, "accumulators of a tile"),
        ("lstm", 64, 64, "accumulators of a tile"),
        ("gru", 300, 48, "program memory of a tile"),
        ("lstm", 48, 48, "program memory of a tile"),
    ):
        workload, _, _ = layer(kind, True, 4, inputs, hidden)
        cuts = RecurrentCuts(workload, VEK280)
        call = next(cuts.all(1))
        found = cuts.refuses(call)
        assert isinstance(found, Infeasible)
        assert what in found.resource
    workload, _, _ = layer("gru", True, 4, 32, 300)
    assert isinstance(plan_cut(workload, "vek280", 4), Infeasible)
    workload, _, _ = layer("gru", True, 4, 300, 64)
    placed = recurrent_banks(recurrent_call(workload, "layer", VEK280), VEK280)
    assert isinstance(placed, Infeasible)
    assert "half of the memory of the tile" in placed.resource


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_schedules_have_the_operations_of_the_layer(kind, after):
    workload, _, _ = layer(kind, after, 22, 20, 24)
    call = recurrent_call(workload, "layer", VEK280)
    gates, arch = len(call.spec.gates), VEK280.architecture
    whole, part = group_works(call, arch)
    assert (whole.steps, part.steps) == (16, 6)
    assert whole.body - part.body == 10 * (whole.step + whole.turn)
    tiles = gates * 2 * 4  # two chunks of four quarters
    assert (
        part.counts["product"] == 4 * tiles * 3 + 6 * tiles * 3
    )  # octets of inputs, and of states
    assert whole.step > tiles * 3  # a product a cycle, and gates behind them


def test_registers_hold_what_is_scheduled():
    """Values that wait for each other take registers; too many do not fit."""
    core = machine(VEK280.architecture)
    line = Line()
    names = [f"v{number}" for number in range(30)]
    for name in names:
        line.put(Operation("load", name, (LOAD_A,), (), name, core.load, NEAR, 32))
    assert line.fits(core)
    for name in names:
        line.put(Operation("store", name, (STORE,), (name,), "", 0, FAR, 32), 60)
    assert line.taken == (30.0, 0.0)
    assert not line.fits(core)


def test_assumed_cycles_count():
    workload, _, _ = layer("gru", True, 4, 32, 32)
    call, arch = recurrent_call(workload, "layer", VEK280), VEK280.architecture
    slow, plain, fast = (
        group_schedule(call, arch, 4, GateTimes().scaled(factor)).body for factor in (2, 1, 0.5)
    )
    assert fast < plain < slow


def test_a_step_of_a_gru_of_32_units():
    """Runs of 64 steps, starts and locks included, each from memory to memory."""
    workload, constants, _ = layer("gru", True, 64, 32, 32)
    result = simulate_program(program(workload, constants), VEK280)
    assert result.steady
    plan = plan_cut(workload, "vek280", 1)
    assert result.latency == pytest.approx(plan.cycles, rel=0.05)
    assert 150 < result.interval / 64 < 312.5


@pytest.mark.parametrize("units", [5, 16])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_step_that_finds_its_state_in_registers_waits_for_no_load(cell, units):
    """Its first product issues before one could have come; what it finds is loaded once a call."""
    arch = VEK280.architecture
    call = RecurrentCall("steps", "steps.h", spec_alone(cell, units), 9, 12, units, 8)
    loading = replace(call, spec=spec_for(cell, units))
    held, loaded = (group_schedule(each, arch, 8) for each in (call, loading))
    assert loaded.step - held.step >= machine(arch).load
    assert loaded.begin == 0 < held.begin < held.step
    assert held.body == loaded.body - 8 * (loaded.step - held.step) + held.begin
    assert held.counts["product"] == loaded.counts["product"]
    whole, rest = group_works(call, arch)  # of nine steps
    assert whole.body - rest.body == 7 * (held.step + held.turn)
