"""Dense networks without memory tiles as emitted for a VCK190: streams lead straight to cores."""

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML


def emulated(net, target, shape, tmp_path):
    """The text of the only graph of a network's project, which is run twice."""
    made = match.compile(net.model(), target, cache=False)
    layers = made.program.schedule.chosen
    assert {layer.module for layer in layers} == {"array"}
    project = made.write(tmp_path / "project")
    rng = np.random.default_rng(2)
    found = []
    for _ in range(2):
        inputs = {"x": rng.integers(-128, 128, shape).astype(np.int8)}
        result = project.run(inputs, quick=True)
        assert result.matches_reference
        assert result.layers_checked == len(layers)
        found.append(next(iter(result.outputs.values())))
    assert not np.array_equal(*found)
    (graph,) = (tmp_path / "project" / "aie").glob("*_graph.h")
    return graph.read_text()


@pytest.mark.slow
def test_layers_of_several_tiles_are_emulated(tmp_path):
    """By default: the chip's memory feeds them. Widths and rows that are filled up, two types."""
    net = DenseNet(5, 20)
    for layer in (Layer(120, relu=True), Layer(100, "uint8", 3), Layer(104), Layer(5)):
        net.dense(layer)
    text = emulated(net, VersalAIEML("vck190", modules=("array",)), (5, 20), tmp_path)
    assert "shared_buffer" not in text
    assert "adf::connect(x_way.out[0], adf::async(tile[0].in[0]));" in text
    assert "adf::connect(adf::async(tile[0].out[0]), adf::async(tile[1].in[0]));" in text


@pytest.mark.slow
@pytest.mark.parametrize("aim", ["latency", "throughput"])
def test_streams_of_programmable_logic_feed_them(tmp_path, aim):
    net = DenseNet(9, 16)
    for width in (64, 64, 32):
        net.dense(Layer(width, relu=True))
    net.dense(Layer(5))
    target = VersalAIEML("vck190", modules=("array",), memory="plio", optimize_for=aim)
    text = emulated(net, target, (9, 16), tmp_path)
    assert "input_plio x_way;" in text
    assert "shared_buffer" not in text


@pytest.mark.slow
def test_a_layer_alone_is_emulated(tmp_path):
    net = DenseNet(7, 30).dense(Layer(50, relu=True))
    text = emulated(net, VersalAIEML("vck190", modules=("array",)), (7, 30), tmp_path)
    assert "adf::kernel tile[1];" in text
