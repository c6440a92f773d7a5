"""The annotated model says at its nodes what the manifest says, and means what it meant."""

import json

import onnx
import pytest

import match_aie as match
from match_aie.demo import digits_model
from match_aie.errors import OptionError
from match_aie.report import annotated, network_report


@pytest.fixture(scope="module")
def manifest():
    net = match.compile(digits_model(), "CPU", name="digits")
    return json.loads(net.sources()["match_aie.json"])


def test_nodes_say_who_runs_them(manifest):
    made, count = annotated(digits_model(), manifest)
    model = onnx.load_from_string(made)
    onnx.checker.check_model(model)
    said = {
        node.name: {entry.key: entry.value for entry in node.metadata_props}
        for node in model.graph.node
        if node.metadata_props
    }
    assert len(said) == count > 5
    layers = {step.name: step for step in network_report(manifest).layers}
    found = 0
    for name, facts in said.items():
        if name in layers:
            found += 1
            step = layers[name]
            assert facts["match_aie.module"] == step.layer.module
            assert facts["match_aie.cycles_modelled"] == f"{step.layer.cycles:.0f}"
            assert int(facts["match_aie.call"]) == step.index
    assert found > 3
    for node in model.graph.node:
        del node.metadata_props[:]
    plain = onnx.load_from_string(digits_model())
    assert model == plain


def test_what_is_no_onnx_is_refused(manifest):
    with pytest.raises(OptionError, match="no ONNX file"):
        annotated(b"TFL3 not at all", manifest)
