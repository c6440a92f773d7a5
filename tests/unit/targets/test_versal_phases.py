"""Layers whose weights go by and that are too many for the array: one graph for those alike."""

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.aie_ml import device
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from match_aie.targets.versal.module import in_turn, plans
from match_aie.targets.versal.phases import hosts
from tests import integer_graphs as ig

VEK280 = device("vek280")

#: Inputs and outputs of a layer: more weights than a column of tiles holds.
SIDE = 768


def made(count, rows=1, **options):
    target = VersalAIEML(modules=("array",), columns_per_layer=1, **options)
    return match.compile(ig.dense_row(rows, (SIDE,) * (count + 1)), target)


def graphs(net):
    return [unit.path for unit in net.program.units if unit.path.endswith("_graph.h")]


def on_array(net):
    return [step.layer for step in net.program.schedule.steps if step.layer is not None]


@pytest.fixture(scope="module")
def net():
    return made(8)


def test_alike_layers_run_as_one_graph_where_channels_lack(net):
    """Each takes one column, and more channels of 24 than a third of them."""
    assert [layer.module for layer in on_array(net)] == ["array"] * 8
    assert len(graphs(net)) == 1


def test_where_all_fit_each_has_a_graph_of_its_own(net):
    few = made(4)
    assert len(graphs(few)) == 4
    # What each takes more in turn is to be given its numbers: 4 bytes a column at 0.2 a ns.
    own, turn = on_array(few)[1].cost, on_array(net)[1].cost
    assert dict(turn.parts)["array"] == dict(own.parts)["array"]
    assert turn.cycles - own.cycles == pytest.approx(4 * SIDE / 0.2 * VEK280.clock_ghz)


@pytest.mark.parametrize(
    ("memory", "aim"),
    [
        ("ddr", "latency"),
        ("plio", "throughput"),
        pytest.param("ddr", "throughput", marks=pytest.mark.slow),
        pytest.param("plio", "latency", marks=pytest.mark.slow),
    ],
)
def test_every_layer_is_the_reference_bit_for_bit_and_simulated(memory, aim):
    net = made(7, rows=6, memory=memory, optimize_for=aim)
    layers = net.program.schedule.chosen
    assert len(layers) == 7
    assert prove(layers, "vek280", np.random.default_rng(1)) == 7
    modelled = sum(layer.cost.cycles for layer in on_array(net)) / VEK280.clock_ghz / 1e3
    simulated = net.simulate(record=False).microseconds
    assert simulated == pytest.approx(modelled, rel=0.1)


@pytest.mark.slow
def test_a_layer_that_its_user_pins_keeps_a_graph_of_its_own(net):
    label = net.program.schedule.chosen[3].label
    pinned = made(8, layers={label: {"position": (5, 0)}})
    assert len(graphs(pinned)) == 2
    assert prove(
        pinned.program.schedule.chosen,
        "vek280",
        np.random.default_rng(2),
        wishes=pinned.target._wishes,
    )


@pytest.mark.slow
def test_without_hand_over_it_is_the_same():
    assert len(graphs(made(8, handover=False))) == 1


def test_weights_that_fit_may_go_by_all_the_same():
    """On so few tiles that they do not fit those: for more layers than there is room for."""
    (layer,) = match.compile(
        ig.dense_row(8, (512, 512)), VersalAIEML(modules=("array",), memory="plio")
    ).program.schedule.chosen
    *resident, last = plans(layer.workload, "vek280", 4, "plio", "throughput")
    assert resident
    assert not any(in_turn(plan, VEK280) for plan in resident)
    assert in_turn(last, VEK280)
    assert last.timed.tiles * VEK280.architecture.core.data_memory_bytes <= 512 * 512


def residual(blocks, rows, width):
    """Blocks of two dense layers and a sum with what they read."""
    rng = np.random.default_rng(5)

    def body(builder, inputs):
        x = inputs[0]
        for _ in range(blocks):
            y = x
            for _ in range(2):
                weight = rng.integers(-128, 128, (width, width)).astype(np.int8)
                bias = rng.integers(-999, 999, width)
                y = ig.dense(builder, y, weight, shift=10, bias=bias)
            x = ig.residual(builder, x, y, "NHWC", shift=1)
        return x

    return ig.module(body, ((rows, width), "int8"))


@pytest.mark.parametrize(
    ("memory", "aim", "rows"),
    [
        ("ddr", "throughput", 16),
        pytest.param("plio", "throughput", 256, marks=pytest.mark.slow),
        pytest.param("ddr", "throughput", 256, marks=pytest.mark.slow),
        pytest.param("ddr", "latency", 256, marks=pytest.mark.slow),
        pytest.param("plio", "latency", 1, marks=pytest.mark.slow),
        pytest.param("ddr", "throughput", 1, marks=pytest.mark.slow),
    ],
)
def test_residual_networks_run_as_pipelines_that_share_the_channels(memory, aim, rows):
    """Each pipeline would like most of the channels to memory."""
    target = VersalAIEML(memory=memory, optimize_for=aim)
    net = match.compile(residual(2, rows, 64), target)
    layers = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert sum(layer.workload.kind == "dense" for layer in layers) == 4
    assert prove(layers, "vek280", np.random.default_rng(1)) > 0
    assert net.simulate(record=False).microseconds > 0


@pytest.mark.parametrize(
    ("kinds", "needs", "wanted"),
    [
        (("a", "a", None), ((10, 5, 1),) * 3, [0, 1, 2]),
        (("a", "a", None), ((13, 5, 1),) * 3, [0, 0, 2]),
        ((None, "b", "a", "b", "a"), ((4, 9, 1),) * 5, [0, 1, 2, 1, 2]),
    ],
)
def test_graphs_are_shared_by_kind_and_only_where_something_lacks(kinds, needs, wanted):
    assert hosts(kinds, needs, VEK280) == wanted
