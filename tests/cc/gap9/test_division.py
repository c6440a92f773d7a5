"""Rows of one layer on NE16 and the cluster at the same time: same bits, same order, faster."""

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
from match_aie.errors import Infeasible
from match_aie.lowering.beside import side_by_side
from match_aie.lowering.company import MARGIN
from match_aie.lowering.division import whole_of
from match_aie.targets.gap9 import GAP9
from tests.cc.gap9.test_beside import overlap
from tests.networks import network
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned

IMAGE = np.random.default_rng(4).integers(0, 256, (1, 32, 24, 16)).astype(np.uint8)


def padded_above():
    """Depthwise filters that see padding above the image only, which is no 0: uint8."""
    graph = Graph(22)
    x = graph.add("Conv", "x", graph.normal(32, 32, 1, 1, deviation=0.2))
    weight = graph.normal(32, 1, 3, 3, deviation=0.3)
    x = graph.add("Conv", x, weight, pads=[1, 0, 0, 0], group=32)
    y = graph.add("Relu", graph.add("Conv", x, graph.normal(48, 32, 1, 1, deviation=0.2)))
    return unsigned(graph.model("padded", {"x": (1, 32, 24, 16)}, {y: (1, 48, 23, 14)}))


def compiled(model, **options):
    """For banks by which two units gain most: the limits below are of these."""
    options = {"banks": "assumed", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model, GAP9(**options), integer_io=True)


@pytest.fixture(scope="module")
def nets():
    model = padded_above().SerializeToString()
    return {on: compiled(model, beside=on) for on in (False, True)}


@pytest.fixture(scope="module")
def runs(nets, tmp_path_factory):
    return runs_of(nets, IMAGE, lambda on: tmp_path_factory.mktemp(f"filters{on}"))


def test_a_layer_is_shared_by_both_engines_where_that_is_faster(nets):
    found = pairs_of(nets[True])
    assert found
    for one, other in found:
        assert whole_of(one.symbol) == whole_of(other.symbol)
        assert {one.layer.module, other.layer.module} == {"ne16", "cluster"}
    simulated = {on: net.simulate() for on, net in nets.items()}
    assert overlap(simulated[True].timeline, "NE16", "cluster") > 0
    assert simulated[True].cycles < simulated[False].cycles
    of_layer = {on: shared_cycles(run) for on, run in simulated.items()}
    assert of_layer[True] < 0.85 * of_layer[False]


def shared_cycles(run):
    """Of the layer that is divided, or its halves."""
    return sum(step.cycles for step in run.steps if step.label.startswith("conv_1"))


@pytest.mark.parametrize("banks", ["priority", "in_turn"])
def test_halves_are_faster_with_public_banks_too(nets, banks):
    """Whose models make units wait: less is gained than by the limits above."""
    net = compiled(padded_above().SerializeToString(), banks=banks)
    simulated = net.simulate()
    assert pairs_of(net)
    assert overlap(simulated.timeline, "NE16", "cluster") > 0
    assert simulated.cycles < nets[False].simulate().cycles


def test_cores_without_xpulp_get_fewer_rows(nets):
    """Their kernels are several times as slow; planned for them it is no slower than NE16 alone."""
    net = compiled(padded_above().SerializeToString(), instruction_set="rv32imc")
    alone = compiled(padded_above().SerializeToString(), instruction_set="rv32imc", beside=False)
    assert nets[False].simulate().cycles < net.simulate().cycles <= alone.simulate().cycles
    assert rows_on_cluster(net) < rows_on_cluster(nets[True])


def rows_on_cluster(net):
    """Output rows of halves that the cluster has."""
    pairs = [step.layer for pair in pairs_of(net) for step in pair]
    return sum(layer.workload.sizes["OY"] for layer in pairs if layer.module == "cluster")


def test_halves_read_and_write_one_tensor_each_that_stays(nets):
    for one, other in pairs_of(nets[True]):
        places = [step.layer.tiles.operands for step in (one, other)]
        begins = [{o.name: o.offset for o in operands} for operands in places]
        assert {o.moves for operands in places for o in (operands[0], operands[-1])} == {"never"}
        top, bottom = sorted(places, key=lambda operands: operands[-1].offset)
        assert top[-1].offset + top[-1].nbytes == bottom[-1].offset
        assert begins[0]["weight"] != begins[1]["weight"]


def test_the_bits_are_those_of_one_engine(runs):
    assert_same_bits(runs)


@pytest.mark.parametrize("flag", FLAGS)
def test_whenever_a_kernel_runs_and_in_the_simulator_s_order(nets, runs, flag):
    in_c = assert_runs_with(flag, nets[True], runs[True], IMAGE)
    if in_c:
        assert {"open", "start", "ahead", "end", "close"} == {what for _, what in in_c}


def test_the_binding_computes_the_same(runs):
    assert_binding_agrees(runs[True], IMAGE)


def test_halves_deviate_from_the_model_as_the_layer_did(nets):
    bounds = {layer.symbol: layer.original.error_lsb for layer in layers(nets[False])}
    for pair in pairs_of(nets[True]):
        for step in pair:
            assert step.layer.original.error_lsb <= bounds[whole_of(step.symbol)]


def layers(net):
    return [layer for layer in net.program.schedule.layers if layer.original]


def test_what_a_pair_takes_is_modelled_as_well_as_the_margin_says(nets):
    """It is what a pair has to save: less may be the model's error."""
    run, schedule = nets[True].simulate(record=False), nets[True].program.schedule
    for pair in schedule.beside:
        steps = run.steps[pair.step : pair.step + 2]
        simulated = sum(step.cycles for step in steps)
        assert abs(sum(step.predicted for step in steps) - simulated) <= MARGIN * simulated


def test_a_half_without_the_layer_s_padding_has_its_bits(nets):
    """It has no border on NE16, so its offsets hold the zero point; `runs` holds the bits."""
    found = [[step.layer.workload for step in pair] for pair in pairs_of(nets[True])]
    assert any({any(w.window.padding) for w in pair} == {True, False} for pair in found)


@pytest.mark.slow
def test_a_shortcut_changes_the_unit_to_run_beside_the_other_branch():
    """ResNet8's shortcuts are faster on NE16 by themselves; one is hidden on the cluster."""
    model = network("resnet8_u8.onnx")
    nets = {on: compiled(model, beside=on) for on in (False, True)}
    pairs = [
        {step.layer.symbol: step.layer.module for step in pair} for pair in pairs_of(nets[True])
    ]
    alone = {layer.symbol: layer.module for layer in nets[False].program.schedule.layers}
    moved = [s for pair in pairs for s, module in pair.items() if alone.get(s, module) != module]
    assert moved
    simulated = {on: net.simulate() for on, net in nets.items()}
    assert overlap(simulated[False].timeline, "NE16", "cluster") == 0
    assert overlap(simulated[True].timeline, "NE16", "cluster") > 0
    assert simulated[True].cycles <= 0.95 * simulated[False].cycles


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_only_latency_puts_layers_side_by_side(nets, objective):
    """Nothing says what another plan takes in joules: none is made of what has pairs otherwise."""
    planned = []

    def plan(schedule):
        planned.append(schedule.beside)
        return Infeasible("L1", 2, 1, "layers")

    program = nets[False].program
    found = side_by_side(program, program.schedule, GAP9(), objective, plan)
    assert found is program
    assert bool(planned) == (objective == "latency")
    assert all(planned)
