"""Layers that share tiles as emitted: every layer compared with its reference, run after run."""

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML


def emulated(net, rows, tmp_path):
    """The project of a network whose layers all share tiles, run twice; its graph's text."""
    target = VersalAIEML(memory="plio", modules=("array",))
    made = match.compile(net.model(), target, cache=False)
    layers = made.program.schedule.chosen
    assert {layer.module for layer in layers} == {"array"}
    project = made.write(tmp_path / "project")
    (graph,) = (tmp_path / "project" / "aie").glob("*_graph.h")
    text = graph.read_text()
    assert "each of which runs several" in text
    rng = np.random.default_rng(2)
    found = []
    for _ in range(2):
        result = project.run({"x": rng.integers(-128, 128, rows).astype(np.int8)}, quick=True)
        assert result.matches_reference
        assert result.layers_checked == len(layers)
        found.append(next(iter(result.outputs.values())))
    assert not np.array_equal(*found)
    return text


def test_layers_of_one_tile_are_emulated(tmp_path):
    """Scales per channel, two element types, widths that are filled up."""
    net = DenseNet(1, 20)
    for layer in (
        Layer(50, relu=True),
        Layer(40, "uint8", 3, per_channel=True),
        Layer(13, "int16", step=2.0**-8),
    ):
        net.dense(layer)
    text = emulated(net, (1, 20), tmp_path)
    assert "adf::kernel tile[1];" in text


@pytest.mark.slow
def test_tiles_hand_on_core_to_core(tmp_path):
    """Weights of four layers fill more than a tile."""
    net = DenseNet(1, 96)
    for _ in range(4):
        net.dense(Layer(96, relu=True))
    text = emulated(net, (1, 96), tmp_path)
    assert "adf::connect(adf::async(tile[0].out[0]), adf::async(tile[1].in[0]));" in text
