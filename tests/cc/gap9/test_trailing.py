"""A layer tile by tile behind the one whose result it reads, on another unit: bits, order, time."""

import warnings

import numpy as np
import pytest
from gap9_lanes import (
    FLAGS,
    assert_binding_agrees,
    assert_runs_with,
    assert_same_bits,
    pairs_of,
    runs_of,
)

import match_aie as match
from match_aie.targets.gap9 import GAP9
from tests.cc.gap9.test_beside import overlap
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned

CHANNELS, SIDE = 16, 32
IMAGE = np.random.default_rng(4).integers(0, 256, (1, CHANNELS, SIDE, SIDE)).astype(np.uint8)


def residual(*, twice=False):
    """A convolution, its input added to its result (or this to itself), another of stride 2."""
    graph = Graph(23)
    deviation = (2 / (9 * CHANNELS)) ** 0.5
    weight = graph.normal(CHANNELS, CHANNELS, 3, 3, deviation=deviation)
    first = graph.add("Relu", graph.add("Conv", "x", weight, pads=[1] * 4))
    weight = graph.normal(CHANNELS, CHANNELS, 3, 3, deviation=deviation)
    made = graph.add("Conv", first, weight, pads=[1] * 4)
    total = graph.add("Relu", graph.add("Add", made, made if twice else first))
    weight = graph.normal(32, CHANNELS, 3, 3, deviation=deviation)
    y = graph.add("Relu", graph.add("Conv", total, weight, pads=[1] * 4, strides=[2, 2]))
    image = (1, CHANNELS, SIDE, SIDE)
    return unsigned(graph.model("residual", {"x": image}, {y: (1, 32, SIDE // 2, SIDE // 2)}))


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model.SerializeToString(), GAP9(**options), integer_io=True)


@pytest.fixture(scope="module")
def nets():
    return {on: compiled(residual(), banks="priority", beside=on) for on in (False, True)}


@pytest.fixture(scope="module")
def runs(nets, tmp_path_factory):
    return runs_of(nets, IMAGE, lambda on: tmp_path_factory.mktemp(f"trailing{on}"))


def trailing(net):
    """Pairs of which the other one reads what the first one makes."""
    return [pair for pair in pairs_of(net) if pair[1].layer.tiles.follows]


def test_a_sum_adds_rows_while_the_next_ones_are_made(nets):
    """Both in tiles of rows, of which no sum needs one that was not seen to be made."""
    ((made, total),) = trailing(nets[True])
    assert (made.layer.module, total.layer.module) == ("ne16", "cluster")
    assert total.layer.workload.kind == "add"
    assert min(made.layer.tiles.calls, total.layer.tiles.calls) > 1
    assert {o.moves for o in total.layer.tiles.operands if o.name in total.layer.tiles.follows} == {
        "never"
    }
    simulated = {on: net.simulate() for on, net in nets.items()}
    assert overlap(simulated[True].timeline, "NE16", "cluster") > 0
    assert simulated[True].cycles < simulated[False].cycles


def test_no_tile_is_started_before_what_it_reads_was_made(nets):
    """By the order of turns: each ends the wait for the tile before."""
    schedule = nets[True].program.schedule
    (pair,) = (p for p in schedule.beside if schedule.steps[p.step + 1].layer.tiles.follows)
    made, total = (schedule.steps[pair.step + lane].layer.tiles for lane in (0, 1))
    ends = [sum(visit.ranges["OY"]) for visit in made.visits()]
    wanted = iter([*(sum(visit.ranges["OY"]) for visit in total.visits()), 0])
    turned = 0
    for lane in pair.order:
        turned += lane == 0
        if lane:
            assert next(wanted) <= (0, *ends)[max(0, turned - 1)]


def test_the_model_knows_what_they_take(nets):
    """Of the layers whose lists lie in L1 to 3 %, as in `MARGIN`; codes' lines from L2 apart."""
    run = nets[True].simulate(record=False)
    schedule = nets[True].program.schedule
    (pair,) = (p for p in schedule.beside if schedule.steps[p.step + 1].layer.tiles.follows)
    both = run.steps[pair.step : pair.step + 2]
    assert sum(step.predicted for step in both) == pytest.approx(
        sum(step.cycles for step in both), rel=0.03
    )


@pytest.mark.parametrize("banks", ["in_turn", "assumed"])
def test_two_engines_are_never_slower_than_one(nets, banks):
    """Whoever gets a bank: planned for it, simulated with it."""
    both = compiled(residual(), banks=banks)
    assert both.simulate().cycles <= nets[False].simulate().cycles


def test_the_bits_are_those_of_one_engine(runs):
    assert_same_bits(runs)


@pytest.mark.parametrize("flag", FLAGS)
def test_whenever_a_kernel_runs_and_in_the_simulator_s_order(nets, runs, flag):
    assert_runs_with(flag, nets[True], runs[True], IMAGE)


def test_the_binding_computes_the_same(runs):
    assert_binding_agrees(runs[True], IMAGE)


def test_a_sum_of_a_tensor_and_itself_trails_it_too(tmp_path):
    net = compiled(residual(twice=True))
    assert net.write(tmp_path / "net").run(IMAGE, quick=True).matches_reference


def test_a_layer_of_which_some_tiles_see_nothing_but_padding(tmp_path):
    """Six rows of padding above and below: of 22 output rows in six tiles the first four."""
    graph, image = Graph(1), (1, 16, 12, 12)
    weight = graph.normal(16, 16, 3, 3, deviation=0.1)
    made = graph.add("Relu", graph.add("Conv", "x", weight, pads=[1] * 4))
    weight = graph.normal(8, 16, 3, 3, deviation=0.1)
    y = graph.add("Relu", graph.add("Conv", made, weight, pads=[6, 1, 6, 1]))
    net = compiled(unsigned(graph.model("padded", {"x": image}, {y: (1, 8, 22, 12)})))
    assert net.write(tmp_path / "net").run(IMAGE[:, :, :12, :12], quick=True).matches_reference
