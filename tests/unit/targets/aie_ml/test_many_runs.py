"""A host that begins runs before earlier ones have ended: how many, and how fast."""

from dataclasses import replace

import numpy as np
import pytest

import match_aie as match
from match_aie.codegen.many import divided
from match_aie.errors import Infeasible
from match_aie.hardware import SimulatedStep
from match_aie.simulation import DeadlockError
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.capacity import MOST, runs_ahead
from match_aie.targets.aie_ml.simulate import HostWork, host_work, run_layer, simulate_streamed
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from tests import integer_graphs as ig
from tests.aie_programs import VEK280


def conv(rng, builder, x, side):
    weights = rng.integers(-128, 128, (16, 16, side, side)).astype(np.int8)
    pad = (side // 2,) * 4
    total = ig.convolution(builder, x, weights, layout="NHWC", padding=pad)
    bias = rng.integers(-999, 999, 16)
    return ig.requantised(builder, total, "NHWC", shift=9, bias=bias)


def network(rng):
    """A convolution, two ways to a sum, one of them with a convolution, and another one."""

    def body(builder, inputs):
        first = conv(rng, builder, inputs[0], 3)
        again = ig.residual(builder, conv(rng, builder, first, 3), first, "NHWC", shift=1)
        return conv(rng, builder, again, 1)

    return ig.module(body, ((1, 8, 8, 16), "int8"))


def crossing(rng, long):
    """Two shortcuts: the second one begins before the sum where the first one ends."""

    def row(builder, x, count):
        for _ in range(count):
            x = conv(rng, builder, x, 1)
        return x

    def body(builder, inputs):
        first = conv(rng, builder, inputs[0], 1)
        second = row(builder, first, long)
        x = ig.residual(builder, row(builder, second, 1), first, "NHWC", shift=1)
        return ig.residual(builder, row(builder, x, long), second, "NHWC", shift=1)

    return ig.module(body, ((1, 48, 48, 16), "int8"))


@pytest.fixture(scope="module")
def made():
    target = VersalAIEML(modules=("array",), optimize_for="throughput", columns_per_layer=1)
    net = match.compile(network(np.random.default_rng(5)), target, cache=False)
    layers = net.program.schedule.chosen
    assert {layer.module for layer in layers} == {"array"}
    runs = [next(stretches(layers, "vek280", np.random.default_rng(seed))) for seed in (1, 2, 3)]
    return target, net, runs


def test_images_follow_each_other_through_an_image_network(made):
    """A sum waits for its two operands of one image, whatever images are behind."""
    _, _, runs = made
    done = execute(runs[0].program, VEK280, [run.tensors for run in runs])
    for number, run in enumerate(runs):
        ((_, wanted),) = run.results
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
    assert not np.array_equal(runs[0].results[0][1], runs[1].results[0][1])


def graph_of(made):
    target, net, *_ = made
    steps = [
        SimulatedStep(s.label, s.layer.module, s.layer.workload, None, 0.0, 0.0, 0, s.layer.mapping)
        if s.layer
        else SimulatedStep(s.label, "core", None, None, 700.0, 700.0)
        for s in net.program.schedule.steps
    ]
    flows = {layer.symbol: layer.flow for layer in net.program.schedule.chosen}
    steps = [
        replace(step, flow=flows[s.layer.symbol]) if s.layer else step
        for step, s in zip(steps, net.program.schedule.steps, strict=True)
    ]
    return steps, target.stretches(steps)


def test_the_shortest_way_through_a_graph_says_how_far_ahead_a_host_may_be(made):
    _, found = graph_of(made)
    graph = found[0].graph
    ahead = runs_ahead(graph)
    assert 2 < ahead <= MOST
    single = replace(graph, shared=tuple(replace(one, copies=1) for one in graph.shared))
    assert runs_ahead(single) == ahead // 2
    several = replace(graph, shared=tuple(replace(one, fills=2) for one in graph.shared))
    assert runs_ahead(several) == 0


@pytest.mark.slow
def test_shortcuts_that_cross_leave_less_room():
    """By way of the second sum, back to where its shortcut begins, to the first sum, and back."""
    target = VersalAIEML(modules=("array",), optimize_for="throughput", columns_per_layer=1)
    net = match.compile(crossing(np.random.default_rng(5), 5), target, cache=False)
    found = graph_of((target, net))[1][0]
    ahead = runs_ahead(found.graph)
    assert ahead == 12  # forward alone there are more than `MOST`
    program = lay_out(found.graph, VEK280, found.column)
    most, fewer = (
        simulate_streamed(program, VEK280, HostWork(0.0, 0.0, many)) for many in (ahead, 4)
    )
    assert most.interval <= fewer.interval
    with pytest.raises(DeadlockError):
        simulate_streamed(program, VEK280, HostWork(0.0, 0.0, ahead + 5))


def test_what_the_host_does_is_a_part_of_the_interval(made):
    _, found = graph_of(made)
    program = lay_out(found[0].graph, VEK280, found[0].column)
    ahead = runs_ahead(found[0].graph)
    alone = run_layer(program, VEK280).cycles

    def interval(before, after, many):
        return simulate_streamed(program, VEK280, HostWork(before, after, many)).interval

    idle = interval(0.0, 0.0, ahead)
    assert idle < 0.6 * alone
    # One after the other: nothing overlaps but the starts of kernels and of the result's channel.
    assert interval(1000.0, 500.0, 0) >= 0.9 * alone + 1500
    # A host that is slower than the array sets the pace, and the array is hidden behind it.
    slow = interval(3 * alone, alone, ahead)
    assert slow == pytest.approx(4 * alone)
    assert idle <= interval(idle / 2, idle / 4, ahead) <= 1.2 * idle


def test_a_host_that_is_too_far_ahead_waits_for_ever(made):
    """The array takes no more inputs, and nobody takes its results."""
    _, found = graph_of(made)
    program = lay_out(found[0].graph, VEK280, found[0].column)
    with pytest.raises(DeadlockError):
        simulate_streamed(program, VEK280, HostWork(0.0, 0.0, 60))


def test_the_host_works_around_one_graph(made):
    steps, found = graph_of(made)
    work = host_work(steps, found, (1.4, 1.25), 4)
    into, back = 8 * 8 * 16, 8 * 8 * 16
    assert work.before == pytest.approx((1000 + into / 5.6) * 1.25)
    assert work.after == pytest.approx(back / 5.6 * 1.25)
    assert isinstance(host_work(steps, [], (1.4, 1.25), 4), Infeasible)


def test_runs_follow_each_other_where_nothing_but_the_result_crosses(made):
    """A tensor of the arena that both sides use would be another run's."""
    _, net, _ = made
    schedule = net.program.schedule
    last = divided(schedule)
    assert schedule.steps[last].layer.ahead > 0
    step = schedule.steps[0]
    late = replace(schedule.steps[last], layer=replace(schedule.steps[last].layer, ahead=0))
    early = replace(step, layer=replace(step.layer, ahead=3))
    moved = replace(schedule, steps=(early, *schedule.steps[1:last], late))
    # The first result is read by two later steps, and is what is taken: a part of no other run.
    assert divided(moved) == 0
    second = replace(schedule.steps[1], layer=replace(schedule.steps[1].layer, ahead=3))
    crossed = replace(schedule, steps=(step, second, *schedule.steps[2:last], late))
    assert divided(crossed) is None
    none = replace(schedule, steps=(*schedule.steps[:last], late))
    assert divided(none) is None


def test_latency_begins_no_runs_ahead(made):
    _, net, _ = made
    target = VersalAIEML(modules=("array",), columns_per_layer=1)
    other = match.compile(network(np.random.default_rng(5)), target, cache=False)
    assert not any(s.layer.ahead for s in other.program.schedule.steps if s.layer)
    name = net.symbol
    assert f"{name}_run_many(" in net.sources()[f"include/{name}.h"].decode()
    assert "_run_many(" not in other.sources()[f"include/{other.symbol}.h"].decode()
