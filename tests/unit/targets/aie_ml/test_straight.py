"""Dense layers on an array without memory tiles: VCK190. Streams lead straight to cores."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.report import network_report
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import Channel, Crossing
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer, dense_plan, dense_plans
from match_aie.targets.aie_ml.graph.join import Member
from match_aie.targets.aie_ml.graph.memory_ways import through_memory
from match_aie.targets.aie_ml.graph.stack import join_stack, stacked
from match_aie.targets.aie_ml.graph.stack_plan import stack_plan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.verify import verify
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from match_aie.workload import reference
from tests import integer_graphs as ig
from tests.aie_timed import layer

VCK190 = device("vck190")


def layers(rows, sizes, pair=("int8", "int8"), form="shift", zero=0):
    rng = np.random.default_rng(7)
    return [layer(rng, rows, k, n, pair, form, zero, gain=4.0) for k, n in pairwise(sizes)]


def planned(made, aim="latency", through="plio"):
    plan = stack_plan([dense_layer(workload) for workload, _ in made], "vck190", aim, through)
    assert not isinstance(plan, Infeasible), plan
    return plan


def graph_of(made, plan):
    members = [
        Member(each.graph(f"l{at}", *one), ("x",), each.timed)
        for at, (one, each) in enumerate(zip(made, plan.plans, strict=True))
    ]
    assert stacked(members)
    return join_stack("net", members, VCK190).graph


def program_of(graph):
    assert not graph.shared
    program = lay_out(graph, VCK190)
    assert not isinstance(program, Infeasible), program
    assert not list(violations(program, VCK190))
    return program


def equals(program, made):
    """Three runs with different data, so that both copies of buffers are used again."""
    rng = np.random.default_rng(3)
    first = made[0][0].inputs[0]
    info = np.iinfo(first.dtype)
    tensors = [
        rng.integers(info.min, info.max + 1, first.shape).astype(first.dtype) for _ in range(3)
    ]
    done = execute(program, VCK190, [{"x": tensor} for tensor in tensors])
    for run, tensor in enumerate(tensors):
        for workload, constants in made:
            tensor = reference(workload, [tensor], constants)
        np.testing.assert_array_equal(done.tensor(tensor, run=run), tensor)
        assert np.unique(tensor).size > 4


#: Rows, widths, element types, what counts, tiles.
NETS = {
    "one tile, widths that are filled up": (1, (20, 50, 64, 13), "int8", "latency", 1),
    "a layer fills a tile": (6, (128, 128, 128), "int8", "latency", 2),
    "several passes over the rows": (45, (64, 40, 72), "uint8", "latency", 1),
    "a tile each": (10, (64, 64, 64, 64), "int8", "throughput", 3),
    "tiles in two columns": (1, (64,) * 10, "int8", "throughput", 9),
    "sums of 48 bits in wider tiles": (9, (40, 64, 24), "int16", "latency", 1),
}


@pytest.mark.parametrize("name", NETS)
def test_runs_follow_each_other(name):
    rows, sizes, dtype, aim, tiles = NETS[name]
    made = layers(rows, sizes, (dtype, "int8"))
    graph = graph_of(made, planned(made, aim))
    program = program_of(graph)
    assert len(program.cores) == tiles
    equals(program, made)
    equals(program_of(through_memory(graph)), made)


@pytest.mark.parametrize("seed", range(8))
def test_random_networks(seed):
    """Rows, widths, zero points at random; single layers, too, each in all of its plans' ways."""
    rng = np.random.default_rng(seed)
    rows, dtype = int(rng.integers(1, 40)), str(rng.choice(["int8", "uint8"]))
    sizes = tuple(int(n) for n in rng.integers(1, 129, int(rng.integers(2, 6))))
    made = layers(rows, sizes, (dtype, "int8"), zero=int(rng.integers(0, 9)))
    if len(made) > 1:
        equals(
            program_of(graph_of(made, planned(made, str(rng.choice(["latency", "throughput"]))))),
            made,
        )
    for memory in ("plio", "ddr"):
        (plan,) = dense_plans(made[0][0], "vck190", 4, memory)
        assert dense_plan(made[0][0], "vck190", plan.nest) == plan
        equals(program_of(plan.graph("one", *made[0])), made[:1])


