"""Simulated cycles in match_aie.json: what the simulator says, and nothing where there is none."""

import json

import pytest

import match_aie as match
from match_aie import report
from match_aie.codegen.digests import seal
from match_aie.errors import ProjectError
from match_aie.targets.cpu import CPU
from match_aie.targets.diana import Diana
from match_aie.testing import ZOO, network

CASES = ("dense int8, scales powers of two", "softmax int8")


def compiled(target):
    return match.compile(network([case for case in ZOO if case.name in CASES]), target)


@pytest.fixture(scope="module")
def manifest():
    return json.loads(compiled(Diana()).sources()["match_aie.json"])


def test_the_manifest_holds_the_run(manifest):
    run = compiled(Diana()).simulate(record=False)
    told = manifest["simulated"]
    assert (told["cycles"], told["microseconds"]) == (run.cycles, run.microseconds)
    assert [step["cycles"] for step in told["steps"]] == [step.cycles for step in run.steps]
    assert [step["simulated"] for step in told["steps"]] == [step.simulated for step in run.steps]
    assert {step["simulated"] for step in told["steps"]} == {True, False}
    assert manifest["seal"] == seal(manifest)


def test_reports_tell_it(manifest):
    network_ = report.network_report(manifest)
    (dense,) = (step for step in network_.layers if step.layer.module == "digital")
    (softmax,) = (step for step in network_.layers if step.layer.module == "cpu")
    assert dense.simulated == manifest["simulated"]["steps"][dense.index]["cycles"]
    assert softmax.simulated is None
    assert network_.simulated.cycles == manifest["simulated"]["cycles"]
    assert network_.simulated.modelled >= softmax.layer.cycles
    assert f"{dense.simulated:,.0f} (simulated)" in report.layer_text(network_, dense)
    assert "simulated" not in report.layer_text(network_, softmax)
    told = report.as_json(network_)
    assert told["simulated"]["frequency_hz"] == pytest.approx(260e6)
    assert {layer["simulated_cycles"] for layer in told["layers"]} == {dense.simulated, None}


def test_without_a_simulator_there_is_none():
    document = json.loads(compiled(CPU("portable")).sources()["match_aie.json"])
    assert document["simulated"] is None
    assert report.as_json(report.network_report(document))["simulated"] is None


def test_a_damaged_run_is_a_project_error(manifest):
    for wrong in ({"steps": []}, {"steps": [{}]}, {"cycles": 1, "steps": "x"}):
        with pytest.raises(ProjectError):
            report.network_report(manifest | {"simulated": wrong})
