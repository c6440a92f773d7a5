"""Plans for energy: emitted, run, and shown with their joules."""

import json
from functools import cache

import numpy as np
import pytest

import match_aie as match
from match_aie import report
from match_aie.demo import digits_model
from match_aie.targets.gap9 import GAP9
from tests.shared import random_inputs


@cache
def plan(objective):
    """Of the digits' network."""
    return match.compile(digits_model(), GAP9(), objective=objective, integer_io=True)


@pytest.mark.slow
def test_no_plan_is_better_at_what_another_one_is_for():
    plans = {objective: plan(objective) for objective in ("latency", "energy", "edp")}
    for objective, one in plans.items():
        least = min(other.measure(objective) for other in plans.values())
        assert one.measure(objective) <= least * (1 + 1e-9)
        assert one.options.objective == objective


def test_an_energy_plan_computes_the_same(tmp_path):
    net = plan("energy")
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(0)), quick=True
    )
    assert result.matches_reference


def test_energy_is_shown_beside_cycles():
    """In the summary, in the details of a layer, in the manifest, and in a simulated run."""
    net = plan("energy")
    shown = report.compiled_report(net)
    assert shown.energy is not None
    assert shown.energy.total == pytest.approx(net.picojoules)
    assert "uJ (modelled)" in net.summary()
    assert "compiled for little energy" in net.summary()
    assert "energy" in report.layer_text(shown, shown.layers[0])
    document = json.loads(json.dumps(report.as_json(shown)))
    assert document["energy"]["total"] == pytest.approx(net.picojoules)
    steps = net.simulate(record=False).steps
    assert all(step.picojoules > 0 for step in steps)
    modelled = sum(layer.cost.picojoules for layer in net.program.schedule.layers)
    assert sum(step.picojoules for step in steps) == pytest.approx(modelled, rel=0.2)
