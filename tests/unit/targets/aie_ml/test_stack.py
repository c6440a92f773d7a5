"""Dense layers in a row that share tiles: results, times, places, and who shares which tile."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.rules_memory import apart
from match_aie.targets.aie_ml.array.stacked import stack_banks
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer, dense_plan
from match_aie.targets.aie_ml.graph.join import Member
from match_aie.targets.aie_ml.graph.stack import join_stack, shares, stacked
from match_aie.targets.aie_ml.graph.stack_plan import stack_of_plans, stack_plan
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import reference
from tests import integer_graphs as ig
from tests.aie_programs import VEK280, network_equals
from tests.aie_timed import layer
from tests.unit.targets.aie_ml.test_pipeline import equals, replace_step


def layers(rows, sizes):
    """Workloads in a row, with their constants."""
    rng = np.random.default_rng(7)
    return [layer(rng, rows, k, n, ("int8", "int8"), gain=4.0) for k, n in pairwise(sizes)]


def planned(made, aim="latency"):
    plan = stack_plan([dense_layer(workload) for workload, _ in made], "vek280", aim)
    assert not isinstance(plan, Infeasible)
    return plan


def joined(made, plan):
    members = [
        Member(each.graph(f"l{at}", *one), ("x",), each.timed)
        for at, (one, each) in enumerate(zip(made, plan.plans, strict=True))
    ]
    assert stacked(members)
    return join_stack("net", members, VEK280)


def program_of(made, plan):
    program = lay_out(joined(made, plan).graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert not list(violations(program, VEK280))
    return program


#: Rows, widths, what counts, tiles.
NETS = {
    "one tile, widths that are filled up": (1, (20, 50, 64, 13), "latency", 1),
    "weights of two tiles": (1, (128, 128, 128, 128), "latency", 2),
    "several passes over the rows": (45, (64, 40, 72), "latency", 1),
    "a tile each": (10, (64, 64, 64, 64), "throughput", 3),
    "tiles in two columns": (1, (64,) * 10, "throughput", 9),
}


@pytest.mark.parametrize("name", NETS)
def test_runs_follow_each_other_through_all_layers(name):
    rows, sizes, aim, tiles = NETS[name]
    made = layers(rows, sizes)
    plan = planned(made, aim)
    program = program_of(made, plan)
    assert len(program.cores) == tiles
    equals(program, made)


def test_a_single_run_takes_what_the_plan_says():
    made = layers(1, (64,) * 11)
    plan = planned(made)
    program = program_of(made, plan)
    assert len(program.cores) == 2
    simulated = run_layer(program, VEK280).cycles
    assert sum(plan.cycles) == pytest.approx(simulated, rel=0.05)
    assert plan.interval == pytest.approx(simulate_program(program, VEK280).interval, rel=0.1)


def test_throughput_takes_a_tile_for_each_layer_that_is_the_slowest():
    made = layers(1, (64, 64, 64, 16, 16, 64))
    few, fast = planned(made), planned(made, "throughput")
    assert len(few.tiles) == 1 < len(fast.tiles) < len(made)
    assert fast.interval < few.interval
    assert sum(few.cycles) < sum(fast.cycles)
    program = program_of(made, fast)
    assert simulate_program(program, VEK280).interval < few.interval


def test_a_nest_says_who_shares_the_tile_of_the_layer_before():
    made = layers(1, (128,) * 5)
    plan = planned(made)
    for at, each in enumerate(plan.plans):
        again = dense_plan(made[at][0], "vek280", each.nest)
        begins = {part[0] for part in plan.tiles}
        assert shares(again.timed) == (at not in begins)
        assert again.timed.mapping == each.timed.mapping
    assert stack_of_plans(plan.plans, "vek280") == plan


def test_no_layer_loads_from_the_bank_that_it_stores_into():
    """The rule looks call by call, and finds results beside the activations of the same call."""
    made = layers(1, (64, 64, 64))
    program = program_of(made, planned(made))
    assert not list(apart(program, VEK280))
    (core,) = program.cores
    (kept,) = (buffer for buffer in program.buffers if buffer.role == "kept")
    wrong = replace(
        program,
        buffers=tuple(
            replace(b, banks=program.buffer_at[core.tile, "in0"].banks) if b == kept else b
            for b in program.buffers
        ),
    )
    assert [v.demand for _, v in violations(wrong, VEK280)]


def test_weights_beyond_the_banks_between_are_refused():
    made = layers(1, (64,) * 10)
    (kernel,) = joined(made, _crowded(made)).graph.kernels
    refused = stack_banks(kernel.call, VEK280)
    assert isinstance(refused, Infeasible)
    assert refused.demand == 9 * 64 * 64
    laid = lay_out(joined(made, _crowded(made)).graph, VEK280)
    assert isinstance(laid, Infeasible)


def _crowded(made):
    """All layers on one tile, whatever it holds."""
    plan = planned(made)
    crowded = [
        replace(
            each,
            timed=replace(each.timed, mapping=replace(each.timed.mapping, order="n")),
        )
        for each in plan.plans
    ]
    return replace(plan, plans=tuple(crowded))


def test_every_layer_can_be_looked_at():
    made = layers(1, (24, 32, 20, 9))
    whole = joined(made, planned(made))
    assert sorted(whole.held) == [0, 1]
    for at in whole.held:
        (kept,) = whole.held[at]
        assert kept.in_kernel
        assert kept.outside.blocks.matrix == made[at][0].output.shape


def test_layers_that_do_not_follow_are_no_function():
    made = layers(1, (40, 32, 20))
    (kernel,) = joined(made, planned(made)).graph.kernels
    with pytest.raises(TargetError, match="does not read what"):
        replace(kernel.call, nests=kernel.call.nests[::-1])


def test_more_layers_than_columns_are_one_graph():
    """42 layers, of which each alone would take a column, on two tiles of one."""
    target = VersalAIEML(memory="plio", modules=("array",))
    net = match.compile(ig.dense_row(1, (32,) * 43), target, cache=False)
    mine = net.program.schedule.chosen
    assert len(mine) == 42
    (stretch,) = target.stretches([replace_step(each, at) for at, each in enumerate(mine)])
    assert len(stretch.graph.kernels) == 2
    assert stretch.graph.columns == 1
    assert network_equals(net, np.random.default_rng(1)) == 1
    costs = [over.cost.cycles for over in target.handed_over(mine).values()]
    simulated = net.simulate()
    assert sum(costs) == pytest.approx(simulated.cycles * 1.25e9 / target.frequency, rel=0.1)


def test_a_result_passes_from_layer_to_layer():
    """What the last tile lets out is what references make, one after the other."""
    made = layers(3, (16, 64, 64, 32, 5))
    program = program_of(made, planned(made))
    x = np.random.default_rng(2).integers(-128, 128, (3, 16)).astype(np.int8)
    wanted = x
    for workload, constants in made:
        wanted = reference(workload, [wanted], constants)
    done = execute(program, VEK280, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
