"""Dense layers fed by streams of programmable logic: planned, executed, simulated."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware.mapping import mapping_from_json, mapping_to_json
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.array import ArrayMapping
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer, dense_plan, dense_plans
from match_aie.targets.aie_ml.graph.inplace import ended
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan, plan_of_pass, spread_plans
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import VEK280, case, equal
from tests.aie_timed import layer


def plan_of(sizes, columns, aim="latency", pair=("int8", "int8")):
    """The widest plan, and the layer."""
    made = layer(np.random.default_rng(0), *sizes, pair)
    plans = spread_plans(dense_layer(made[0]), made[0], "vek280", columns, aim)
    assert not isinstance(plans, Infeasible)
    return plans[-1], made


LAYERS = (
    ((96, 256, 128), 4, "latency", ("int8", "int8")),
    ((100, 200, 72), 4, "throughput", ("int8", "int8")),
    ((7, 64, 40), 2, "latency", ("int16", "int8")),
)


@pytest.mark.parametrize(("sizes", "columns", "aim", "pair"), LAYERS)
def test_plans_are_executed_and_modelled(sizes, columns, aim, pair):
    plan, made = plan_of(sizes, columns, aim, pair)
    assert isinstance(plan, SpreadPlan)
    one = case(plan.graph("layer", *made), *made, np.random.default_rng(1), column=0)
    assert violations(one.program, VEK280) == ()
    equal(one)
    assert not one.program.routes or all(r.source.tile[1] > 0 for r in one.program.routes)
    assert len(one.program.crossings) == sum(plan.ways)
    once = run_layer(one.program, VEK280).cycles
    # Small layers: what is not overlapped is a large share.
    assert once == pytest.approx(plan.cycles, rel=0.35)
    repeated = simulate_program(one.program, VEK280).interval
    assert repeated == pytest.approx(plan.interval, rel=0.25)
    assert repeated < once


def test_a_plan_is_its_nest():
    """Nothing is searched again: what is kept as JSON gives the plan."""
    plan, (workload, _) = plan_of((96, 256, 128), 4)
    nest = mapping_from_json(mapping_to_json(plan.nest))
    assert dense_plan(workload, "vek280", nest) == plan
    sizes = {dim: 1 for dim in "BKC"}
    for loop in (*nest.spatial, *nest.temporal):
        sizes[loop.dim] *= loop.size
    assert all(sizes[dim] >= size for dim, size in workload.dims)
    broken = replace(nest, temporal=(replace(nest.temporal[0], size=77), *nest.temporal[1:]))
    with pytest.raises(TargetError, match="does not fit"):
        dense_plan(workload, "vek280", broken)


def test_fills_let_tiles_begin_early():
    plan, made = plan_of((256, 256, 128), 4)
    whole = replace(plan, timed=replace(plan.timed, fills=1))
    assert plan.timed.fills > 1
    cycles = [
        run_layer(
            case(p.graph("layer", *made), *made, np.random.default_rng(1), column=0).program, VEK280
        ).cycles
        for p in (plan, whole)
    ]
    assert cycles[0] < cycles[1]


def test_calls_that_go_on_one_into_the_next():
    """Three tiles of a chain in eight passes: executed, shorter; ended where layers are joined."""
    made = layer(np.random.default_rng(5), 128, 552, 80)
    part = replace(dense_layer(made[0]), rows=16)
    mapping = ArrayMapping(part, Tiling(4, 8, 8, native=True), (2, 2), "flat", 3, 1, 1, 16, 80)
    plain = plan_of_pass(mapping, 128, "vek280")
    plan = plan_of_pass(mapping, 128, "vek280", alone=True)
    assert plan.timed.carries
    assert not plain.timed.carries
    cycles = []
    for each in (plan, plain):
        one = case(each.graph("layer", *made), *made, np.random.default_rng(1), column=0)
        assert violations(one.program, VEK280) == ()
        equal(one)
        cycles.append(run_layer(one.program, VEK280).cycles)
        assert cycles[-1] == pytest.approx(each.cycles, rel=0.15)
    assert cycles[0] < cycles[1]
    graphs = [ended(each.graph("layer", *made)) for each in (plan, plain)]
    assert [k.call for k in graphs[0].kernels] == [k.call for k in graphs[1].kernels]
    assert dense_plan(made[0], "vek280", plan.nest) == plan


def test_weights_that_do_not_fit_come_from_memory():
    made = layer(np.random.default_rng(0), 4, 1024, 1024)
    plans = dense_plans(made[0], "vek280", 1, "plio")
    assert not isinstance(plans, Infeasible)
    assert all(plan.memory == "ddr" for plan in plans)


def test_ways_and_aims_are_checked():
    with pytest.raises(TargetError, match="memory 'hbm'"):
        VersalAIEML(memory="hbm")
    with pytest.raises(TargetError, match="optimize_for 'energy'"):
        VersalAIEML(optimize_for="energy")
    assert "streams into the array" not in VersalAIEML(optimize_for="throughput").capacities()
    target = VersalAIEML(memory="plio", optimize_for="throughput")
    assert target.capacities()["streams into the array"] == 112
    assert VersalAIEML(**target.options()).options() == target.options()
