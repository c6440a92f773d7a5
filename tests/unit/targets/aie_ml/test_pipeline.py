"""Dense layers as the stages of a pipeline: results, times, and who gets which tiles."""

from dataclasses import replace
from itertools import pairwise, product
from math import ceil

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.hardware import SimulatedStep
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.join import Link, Member
from match_aie.targets.aie_ml.graph.pipeline import gates, join_stages
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_plan import COPIES, pipeline_plans
from match_aie.targets.aie_ml.graph.spread_plan import narrow, of_nest, plan_of_pass
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import reference
from tests import integer_graphs as ig
from tests.aie_programs import VEK280, network_equals
from tests.aie_timed import layer

#: Splits and rows of a call of a layer whose weights take 48 KB, and of one after it.
NEAR = (((1, 1, 1), 8), ((1, 1, 1), 8))


def stage(workload, split, call_rows):
    """The plan of a layer with (tiles of a chain, parts of the columns, parts of the rows)."""
    whole = dense_layer(workload)
    tiling = native_tilings(whole, VEK280)[0]
    length, parts, rows = split
    mapping = ArrayMapping(
        replace(whole, rows=min(whole.rows, rows * call_rows)),
        tiling,
        (1, 1),
        "flat",
        length,
        parts,
        rows,
        call_rows,
        ceil(ceil(whole.columns / tiling.n) / parts) * tiling.n,
    )
    made = with_kernel(mapping, narrow("vek280", mapping), VARIANTS)
    plan = plan_of_pass(made, whole.rows, "vek280")
    assert plan is not None
    return plan


def layers(rows, sizes, pair=("int8", "int8")):
    """Workloads in a row, with their constants."""
    rng = np.random.default_rng(7)
    return [layer(rng, rows, k, n, pair, gain=4.0) for k, n in pairwise(sizes)]


def joined(made, plans):
    """The graph of stages with these plans."""
    members = [
        Member(plan.graph(f"l{at}", *one), ("x",), plan.timed)
        for at, (one, plan) in enumerate(zip(made, plans, strict=True))
    ]
    return join_stages("net", members, VEK280)


def equals(program, made, runs=3):
    """Execute runs with different data; results are what the layers make, one after the other."""
    rng = np.random.default_rng(3)
    first = made[0][0].inputs[0]
    info = np.iinfo(first.dtype)
    tensors = [
        rng.integers(info.min, info.max + 1, first.shape).astype(first.dtype) for _ in range(runs)
    ]
    done = execute(program, VEK280, [{"x": tensor} for tensor in tensors])
    for run, tensor in enumerate(tensors):
        for workload, constants in made:
            tensor = reference(workload, [tensor], constants)
        np.testing.assert_array_equal(done.tensor(tensor, run=run), tensor)
        assert np.unique(tensor).size > 4


PIPELINES = {
    "parts that do not meet, passes of their own": (
        16,
        (64, 48, 72, 40),
        [((2, 2, 1), 8), ((1, 3, 1), 16), ((3, 2, 1), 4)],
        ("int8", "int8"),
    ),
    "rows in parts, then whole, then in parts": (
        32,
        (40, 64, 48, 24),
        [((2, 2, 2), 8), ((2, 3, 1), 16), ((1, 1, 2), 16)],
        ("uint8", "int8"),
    ),
    "more chains than rows of cores, results sent to several buffers": (
        8,
        (64, 256, 72),
        [((2, 16, 1), 8), ((7, 3, 1), 8)],
        ("int8", "int8"),
    ),
    "one row, words of two elements": (
        1,
        (24, 40, 8),
        [((1, 2, 1), 4), ((2, 1, 1), 4)],
        ("int16", "int8"),
    ),
}


