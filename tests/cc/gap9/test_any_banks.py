"""By default no pair loses with any public rule of L1's banks, nor with a worker fewer."""

import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.lowering.company import MARGIN
from match_aie.simulating import simulate
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.banks import PUBLIC
from match_aie.toolchain.record import parse
from tests.cc.gap9.test_trailing import residual
from tests.networks import network
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned


def stem():
    """A convolution of stride 2 of three planes, which is divided, and one of single pixels."""
    graph = Graph(5)
    weight = graph.normal(8, 3, 3, 3, deviation=0.2)
    x = graph.add("Relu", graph.add("Conv", "x", weight, pads=[1] * 4, strides=[2, 2]))
    y = graph.add("Relu", graph.add("Conv", x, graph.normal(16, 8, 1, 1, deviation=0.3)))
    return unsigned(graph.model("stem", {"x": (1, 3, 64, 64)}, {y: (1, 16, 32, 32)}))


def forked(seed):
    """Two random branches of one to three convolutions, and their sum."""
    rng, graph = np.random.default_rng(seed), Graph(seed)
    c = int(rng.choice([8, 16, 24, 32]))
    height, width = int(rng.integers(5, 25)), int(rng.integers(5, 25))
    stem = graph.add("Relu", graph.add("Conv", "x", graph.normal(c, c, 1, 1, deviation=0.3)))
    ends = []
    for _ in range(2):
        y, k, count = stem, c, int(rng.integers(1, 4))
        for index in range(count):
            depth, last = bool(rng.random() < 0.5), index == count - 1
            size = int(rng.choice([1, 3, 5] if depth else [1, 3]))
            made = k if depth else c if last else int(rng.choice([16, 32, 48]))
            weight = graph.normal(made, 1 if depth else k, size, size, deviation=0.2)
            y = graph.add("Conv", y, weight, pads=[size // 2] * 4, group=k if depth else 1)
            y, k = y if last else graph.add("Relu", y), made
        ends.append(y if k == c else graph.add("Conv", y, graph.normal(c, k, 1, 1, deviation=0.3)))
    y = graph.add("Relu", graph.add("Add", *ends))
    shape = (1, c, height, width)
    return unsigned(graph.model("forked", {"x": shape}, {y: shape}))


MODELS = {
    "losing": lambda: forked(10),
    "even": lambda: network("branches_even_u8.onnx"),
    "branches": lambda: network("branches_u8.onnx"),
    "halves": stem,
    "trailing": residual,
}
RULES = tuple(product(PUBLIC, (9, 8)))


def compiled(name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]()
        model = model if isinstance(model, Path) else model.SerializeToString()
        return match.compile(model, GAP9(**options), integer_io=True)


def simulated(net, banks, cores):
    """A plan as it is, on a chip that turns out to be another one."""
    record = parse(json.loads(net.code()["match_aie.json"]), Path(net.symbol))
    return simulate(record, GAP9(banks=banks, cores=cores), record_events=False)


@pytest.fixture(scope="module", params=["branches", "halves", "trailing"])
def nets(request):
    return {on: compiled(request.param, beside=on) for on in (False, True)}


@pytest.fixture(scope="module")
def even():
    return {on: compiled("even", beside=on) for on in (False, True)}


@pytest.mark.parametrize(("banks", "cores"), RULES)
def test_two_engines_are_faster_than_one_whatever_the_chip_is(nets, banks, cores):
    both, one = (simulated(nets[on], banks, cores).cycles for on in (True, False))
    assert both < one


@pytest.mark.parametrize(("banks", "cores"), RULES)
def test_even_branches_are_faster_together_whatever_the_chip_is(even, banks, cores):
    """Of branches that take both units about as long, what was asked for: 1.4 times as fast."""
    both, one = (simulated(even[on], banks, cores).cycles for on in (True, False))
    assert one >= 1.4 * both


def test_every_pair_says_what_it_takes_in_each_case(nets):
    """As they are planned it gains by the margin in all of them."""
    predicted = {s.label: s.predicted for s in nets[False].simulate(record=False).steps}
    run, beside = nets[True].simulate(record=False), nets[True].program.schedule.beside
    assert beside
    for pair in beside:
        assert len(pair.cases) == len(RULES) - 1
        both = run.steps[pair.step : pair.step + 2]
        labels = {step.label.split(" rows")[0] for step in both}
        alone = sum(predicted[label] for label in labels)
        taken = sum(step.predicted for step in both) + max(0.0, *pair.cases)
        # Other lines of code come from L2 where a layer is alone, by what ran before it.
        assert taken < (1 - MARGIN / 2) * alone


def test_a_plan_for_one_rule_knows_no_other_case():
    net = compiled("trailing", banks="in_turn")
    assert {pair.cases for pair in net.program.schedule.beside} <= {()}


def test_what_loses_is_not_planned():
    """A sum behind a short convolution: entering it costs more than both engines save."""
    assert not compiled("losing").program.schedule.beside


def test_layers_that_move_weights_alone_are_in_tiles_of_these_alone(even):
    """Rows were tiles when images had to move; of a layer on NE16 they are none now."""
    found = []
    for step in even[True].program.schedule.steps:
        tiles = step.layer.tiles if step.layer else None
        moved = [o for o in tiles.operands if o.moves == "here"] if tiles else []
        if not moved or any(o.copies != 2 for o in moved):
            continue
        dims = {dim for operand in moved for axis in operand.axes for dim, _ in axis.terms}
        assert {loop.dim for loop in tiles.loops} <= dims
        found.append(tiles.calls)
    assert found == [3]
