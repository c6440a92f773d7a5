"""Alike layers that run as one graph, as emitted: every run of every layer has its own numbers."""

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML

#: Inputs and outputs of a layer: more weights than a column of tiles holds.
SIDE = 768


@pytest.mark.slow
def test_layers_take_turns_as_one_graph(tmp_path):
    """Scales per channel and powers of two, a graph each; two inferences in one process."""
    net = DenseNet(2, SIDE)
    for at in range(8):
        net.dense(Layer(SIDE, weight_scale=2.0**-10, relu=True, per_channel=at % 2 == 0))
    target = VersalAIEML(modules=("array",), columns_per_layer=1)
    made = match.compile(net.model(), target, cache=False)
    layers = made.program.schedule.chosen
    assert [layer.module for layer in layers] == ["array"] * 8
    project = made.write(tmp_path / "project")
    assert len(list((tmp_path / "project" / "aie").glob("*_graph.h"))) == 2
    rng = np.random.default_rng(2)
    inputs = [rng.integers(-128, 128, (2, SIDE)).astype(np.int8) for _ in range(2)]
    wanted = []
    for x in inputs:
        result = project.run({"x": x}, quick=True)
        assert result.matches_reference
        assert result.layers_checked == 8
        (output,) = result.outputs.values()
        assert np.unique(output).size > 20
        wanted.append(output)
    assert not np.array_equal(*wanted)
    runner = project.runner()
    for x, y in zip(inputs, wanted, strict=True):
        runner.inputs["x"][...] = x
        runner()
        (output,) = runner.outputs.values()
        np.testing.assert_array_equal(output, y)
