"""Recurrent layers with products of 8 bits on the array: executed, scheduled, simulated."""

import numpy as np
import pytest

from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.execute import execute
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


def test_a_step_of_a_gru_of_32_units():
    """Runs of 64 steps, starts and locks included, each from memory to memory."""
    workload, constants, _ = layer("gru", True, 64, 32, 32)
    result = simulate_program(program(workload, constants), VEK280)
    assert result.steady
    assert 150 < result.interval / 64 < 250
