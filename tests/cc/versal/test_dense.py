"""Networks of dense layers on the array, emitted, built and run: equal to references and model."""

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.shared import random_inputs


def modules(net):
    """Who runs each step, in order."""
    steps = net.program.schedule.steps
    return [step.layer.module if step.layer else "fallback" for step in steps]


def run(net, folder, seed=0):
    return net.write(folder).run(random_inputs(net.inputs, np.random.default_rng(seed)), quick=True)


@pytest.mark.slow
def test_layers_side_by_side(tmp_path):
    """Odd sizes, zero points, both forms of requantisation; two networks in one process."""
    nets = []
    for seed in range(2):
        made = DenseNet(5, 37, "uint8", 131, seed=seed)
        made.dense(Layer(50, "int8", 7, 0.11, 0.0123, per_channel=True, relu=True))
        made.dense(Layer(19, "int8", 0, 0.6, 2.0**-6))
        nets.append(match.compile(made.model(), target=VersalAIEML(modules=("array",))))
    assert modules(nets[0]) == ["array"] * 2
    results = [run(net, tmp_path / f"net{i}") for i, net in enumerate(nets)]
    for result in results:
        assert result.matches_reference
        assert result.layers_checked == 2
        assert all(d.max_lsb <= 1 for d in result.deviations)
        (output,) = result.outputs.values()
        assert np.unique(output).size > 10