@pytest.mark.parametrize("through", ["plio", "gmio"])
@pytest.mark.parametrize("rows", [1, 40])
def test_times_are_what_the_plan_says(rows, through):
    """The chip's memory is asked for the rows of every pass, and to take their results."""
    for aim in ("latency", "throughput"):
        made = layers(rows, (64, 128, 96, 64, 16))
        plan = planned(made, aim, through)
        program = program_of(graph_of(made, plan))
        assert sum(plan.cycles) == pytest.approx(run_layer(program, VCK190).cycles, rel=0.05)
        simulated = simulate_program(program, VCK190).interval
        assert plan.interval == pytest.approx(simulated, rel=0.05)


@pytest.mark.parametrize("block", [(1, 1), (1, 2)])
def test_schedules_keep_to_the_core(block):
    """Four accumulators, eight vectors, bytes compared as 16 bits, biases widened in registers."""
    core = VCK190.architecture.core
    tilings = [t for t in core.tilings_of("int8", "int8") if t.n == t.k and t.m * block[1] <= 4]
    assert tilings
    for tiling in tilings:
        kernel = Kernel("int8", "int8", "int8", tiling, *block, variant="flat")
        for reduction in (64, 8) if block == (1, 1) else (64,):
            made = schedule_call(kernel, VCK190.architecture, 16, reduction, 64)
            for part in made.parts:
                verify(part.schedule, kernel, made.core)
        kinds = [op.kind for op in made.parts[0].schedule.block.finish[0]]
        assert kinds.count("shuffle") == 2 * kinds.count("maximum") > 0
        assert made.counts.loads_bias == 0 < made.counts.loads_factors


def test_what_no_tile_holds_is_refused_and_says_what_to_try():
    ((made, _),) = layers(4, (512, 512))
    refused = dense_plans(made, "vck190", 4)
    assert isinstance(refused, Infeasible)
    assert (refused.demand, refused.bound) == (512 * 512, 16384)
    assert any("vek280" in lever for lever in refused.levers)


def test_other_layers_and_scales_run_on_the_processor():
    def body(builder, inputs):
        weight = np.ones((16, 16), np.int8)
        total = ig.dense(builder, inputs[0], weight, shift=4, multiplier=3)
        return ig.dense(builder, total, weight, shift=6)

    target = VersalAIEML("vck190")
    net = match.compile(ig.module(body, ((2, 16), "int8")), target=target, cache=False)
    assert net.program.schedule.chosen[0].module != "array"
    manifest = json.loads(net.sources()["match_aie.json"])
    reasons = [each.reason for each in network_report(manifest).attempts]
    assert any("requantise by shifts" in (reason or "") for reason in reasons)


def test_locks_are_binary_and_streams_share_a_columns_links():
    made = layers(1, (64, 64, 64))
    program = program_of(graph_of(made, planned(made, "throughput")))
    assert {lock.highest for lock in program.locks} == {1}
    many = {(lock.tile, lock.buffer, lock.copy) for lock in program.locks}
    assert len(many) == len(program.locks) == 4 * len(program.cores)
    twice = replace(
        program.descriptors[0], channel=replace(program.descriptors[0].channel, index=1)
    )
    edited = replace(program, descriptors=(*program.descriptors, twice))
    assert "locks" in {rule for rule, _ in violations(edited, VCK190)}
    way = program.crossings[0]
    more = tuple(
        Crossing(f"more{at}", Channel((0, 8), "s2mm", 0), "in0", way.bytes, 1, way.outside)
        for at in range(6)
    )
    crowded = [
        v
        for rule, v in violations(replace(program, crossings=(*program.crossings, *more)), VCK190)
        if rule == "ways"
    ]
    assert any("side N" in v.where for v in crowded)


def test_compiled_by_one_argument():
    net = match.compile(
        ig.dense_row(3, (64, 128, 64)), VersalAIEML("vck190", modules=("array",)), cache=False
    )
    layers = net.program.schedule.chosen
    assert prove(layers, "vck190", np.random.default_rng(1)) == 1
    assert net.simulate(record=False).microseconds > 0


@pytest.mark.parametrize(("rows", "sizes"), [(128, (24, 104)), (16, (64, 64)), (64, (32, 32, 32))])
def test_what_the_chips_memory_feeds_is_predicted(rows, sizes):
    """A layer alone is planned for few requests; it was priced without any."""
    net = match.compile(
        ig.dense_row(rows, sizes), VersalAIEML("vck190", modules=("array",)), cache=False
    )
    steps = net.simulate(record=False).steps
    predicted = sum(step.predicted for step in steps)
    assert sum(step.cycles for step in steps) == pytest.approx(predicted, rel=0.03)
