"""Layers that the caller gives to a module, or to the core."""

import numpy as np
import onnx
import pytest

import match_aie as match
from match_aie.errors import OptionError
from match_aie.partition.pricing import Pricing
from match_aie.targets.gap9 import GAP9
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned


def runs(net):
    """Name of a convolution, or of a part of it -> the module that runs it."""
    steps = [step for step in net.program.schedule.steps if step.layer is not None]
    return {step.label: step.layer.module for step in steps if step.layer.workload.macs}


def two_convolutions() -> onnx.ModelProto:
    graph = Graph(5)
    x = "x"
    for _ in range(2):
        weight = graph.normal(16, 16, 3, 3, deviation=0.1)
        x = graph.add("Relu", graph.add("Conv", x, weight, pads=[1] * 4, kernel_shape=[3, 3]))
    return unsigned(graph.model("pair", {"x": (1, 16, 16, 16)}, {x: (1, 16, 16, 16)}))


@pytest.fixture(scope="module")
def model():
    return two_convolutions()


@pytest.fixture(scope="module")
def names(model):
    net = match.compile(model, GAP9(), integer_io=True)
    return [option.candidate.label for option in net.assignment.chosen]


@pytest.mark.parametrize(
    "module",
    [
        "ne16",
        pytest.param("cluster", marks=pytest.mark.slow),
        pytest.param("core", marks=pytest.mark.slow),
    ],
)
def test_a_pinned_layer_runs_there_wholly_and_right(model, names, module, tmp_path):
    convolution = next(name for name in names if "onv" in name)
    net = match.compile(model, GAP9(), integer_io=True, pins={convolution: module})
    expected = {} if module == "core" else {convolution: module}
    found = {name: who for name, who in runs(net).items() if name.startswith(convolution)}
    assert found == expected
    x = np.random.default_rng(0).integers(0, 255, net.inputs[0].shape).astype(np.uint8)
    assert net.write(tmp_path / module).run(x).matches_reference
    for option in net.assignment.considered:
        candidate = option.candidate
        elsewhere = candidate.module.name != module and candidate.label == convolution
        if elsewhere and candidate.pattern.kind == "conv2d":
            assert option.reason == f"'{convolution}' is pinned to '{module}'"
    # The core's price of a pinned layer is what it would be: it is only not allowed.
    plain = Pricing(net.assignment.pricing.graph, GAP9())
    nodes = range(len(plain.graph.nodes))
    assert [net.assignment.pricing.fallback(at) for at in nodes] == [
        plain.fallback(at) for at in nodes
    ]


@pytest.mark.slow
def test_pins_hold_under_matchs_rule_too(model, names):
    convolution = next(name for name in names if "onv" in name)
    pins = {convolution: "cluster"}
    net = match.compile(model, GAP9(), integer_io=True, selection="match", pins=pins)
    assert runs(net)[convolution] == "cluster"


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ({"nobody": "ne16"}, "no layer that a module could run is called 'nobody'"),
        ({"CONV": "npu"}, "GAP9 has no such module"),
    ],
)
def test_pins_that_mean_nothing_are_refused(model, names, pins, says):
    convolution = next(name for name in names if "onv" in name)
    pins = {name.replace("CONV", convolution): module for name, module in pins.items()}
    with pytest.raises(OptionError, match=says) as refused:
        match.compile(model, GAP9(), integer_io=True, pins=pins)
    assert refused.value.hint


def test_a_module_that_cannot_is_refused_with_its_reason():
    graph = Graph(6)
    weight = graph.normal(16, 16, 5, 5, deviation=0.1)
    y = graph.add("Conv", "x", weight, pads=[2] * 4, kernel_shape=[5, 5])
    model = unsigned(graph.model("five", {"x": (1, 16, 8, 8)}, {y: (1, 16, 8, 8)}))
    net = match.compile(model, GAP9(), integer_io=True)
    refused = next(
        option
        for option in net.assignment.considered
        if option.candidate.module.name == "ne16" and option.candidate.pattern.kind == "conv2d"
    )
    with pytest.raises(OptionError, match="which cannot run it") as error:
        match.compile(model, GAP9(), integer_io=True, pins={refused.candidate.label: "ne16"})
    assert refused.reason in str(error.value)
    assert "cluster" in error.value.hint
