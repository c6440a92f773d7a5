"""What reports say of layers on the array."""

import json

import numpy as np
import pytest

import match_aie as match
from match_aie import report
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from tests import integer_graphs as ig

SIZES = (64, 128, 96, 32)


@pytest.fixture(
    scope="module", params=["throughput", pytest.param("latency", marks=pytest.mark.slow)]
)
def made(request):
    target = VersalAIEML(
        modules=("array",), columns_per_layer=2, memory="plio", optimize_for=request.param
    )
    return target, match.compile(ig.dense_row(16, SIZES), target, cache=False)


def test_stages_are_what_is_emitted(made):
    target, net = made
    mine = net.program.schedule.chosen
    stages = target.stages(mine)
    assert [stage.symbol for stage in stages] == [layer.symbol for layer in mine]
    tiles, columns = set(), set()
    for stretch in stretches(mine, "vek280", np.random.default_rng(1)):
        tiles |= {core.tile for core in stretch.program.cores}
        columns |= {core.tile[0] for core in stretch.program.cores}
    named = {column for s in stages for column in range(s.columns[0], s.columns[1] + 1)}
    assert columns <= named
    assert sum(stage.tiles for stage in stages) >= len(tiles)
    for stage in stages:
        assert 0 < stage.utilisation <= 1
        assert stage.interval <= stage.pace
        assert stage.bound == stage.bounds[0][0]
        assert stage.bounds[0][1] == max(cycles for _, cycles in stage.bounds)
        assert stage.why
        assert stage.more
    if target._aim == "throughput":
        assert any(stage.interval == stage.pace for stage in stages)


def test_they_are_shown(made):
    _, net = made
    shown = report.compiled_report(net)
    text = report.summary_text(shown)
    assert "array (cycles of its clock, modelled)" in text
    assert "a result every" in text
    for step in shown.layers:
        layer = report.layer_text(shown, step)
        for word in ("on the array:", "pace:", "bounded by:", "these tiles:", "one more column:"):
            assert word in layer
    kept = json.loads(net.code()["match_aie.json"])["stages"]
    assert [stage["symbol"] for stage in kept] == [step.symbol for step in shown.layers]
    assert len(report.as_json(shown)["stages"]) == len(kept)
