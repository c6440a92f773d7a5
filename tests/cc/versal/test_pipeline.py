"""A pipeline of dense layers as emitted: every layer compared with its reference, run after run."""

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML


@pytest.mark.slow
@pytest.mark.parametrize(
    ("memory", "way", "copies"), [("plio", "plio", 1), ("plio", "plio", 2), ("ddr", "gmio", 1)]
)
def test_stages_of_a_pipeline_are_emulated(tmp_path, monkeypatch, memory, way, copies):
    """Results that several buffers take, scales per channel, three element types."""
    monkeypatch.setattr("match_aie.targets.versal.pipelines.COPIES", (copies,))
    net = DenseNet(24, 40)
    for layer in (
        Layer(72, relu=True),
        Layer(24, "uint8", 3, per_channel=True),
        Layer(17, "int16", step=2.0**-8),
    ):
        net.dense(layer)
    target = VersalAIEML(
        memory=memory, modules=("array",), optimize_for="throughput", columns_per_layer=copies
    )
    made = match.compile(net.model(), target, cache=False)
    layers = made.program.schedule.chosen
    assert [layer.module for layer in layers] == ["array"] * 3
    project = made.write(tmp_path / "project")
    graphs = list((tmp_path / "project" / "aie").glob("*_chain0_graph.h"))
    assert len(graphs) == 1
    text = graphs[0].read_text()
    assert f"adf::input_{way}" in text
    assert ("_c1_x_way0" in text) == (copies > 1)
    rng = np.random.default_rng(2)
    for _ in range(2):
        result = project.run({"x": rng.integers(-128, 128, (24, 40)).astype(np.int8)}, quick=True)
        assert result.matches_reference
        assert result.layers_checked == 3
        (output,) = result.outputs.values()
        assert np.unique(output).size > 50
