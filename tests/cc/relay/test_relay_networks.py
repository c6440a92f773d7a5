"""A whole integer network in Relay text, as MATCH writes it, for the CPU."""

import numpy as np
from relay_harness import needs_compiler, target

import match_aie as match
from tests.relay_networks import resnet8
from tests.shared import shared

pytestmark = needs_compiler


def test_resnet8_of_integers(tmp_path):
    network = resnet8(shared("tiny/pretrainedResnet_quant.onnx"))
    net = match.compile(network.text(), target, params=network.parameters, name="resnet8")
    layers = [o.candidate.pattern.kind for o in net.assignment.chosen]
    assert layers.count("conv2d") == 9
    assert layers.count("add") == 3
    project = net.write(tmp_path / "net")
    rng = np.random.default_rng(0)
    for _ in range(3):
        image = rng.integers(0, 128, (1, 3, 32, 32)).astype(np.int8)
        result = project.run({"input": image})
        assert result.matches_reference
        wanted = network.run({"input": image})
        assert np.array_equal(result.outputs["output"], wanted)
        assert np.unique(wanted).size > 3
