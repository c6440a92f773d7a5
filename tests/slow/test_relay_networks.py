"""The integer ResNet8 in Relay text on chips: every convolution in a module, and the same bits."""

import numpy as np
import pytest

import match_aie as match
from tests.relay_networks import resnet8
from tests.shared import model_file

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("target", "accelerators"), [("GAP9", {"ne16", "cluster"}), ("VersalAIEML", {"array"})]
)
def test_resnet8_of_integers(target, accelerators, tmp_path):
    network = resnet8(model_file("resnet8_i8.onnx"))
    net = match.compile(network.text(), target, params=network.parameters, name="resnet8")
    kinds = [o.candidate.pattern.kind for o in net.assignment.chosen]
    assert kinds.count("conv2d") == 9
    convolutions = [o for o in net.assignment.chosen if o.candidate.pattern.kind == "conv2d"]
    assert {o.candidate.module.name for o in convolutions} <= accelerators
    assert kinds.count("add") == 3
    assert "dense" in kinds
    project = net.write(tmp_path / "net")
    image = np.random.default_rng(0).integers(0, 128, (1, 3, 32, 32)).astype(np.int8)
    result = project.run({"input": image})
    assert result.matches_reference
    assert np.array_equal(result.outputs["output"], network.run({"input": image}))