def test_weights_of_three_banks_leave_one_for_all_else():
    """48 KB of weights a tile: results are the same, and what meets in a bank is paid for."""
    made = layers(16, (512, 96, 16))
    plans = [stage(one[0], *split) for one, split in zip(made, NEAR, strict=True)]
    program = lay_out(joined(made, plans).graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    equals(program, made)
    core = max(program.cores, key=lambda core: core.shared_bytes)
    places = {b.name: b.banks for b in program.buffers if b.tile == core.tile}
    assert places["in0"] == places["out"] == places["bias"] == places["stack"]
    assert len(set(places["w"]) - set(places["in0"])) == len(places["w"]) == 3
    # Of a call: the DMA's words of x and y; a store for each tile of 4 x 8, and its bias by rows.
    assert core.shared_bytes == 8 * 512 + 8 * 96 + 16 * (1 + 4) * (8 * 96 // 32)
    for cheaper in (0, 8 * 512 + 8 * 96):
        told = replace(core, shared_bytes=cheaper)
        cores = tuple(told if each is core else each for each in program.cores)
        broken = violations(replace(program, cores=cores), VEK280)
        assert {rule for rule, _ in broken} == {"apart"}


def test_a_bank_of_all_else_is_a_last_resort():
    """A pipeline takes it where there is none without; calls of more rows do not fit a bank."""
    made = [one[0] for one in layers(32, (1024, 768, 1024))]
    stages = [(dense_layer(each), each) for each in made]
    plans = pipeline_plans(stages, "vek280", 4, 4)
    assert isinstance(plans, tuple)
    assert [plan.timed.mapping.part_weight_bytes for plan in plans] == [3 << 14] * 2
    wider = pipeline_plans(stages, "vek280", 8, 8)
    assert isinstance(wider, tuple)
    assert max(plan.timed.mapping.part_weight_bytes for plan in wider) <= 2 << 14
    # The slower for what meets: a cycle for each word, in every call.
    fast = min(plan.interval for plan in plans)
    products = 32 * 1024 * 768 / 16 / 256
    assert fast > products * 1.1


@pytest.mark.parametrize("name", PIPELINES)
def test_runs_follow_each_other_through_all_stages(name):
    rows, sizes, splits, pair = PIPELINES[name]
    made = layers(rows, sizes, pair)
    plans = [stage(one[0], *split) for one, split in zip(made, splits, strict=True)]
    graph = joined(made, plans).graph
    program = lay_out(graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    assert {way.outside.name for way in program.crossings} == {o.name for o in graph.outside}
    equals(program, made)
    # The slowest stage sets the pace; a single run takes all of them, one after the other.
    interval = simulate_program(program, VEK280).interval
    assert interval == pytest.approx(max(plan.interval for plan in plans), rel=0.2)
    assert run_layer(program, VEK280).cycles > len(plans) * 0.8 * interval


def test_readers_of_the_same_pieces_share_a_buffer():
    """Three layers of one input and split, as projections are: one stream brings a piece to all."""
    first, *others = layers(16, (64, 64)), *(layers(16, (64, 48)) for _ in range(3))
    made = [first[0], *(other[0] for other in others)]
    plans = [stage(made[0][0], (2, 2, 1), 8), *(stage(o[0], (2, 3, 1), 8) for o in made[1:])]
    members = [
        Member(plan.graph(f"l{at}", *one), ("x",), plan.timed)
        for at, (one, plan) in enumerate(zip(made, plans, strict=True))
    ]
    links = [Link(0, reader, "x") for reader in (1, 2, 3)]
    graph = join_stages("net", members, VEK280, links).graph
    between = [at for at, buffer in enumerate(graph.shared) if buffer.name.startswith("l0_y")]
    opened = gates(plans[0].timed, plans[1].timed)
    assert len(between) == len(opened)
    tiles = len(members[1].graph.kernels)
    readers = [
        link.sink
        for link in graph.connections
        if link.source.kind == "shared" and link.source.of in between
    ]
    assert len(readers) == len(set(readers)) == 3 * tiles
    first_of_each = {(end.of - len(members[0].graph.kernels)) // tiles for end in readers}
    assert first_of_each == {0, 1, 2}
    program = lay_out(graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()


@pytest.mark.parametrize("parts", [(3, 2), (2, 3), (1, 6)])
def test_readers_that_share_a_buffer_have_their_own_parts_of_the_columns(parts):
    """Wide and narrow projections of the same pieces: every tile of each gets them once."""
    first, *others = layers(16, (64, 64)), *(layers(16, (64, 48)) for _ in parts)
    made = [first[0], *(other[0] for other in others)]
    plans = [stage(made[0][0], (2, 2, 1), 8)]
    plans += [stage(o[0], (2, many, 1), 8) for o, many in zip(made[1:], parts, strict=True)]
    members = [
        Member(plan.graph(f"l{at}", *one), ("x",), plan.timed)
        for at, (one, plan) in enumerate(zip(made, plans, strict=True))
    ]
    graph = join_stages("net", members, VEK280, [Link(0, 1, "x"), Link(0, 2, "x")]).graph
    fed = [link.sink.of for link in graph.connections if link.sink.kind == "buffer"]
    assert sorted(fed) == list(range(len(graph.kernels)))


def copied(plans, copies):
    """Plans of a share of the rows, so many times side by side."""
    return [replace(plan, timed=replace(plan.timed, copies=copies)) for plan in plans]


@pytest.mark.parametrize(("share", "copies"), [(8, 2), (7, 3)])
def test_copies_of_a_pipeline_share_the_rows(share, copies):
    """Shares of whole calls, and shares whose calls compute rows that nobody has."""
    sizes = (64, 48, 40)
    parts = layers(share, sizes)
    splits = [((2, 2, 1), 8), ((1, 1, 1), 8)]
    one = [stage(part[0], *split) for part, split in zip(parts, splits, strict=True)]
    plans, made = copied(one, copies), layers(share * copies, sizes)
    for plan, (workload, _) in zip(plans, made, strict=True):
        assert of_nest(dense_layer(workload), "vek280", plan.nest) == plan
    graph = joined(made, plans).graph
    alone = joined(parts, one).graph
    assert graph.columns == copies * alone.columns == sum(plan.columns for plan in plans)
    program = lay_out(graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert violations(program, VEK280) == ()
    assert len(program.cores) == copies * len(lay_out(alone, VEK280).cores)
    # Each copy lies in columns of its own: no circuit leads from one into another.
    wide = alone.columns
    assert all(
        hop.tile[0] // wide == route.source.tile[0] // wide
        for route in program.routes
        for hop in route.hops
    )
    equals(program, made)
    # All of them take as long as one.
    assert simulate_program(program, VEK280).interval == pytest.approx(
        simulate_program(lay_out(alone, VEK280), VEK280).interval, rel=0.02
    )


def test_every_layer_can_be_looked_at_in_every_copy():
    sizes = (40, 64, 48)
    half = [
        stage(part[0], *split)
        for part, split in zip(layers(16, sizes), [((2, 2, 2), 8), ((2, 3, 1), 16)], strict=True)
    ]
    kept_everywhere(joined(layers(32, sizes), copied(half, 2)), 32, sizes, 1)


def test_every_layer_can_be_looked_at():
    """Results that stay lie in buffers, each element in one of the places that are named."""
    rows, sizes, splits, pair = PIPELINES["rows in parts, then whole, then in parts"]
    made = layers(rows, sizes, pair)
    plans = [stage(one[0], *split) for one, split in zip(made, splits, strict=True)]
    kept_everywhere(joined(made, plans), rows, sizes, 2)


def kept_everywhere(whole, rows, sizes, results):
    """Results that stay cover the layers' results."""
    names = {buffer.name for buffer in whole.graph.shared}
    assert sorted(whole.held) == list(range(results))
    for at, kept in whole.held.items():
        seen = np.zeros((rows, sizes[at + 1]), np.uint8)
        for one in kept:
            assert one.buffer in names
            carried = np.ones(one.outside.elements, np.uint8)
            before = seen.sum()
            one.outside.blocks.paste(carried, seen)
            assert seen.sum() > before
        assert seen.all()


def test_what_a_memory_tile_cannot_take_is_said():
    made = layers(8, (16, 256, 16))
    wide = stage(made[0][0], (1, 8, 1), 8)
    narrowest = stage(made[1][0], (1, 1, 1), 8)
    reason = gates(wide.timed, narrowest.timed)
    assert isinstance(reason, Infeasible)
    assert (reason.resource, reason.demand, reason.bound) == ("streams into a memory tile", 8, 4)
    other = stage(made[0][0], (1, 8, 1), 8)
    reason = gates(other.timed, wide.timed)
    assert isinstance(reason, Infeasible)
    assert "elements" in reason.resource


def test_a_run_whose_results_fit_no_memory_tile_is_no_pipeline():
    """A result waits whole between two stages: 32,768 rows are too many for any buffer."""
    stages = [(dense_layer(one), one) for one, _ in layers(32768, (128, 128, 128))]
    assert isinstance(pipeline_plans(stages, "vek280", 8, 8), Infeasible)


def test_the_slowest_stage_is_as_fast_as_any_choice_makes_it():
    """Against all choices among the candidates, every one of them priced."""
    made = layers(16, (64, 128, 32))
    stages = [(dense_layer(one[0]), one[0]) for one in made]
    columns = 4
    plans = pipeline_plans(stages, "vek280", columns, columns)
    assert not isinstance(plans, Infeasible)
    assert sum(plan.columns for plan in plans) <= columns
    offered = []
    for whole, _ in stages:
        priced = []
        for one in candidates(whole, "vek280", columns):
            kernel = with_kernel(one.mapping, narrow("vek280", one.mapping), VARIANTS)
            plan = plan_of_pass(kernel, whole.rows, "vek280") if kernel is not None else None
            if plan is not None:
                assert plan.interval >= one.bound
                priced.append(plan)
        offered.append(priced)
    able = [
        max(a.interval, b.interval)
        for a, b in product(*offered)
        if a.columns + b.columns <= columns and not isinstance(gates(a.timed, b.timed), Infeasible)
    ]
    assert len(able) > 100
    assert max(plan.interval for plan in plans) == min(able)


def test_copies_are_chosen_where_they_are_faster():
    """More than 32 streams cross no border between two columns: one pipeline has no more chains."""
    made = layers(256, (64, 64, 64))
    stages = [(dense_layer(one[0]), one[0]) for one in made]
    alone = pipeline_plans(stages, "vek280", 24, 24)
    several = pipeline_plans(stages, "vek280", 24, 24, copies=COPIES)
    assert not isinstance(alone, Infeasible)
    assert not isinstance(several, Infeasible)
    assert {plan.timed.copies for plan in several} != {1}
    assert sum(plan.columns for plan in several) <= 24
    assert max(plan.interval for plan in several) < 0.9 * max(plan.interval for plan in alone)
    program = lay_out(joined(made, several).graph, VEK280)
    assert not isinstance(program, Infeasible), program
    assert len(program.cores) == sum(plan.timed.tiles for plan in several)
    equals(program, made, runs=2)


def test_a_compiled_network_is_one_pipeline():
    target = VersalAIEML(
        modules=("array",), memory="plio", optimize_for="throughput", columns_per_layer=3
    )
    net = match.compile(ig.dense_row(16, (64, 128, 96, 32)), target, cache=False)
    mine = net.program.schedule.chosen
    assert len(mine) == 3
    assert network_equals(net, np.random.default_rng(1)) == 1
    (stretch,) = target.stretches(
        [replace_step(layer, at) for at, layer in enumerate(mine)],
    )
    plans = [target._array.plan(layer.workload, layer.mapping) for layer in mine]
    assert all(plan.columns <= 3 for plan in plans)
    assert stretch.graph.columns == sum(plan.columns for plan in plans)
    slowest = max(plan.interval for plan in plans)
    clocks = target.frequency / target._array.frequency
    # The network costs what the slowest stage does, in selection and where results are handed over.
    assert net.assignment.cost.layers == pytest.approx(slowest * clocks)
    handed = target.handed_over(mine)
    assert sum(over.cost.cycles for over in handed.values()) == pytest.approx(slowest)
    last = mine[-1].symbol
    assert [over.held_until is None for over in handed.values()] == [s == last for s in handed]
    # Whoever forbids that results stay gets layers one by one, and no plan is made for all of them.
    apart = VersalAIEML(**{**target.options(), "handover": False})
    assert len(apart.stretches([replace_step(la, at) for at, la in enumerate(mine)])) == 3
    assert apart.together([]) == {}


def replace_step(layer, at):
    """A chosen layer as the simulator sees it."""
    return SimulatedStep(
        layer.label,
        layer.module,
        layer.workload,
        None,
        1.0,
        1.0,
        mapping=layer.mapping,
        flow=replace(layer.flow, step=at),
    )
