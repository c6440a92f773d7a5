"""Recurrent layers over several tiles: executed, and simulated with every way paid each step."""

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import CutPlan, cut_plan, plan_cut
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.aie_ml.simulate.returning import returning_routes
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")


def spread(workload, constants, tiles):
    """The plan on so many tiles, and its program."""
    plan = cut_plan(workload, "vek280", Mapping((Loop("K", tiles), Loop("K", 16)), ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


@pytest.mark.parametrize(
    ("kind", "hidden", "tiles"),
    [("gru", 20, 2), ("lstm", 33, 3), ("gru", 90, 3), ("gru", 90, 6), ("lstm", 100, 7)],
)
def test_executed_programs_equal_their_references(kind, hidden, tiles):
    """Units that fill no tile, columns of unequal height; a second run begins with zeros."""
    workload, constants, x = layer(kind, True, 6, 13, hidden)
    wanted = reference(workload, [x], constants)
    _, made = spread(workload, constants, tiles)
    assert len(made.cores) == tiles
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "hidden", "dtype", "zero"),
    [("gru", 50, "uint8", 120), ("lstm", 70, "int8", -3), ("gru", 256, "int8", 5)],
)
def test_products_of_8_bits_over_several_tiles(kind, hidden, dtype, zero):
    """What leaves a tile is its units twice: as results, and as products read them."""
    workload, constants, x = layer8(kind, True, 6, 13, hidden, 0, dtype, zero)
    wanted = reference(workload, [x], constants)
    _, made = spread(workload, constants, -(-hidden // 32))
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


def test_as_many_tiles_as_are_fastest_are_taken():
    """One of few units; several where a step's products take longer than joining its states."""
    sizes = {}
    for hidden in (16, 64, 96):
        workload, _, _ = layer("gru", True, 64, 32, hidden)
        plan = plan_cut(workload, "vek280", 1)
        assert isinstance(plan, CutPlan)
        sizes[hidden] = plan.cut.whole // 16 if isinstance(plan.cut, AnyJoined) else 1
    assert sizes[16] == 1
    assert sizes[64] == 4
    before, _, _ = layer("gru", False, 4, 32, 96)
    assert isinstance(plan_cut(before, "vek280", 1), Infeasible)


def test_every_step_pays_the_way_round():
    """Of the streams only those of the states come round; a step waits for them each time."""
    workload, constants, _ = layer("gru", True, 16, 32, 64)
    plan, made = spread(workload, constants, 4)
    routes = [made.routes[number] for number in sorted(returning_routes(made))]
    assert len(routes) == 5  # of four tiles, and of the whole state back to them
    assert not any("x" in route.name.split() for route in routes)
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.2)
    assert result.latency < plan.cycles
    core = made.cores[0]
    step = next(work.schedule.body for work in core.work if "out" in work.gives)
    assumed, hops = Assumed(), VEK280.architecture.hop_cycles
    # Both descriptors, locks, words of 16 and 64 units, and three switches each way at least.
    joining = 2 * assumed.descriptor + assumed.acquire + assumed.release + 8 + 32 + 6 * hops
    assert result.interval / 16 > step + joining
    slow = simulate_program(made, VEK280, assumed=assumed.scaled(2))
    assert slow.interval > result.interval


def test_columns_hand_on_to_the_first():
    """Each joins what its tiles store; the memory tile of the first has two more ways in."""
    workload, constants, _ = layer("gru", True, 16, 32, 170)
    plan, made = spread(workload, constants, 11)
    assert plan.columns == 3
    tiles = {core.tile for core in made.cores}
    assert [sum(column == at for column, _ in tiles) for at in (3, 4, 5)] == [4, 4, 3]
    assert len(returning_routes(made)) == 11 + 2 + 1
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.2)


def test_programs_without_circles_have_no_returning_streams():
    workload, constants, _ = layer("gru", True, 4, 5, 17)
    plan = cut_plan(workload, "vek280", Mapping((Loop("K", 16),), ()))
    assert not returning_routes(lay_out(plan.graph("layer", workload, constants), VEK280, 3))
