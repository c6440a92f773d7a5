"""What differs between two compilations."""

import json
from dataclasses import replace

import pytest

import match_aie as match
from match_aie.report import network_report
from match_aie.report.compare import compare, comparison_json, comparison_text
from match_aie.targets.cpu import CPU
from match_aie.targets.diana import Diana
from match_aie.testing import ZOO, network

BY_NAME = {case.name: case for case in ZOO}
MODEL = network(
    [BY_NAME[name] for name in ("dense int8, scales powers of two", "max pool 2x2 int8")]
)


@pytest.fixture(scope="module")
def reports():
    return [
        network_report(
            json.loads(match.compile(MODEL, target, name="net").sources()["match_aie.json"])
        )
        for target in (Diana(), CPU("portable"))
    ]


def test_a_network_is_like_itself(reports):
    found = compare(reports[0], reports[0])
    assert found.differences == ()
    assert found.same == len(reports[0].steps)
    assert f"{found.same} calls are the same, 0 differ" in comparison_text(found)


def test_another_target_runs_it_otherwise(reports):
    found = compare(*reports)
    assert (found.first, found.second) == ("net for Diana", "net for CPU")
    names = {step.name for report in reports for step in report.steps}
    assert {each.name for each in found.differences} <= names
    (time,) = [t for t in found.totals if (t.what, t.provenance) == ("time", "modelled")]
    assert (time.first, time.second) == tuple(report.cover.cycles for report in reports)
    (simulated,) = [t for t in found.totals if (t.unit, t.provenance) == ("us", "simulated")]
    assert simulated.first is not None
    assert simulated.second is None
    moved = [each for each in found.differences if each.first and each.second]
    assert any(each.first.module.startswith("digital") for each in moved)
    text = comparison_text(found)
    assert all(each.name[:30] in text for each in found.differences)
    assert json.loads(json.dumps(comparison_json(found)))["same"] == found.same


def test_calls_of_one_name_are_matched_in_order(reports):
    first = reports[0]
    twice = replace(first, steps=(*first.steps, *(replace(step) for step in first.steps)))
    found = compare(first, twice)
    assert len(found.differences) == len(first.steps)
    assert all(each.first is None for each in found.differences)
