"""Recurrent layers with products of 8 bits on the array: executed, scheduled, simulated."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import CutPlan, plan_cut
from match_aie.targets.aie_ml.graph.recurrent import recurrent_call
from match_aie.targets.aie_ml.schedule.recurrent import group_works
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.targets.aie_ml.test_recurrent import program
from tests.unit.workload.test_recurrent_int8 import CELLS, layer

VEK280 = device("vek280")


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_executed_programs_equal_their_references(kind, after):
    """Groups that are full and not, sizes that fill nothing; a second run begins anew."""
    for seed, (steps, inputs, hidden) in enumerate(((19, 5, 17), (1, 30, 4), (8, 32, 40))):
        dtype, zero = (("int8", 0), ("uint8", 131), ("int8", -9))[seed]
        workload, constants, x = layer(kind, after, steps, inputs, hidden, seed, dtype, zero)
        wanted = reference(workload, [x], constants)
        done = execute(program(workload, constants), VEK280, [{"x": x[::-1].copy()}, {"x": x}])
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(("kind", "after"), CELLS)
def test_schedules_have_the_operations_of_the_layer(kind, after):
    workload, _, _ = layer(kind, after, 20, 20, 24)
    call = recurrent_call(workload, "layer", VEK280)
    gates = len(call.spec.gates)
    whole, part = group_works(call, VEK280.architecture)
    assert (whole.steps, part.steps) == (16, 4)
    # Four quarters of a chunk: three octets of inputs, and four of states.
    assert whole.counts["product"] == 4 * gates * 4 * 3 + 16 * gates * 4 * 4
    assert whole.step > 4 * gates * 4


@pytest.mark.parametrize(("kind", "hidden"), [("gru", 128), ("lstm", 96)])
def test_many_inputs_have_the_code_of_one_gate(kind, hidden):
    """Which program memory holds where it has no room for all of them; products are as many."""
    workload, constants, x = layer(kind, True, 5, 230, hidden)
    plan = plan_cut(workload, "vek280", 1)
    assert isinstance(plan, CutPlan)
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    wanted = reference(workload, [x], constants)
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)
    call = made.cores[0].function
    inputs = next(one.schedule for one in made.cores[0].work if one.schedule.quads)
    gates, octets = len(call.spec.gates), 29
    assert inputs.counts["product"] == gates * 4 * octets
    assert gates * 4 * octets < inputs.body < 2 * gates * 4 * octets
    assert replace(call, inputs=30).input_parts == 1 < call.input_parts == gates


def test_a_step_of_a_gru_of_32_units():
    """Runs of 64 steps, starts and locks included, each from memory to memory."""
    workload, constants, _ = layer("gru", True, 64, 32, 32)
    result = simulate_program(program(workload, constants), VEK280)
    assert result.steady
    assert 150 < result.interval / 64 < 250
