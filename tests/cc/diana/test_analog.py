"""Ternary networks on DIANA's analog array, emitted, built and run: bits of the reference."""

import warnings

import numpy as np
import pytest
from diana_networks import Net, ternary

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.diana import Diana
from match_aie.targets.diana.facts import FACTS
from tests.shared import random_inputs

#: Any number: no source says it.
CYCLES = 10.0


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an assumed batch of 1
        return match.compile(model, target=Diana(**options))


def asked(model, **options):
    return compiled(model, analog=True, conversion_cycles=CYCLES, **options)


def modules(net):
    """Who runs each layer, in order."""
    return [step.layer.module for step in net.program.schedule.steps if step.layer]


@pytest.mark.parametrize("activation_bytes", [None, 8_192])
def test_runs_what_was_made_for_it(tmp_path, activation_bytes):
    """The first layer reads 8 bits, and is the digital array's; the others are within bounds."""
    net = asked(ternary().model(), activation_bytes=activation_bytes)
    found = [step.layer for step in net.program.schedule.steps if step.layer]
    ours = [layer for layer in found if layer.workload.kind == "conv2d"]
    assert [layer.module for layer in ours] == ["digital", *["analog"] * 4]
    assert (activation_bytes is None) != any(layer.tiles.loops for layer in ours[1:])
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    analog = [d for d in result.deviations if d.error_lsb > 0.5]
    assert len(analog) == 4
    for deviation in analog:
        # Steps of 6 bits: two results or more a step of the converter.
        assert 0.5 < deviation.error_lsb < 4
        assert deviation.max_lsb <= np.floor(deviation.error_lsb) + 1
    (output,) = result.outputs.values()
    assert np.unique(output).size > 10


def test_not_asked_it_runs_nothing():
    assert "analog" not in modules(compiled(ternary().model()))


def test_simulated_as_predicted():
    """Every conversion of the analog array is one of the trace's unit."""
    net = asked(ternary().model(), activation_bytes=8_192)
    run = net.simulate(record=True)
    ours = [step for step in run.steps if step.module == "analog"]
    assert len(ours) == 4
    for step in ours:
        assert step.predicted == pytest.approx(step.cycles, rel=0.02)
    assert run.utilisation()["analog"] > 0


@pytest.mark.parametrize(
    "options",
    [
        {"analog": True},
        {"conversion_cycles": 4.0},
        {"analog": True, "conversion_cycles": 0.0},
    ],
)
def test_what_nobody_says_is_refused_by_name(options):
    assert FACTS.conversion_cycles is None
    with pytest.raises(TargetError, match="conversion_cycles"):
        Diana(**options)


@pytest.mark.parametrize(
    ("net", "reason"),
    [
        (Net((1, 16, 8, 8)).conv(16, seven=True).conv(16, seven=True), "not all -1, 0 or 1"),
        (Net((1, 16, 8, 8)).conv(136, seven=True).ternary(8), "1224 products"),
    ],
)
def test_others_are_declined_with_a_reason(net, reason):
    compilation = asked(net.model())
    assert "analog" not in modules(compilation)
    reasons = [option.reason or "" for option in compilation.assignment.considered]
    assert any(reason in found for found in reasons)


def test_inputs_of_8_bits_are_no_candidates():
    """Nothing bounds them: the array would read other numbers."""
    net = asked(Net((1, 16, 8, 8)).conv(16).ternary(16).model())
    considered = {option.candidate.module.name for option in net.assignment.considered}
    assert "analog" not in considered
