"""A sum on the cluster while NE16 makes what is summed: same bits, same order, faster."""

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
from match_aie.lowering.division import whole_of
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
    return runs_of(nets, IMAGE, lambda on: tmp_path_factory.mktemp(f"following{on}"))


def test_a_sum_s_first_rows_run_beside_what_makes_the_others(nets):
    """And the next layer's first rows beside the sum's last."""
    found = [
        pair for pair in pairs_of(nets[True]) if any(s.layer.workload.kind == "add" for s in pair)
    ]
    assert found
    for one, other in found:
        assert whole_of(one.symbol) != whole_of(other.symbol)
        assert {one.layer.module, other.layer.module} == {"ne16", "cluster"}
    simulated = {on: net.simulate() for on, net in nets.items()}
    assert overlap(simulated[True].timeline, "NE16", "cluster") > 0
    assert simulated[True].cycles < simulated[False].cycles


@pytest.mark.parametrize("banks", ["in_turn", "assumed"])
def test_two_engines_are_never_slower_than_one(nets, banks):
    """Whoever gets a bank: planned for it, simulated with it."""
    both = compiled(residual(), banks=banks)
    assert both.simulate().cycles <= nets[False].simulate().cycles


def test_the_default_is_the_public_interconnect():
    assert GAP9().options()["banks"] == "priority"


def test_every_row_is_made_once_in_order(nets):
    heights = {}
    for net in nets.values():
        for step in net.program.schedule.steps:
            if step.layer is not None and step.layer.module != "core":
                rows = step.layer.workload.sizes["OY"]
                heights.setdefault((net, whole_of(step.symbol)), []).append(rows)
    for symbol in {symbol for _, symbol in heights}:
        whole, split = (heights[nets[on], symbol] for on in (False, True))
        assert sum(split) == sum(whole)


def test_the_bits_are_those_of_one_engine(runs):
    assert_same_bits(runs)


@pytest.mark.parametrize("flag", FLAGS)
def test_whenever_a_kernel_runs_and_in_the_simulator_s_order(nets, runs, flag):
    assert_runs_with(flag, nets[True], runs[True], IMAGE)


def test_the_binding_computes_the_same(runs):
    assert_binding_agrees(runs[True], IMAGE)


def test_a_sum_of_a_tensor_and_itself_is_not_split(tmp_path):
    net = compiled(residual(twice=True))
    assert all(
        whole_of(step.symbol) == step.symbol
        for step in net.program.schedule.steps
        if step.layer is not None and step.layer.workload.kind == "add"
    )
    assert net.write(tmp_path / "net").run(IMAGE).matches_reference
