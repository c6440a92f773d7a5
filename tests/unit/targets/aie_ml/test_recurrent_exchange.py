"""Recurrent layers on two tiles that send each other their units of every state."""

import numpy as np
import pytest

from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.aie_ml.simulate.returning import returning_routes
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")

EXCHANGE = Loop("K", 1), Loop("K", 2), Loop("K", 16)


def program(workload, constants, spatial=EXCHANGE):
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


def equal(workload, constants, x):
    """Two runs; the second begins with a state of zeros."""
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants)
    assert len(made.cores) == 2
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden"),
    [("gru", 9, 5, 17), ("lstm", 1, 30, 33), ("gru", 6, 40, 64)],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden):
    """Units that fill no tile, which are those of both in the order of a single one."""
    equal(*layer(kind, True, steps, inputs, hidden))


@pytest.mark.parametrize(("kind", "hidden"), [("gru", 50), ("lstm", 64), ("gru", 100)])
def test_products_of_8_bits(kind, hidden):
    """What leaves a tile is its units twice, for the other one and as results."""
    equal(*layer8(kind, True, 6, 13, hidden, 0, "uint8", 120))


def test_it_is_faster_than_joining_in_a_memory_tile():
    """Of the ways of a state one is left, and no word goes twice."""
    workload, constants, _ = layer8("gru", True, 64, 32, 64, 0, "int8", 0)
    plan, made = program(workload, constants)
    routes = [made.routes[number] for number in sorted(returning_routes(made))]
    assert [len(route.sinks) for route in routes] == [2, 2]  # out, and to the other tile
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)
    _, joined = program(workload, constants, (Loop("K", 2), Loop("K", 16)))
    assert simulate_program(joined, VEK280).interval > 1.05 * result.interval
    best = plan_cut(workload, "vek280", 1)
    assert isinstance(best.cut, AnyExchange)
