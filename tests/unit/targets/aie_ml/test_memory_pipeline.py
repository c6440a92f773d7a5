"""Pipelines that the chip's memory feeds: results, ways, bounds, and the pace of repeated runs."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.join import Member
from match_aie.targets.aie_ml.graph.pipeline import join_stages
from match_aie.targets.aie_ml.graph.spread_plan import (
    SpreadPlan,
    is_nest,
    narrow,
    of_nest,
    plan_of_pass,
)
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from match_aie.targets.versal.pipelines import shares
from match_aie.workload import reference
from tests import integer_graphs as ig
from tests.aie_programs import VEK280, network_equals
from tests.aie_timed import layer


@pytest.fixture(scope="module")
def made():
    target = VersalAIEML(modules=("array",), optimize_for="throughput", columns_per_layer=2)
    return target, match.compile(ig.dense_row(16, (64, 128, 96, 32)), target, cache=False)


def plans(made):
    target, net = made
    return [target._array.plan(la.workload, la.mapping) for la in net.program.schedule.chosen]


def test_layers_in_a_row_are_one_graph_with_channels_to_memory(made):
    _, net = made
    assert all(isinstance(p, SpreadPlan) and p.memory == "ddr" for p in plans(made))
    found = list(stretches(net.program.schedule.chosen, "vek280", np.random.default_rng(1)))
    (stretch,) = found
    assert stretch.program.crossings == ()
    outside = [r for r in stretch.program.routes if r.source.tile[1] == 0]
    assert len(outside) == plans(made)[0].ways[0]
    leaving = [r for r in stretch.program.routes if any(s.tile[1] == 0 for s in r.sinks)]
    assert len(leaving) == plans(made)[-1].ways[1]
    assert network_equals(net, np.random.default_rng(1)) == 1


def stage(workload, length, parts):
    """The plan of a layer with one part of the rows, fed by the chip's memory."""
    whole = dense_layer(workload)
    tiling = native_tilings(whole, VEK280)[0]
    columns = ceil(ceil(whole.columns / tiling.n) / parts) * tiling.n
    mapping = ArrayMapping(whole, tiling, (1, 1), "flat", length, parts, 1, tiling.m, columns)
    kernel = with_kernel(mapping, narrow("vek280", mapping), VARIANTS)
    assert kernel is not None
    streams = plan_of_pass(kernel, whole.rows, "vek280")
    assert streams is not None
    return replace(streams, through="gmio")


def test_what_several_slots_read_alike_comes_once():
    """Two slots of chains read all of x: by one channel, where streams have one each."""
    rng = np.random.default_rng(7)
    made = [layer(rng, 4, k, n, ("int8", "int8"), gain=4.0) for k, n in ((32, 48), (48, 8))]
    plans = [stage(made[0][0], 1, 6), stage(made[1][0], 2, 1)]
    assert (plans[0].timed.ways[0], plans[0].ways[0]) == (2, 1)
    members = [
        Member(plan.graph(f"l{at}", *one), ("x",), plan.timed)
        for at, (one, plan) in enumerate(zip(made, plans, strict=True))
    ]
    graph = join_stages("net", members, VEK280).graph
    assert (len(graph.inputs), len(graph.outputs), graph.memory) == (1, 1, "ddr")
    program = lay_out(graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    x = np.random.default_rng(3).integers(-128, 128, (4, 32)).astype(np.int8)
    done = execute(program, VEK280, [{"x": x}, {"x": -x}])
    for run, tensor in enumerate((x, -x)):
        wanted = tensor
        for workload, constants in made:
            wanted = reference(workload, [wanted], constants)
        np.testing.assert_array_equal(done.tensor(wanted, run=run), wanted)
        assert np.unique(wanted).size > 4


def test_a_nest_names_its_plan(made):
    for plan, chosen in zip(plans(made), made[1].program.schedule.chosen, strict=True):
        assert is_nest(plan.nest)
        assert of_nest(dense_layer(chosen.workload), "vek280", plan.nest) == plan


def test_bytes_are_those_that_the_program_moves(made):
    _, net = made
    (stretch,) = stretches(net.program.schedule.chosen, "vek280", np.random.default_rng(1))
    into, out = plans(made)[0].moved[0], plans(made)[-1].moved[1]
    routes = stretch.program.routes
    assert into == sum(r.bytes * r.sends for r in routes if r.source.tile[1] == 0)
    shim = [r for r in routes if any(s.tile[1] == 0 for s in r.sinks)]
    assert out == sum(r.bytes * r.sends for r in shim)


def test_the_memory_is_named_where_it_bounds(made):
    """What it takes beyond the slowest stage is a part of its own."""
    stages = plans(made)
    costs = shares(stages, VEK280)
    total = {
        name: sum(dict(cost.parts)[name] for cost in costs) for name in ("array", "memory", "host")
    }
    moved = stages[0].moved[0] + stages[-1].moved[1]
    bound = moved / (25.6 / VEK280.clock_ghz)
    slowest = max(plan.interval for plan in stages)
    assert total["array"] == pytest.approx(slowest)
    assert total["memory"] == pytest.approx(max(0.0, bound - slowest))
    assert total["host"] > 0
    # The same stages with a memory a hundred times slower: it is what bounds them.

    slow = shares(stages, replace(VEK280, dram_gbps=0.256))
    assert sum(dict(c.parts)["memory"] for c in slow) == pytest.approx(100 * bound - slowest)


def test_runs_never_follow_each_other_faster_than_the_memory_moves_them(made):
    """An array that gives away what it holds for a while is no steady state."""
    _, net = made
    (stretch,) = stretches(net.program.schedule.chosen, "vek280", np.random.default_rng(1))
    stages = plans(made)
    moved = stages[0].moved[0] + stages[-1].moved[1]
    interval = simulate_program(stretch.program, VEK280).interval
    assert interval >= 0.98 * moved / (25.6 / VEK280.clock_ghz)
    assert interval >= 0.98 * max(plan.interval for plan in stages)
