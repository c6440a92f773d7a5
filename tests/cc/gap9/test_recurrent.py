"""Recurrent layers on GAP9's cluster, with products of 8 bits where they are asked for."""

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.gap9 import GAP9
from tests.networks.recurrent import keyword_gru, quantised_cells
from tests.shared import random_inputs

CELLS = (
    ("GRU", 20, {"linear_before_reset": 1}),
    ("GRU", 27, {"linear_before_reset": 0}),
    ("LSTM", 32, {}),
)


def kinds(net):
    return [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]


def holds(net, folder, seeds=1):
    """As emitted: every layer its reference bit for bit, and near the layer of float32 weights."""
    project = net.write(folder)
    for seed in range(seeds):
        inputs = random_inputs(net.inputs, np.random.default_rng(seed))
        result = project.run(inputs, quick=True)
        assert result.matches_reference
        assert result.floats
        assert all(0 < close.bound_used <= 1 for close in result.floats)


def test_a_keyword_spotter(tmp_path):
    model = keyword_gru(steps=9, features=20, hidden=32)
    net = match.compile(model, GAP9(floats="int8"))
    assert ("cluster", "gru") in kinds(net)
    holds(net, tmp_path / "net", 2)
    run = net.simulate(record=False)
    (layer,) = (step for step in run.steps if step.label == "all")
    assert layer.simulated
    assert layer.cycles == pytest.approx(layer.predicted, rel=0.1)


def test_every_cell_in_a_row(tmp_path):
    net = match.compile(
        quantised_cells(CELLS, 4, 30, "uint8", 120), GAP9(floats="int8", modules=("cluster",))
    )
    assert [kind for _, kind in kinds(net) if kind != "quantize"] == ["gru", "gru", "lstm"]
    holds(net, tmp_path / "net")


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_cell_that_runs_backwards_reads_integers(tmp_path, dtype):
    cells = (("GRU", 20, {"linear_before_reset": 1, "direction": "reverse"}),)
    model = quantised_cells(cells, 4, 30, dtype, 9)
    net = match.compile(model, GAP9(floats="int8", modules=("cluster",)))
    assert ("cluster", "gru") in kinds(net)
    holds(net, tmp_path / "net")


def test_floats_stay_floats_unless_they_may_not():
    model = keyword_gru(steps=3, features=8, hidden=8)
    for target in (GAP9(), GAP9(floats="float32")):
        assert "gru" not in [kind for _, kind in kinds(match.compile(model, target))]
    with pytest.raises(TargetError, match="float8"):
        GAP9(floats="float8")


def test_a_layer_beyond_l1_is_refused_with_a_reason():
    net = match.compile(keyword_gru(steps=3, features=20, hidden=24), GAP9(4096, floats="int8"))
    assert "gru" not in [kind for _, kind in kinds(net)]
    shown = match.report.refusals_text(match.report.text.compiled_report(net))
    assert "int8_gru" in shown
    assert "L1" in shown
