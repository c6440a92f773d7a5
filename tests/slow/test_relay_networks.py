"""The integer ResNet8 in Relay text on chips: every convolution in a module, and the same bits."""

import numpy as np
import pytest

import match_aie as match
from tests.relay_networks import resnet8
from tests.shared import shared

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("target", "module"), [("GAP9", None), ("VersalAIEML", "array")])
def test_resnet8_of_integers(target, module, tmp_path):
    network = resnet8(shared("tiny/pretrainedResnet_quant.onnx"))
    net = match.compile(network.text(), target, params=network.parameters, name="resnet8")
    kinds = [o.candidate.pattern.kind for o in net.assignment.chosen]
    assert kinds.count("conv2d") == 9
    assert kinds.count("add") == 3
    assert "dense" in kinds
    if module is not None:
        layers = net.program.schedule.layers
        assert {x.module for x in layers if x.workload.kind == "conv2d"} == {module}
    project = net.write(tmp_path / "net")
    image = np.random.default_rng(0).integers(0, 128, (1, 3, 32, 32)).astype(np.int8)
    result = project.run({"input": image})
    assert result.matches_reference
    assert np.array_equal(result.outputs["output"], network.run({"input": image}))
