"""Float32 networks on GAP9's cluster, where they are asked for."""

import numpy as np

import match_aie as match
from match_aie.targets.gap9 import GAP9
from tests.networks.exported import exported_cnn
from tests.shared import random_inputs


def kinds(net):
    return [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]


def test_a_residual_network(tmp_path):
    """Every element of every layer is within its bound, and the layers are simulated."""
    net = match.compile(exported_cnn(16, 8), GAP9(floats="float32"))
    assert {kind for _, kind in kinds(net)} >= {"conv2d", "max_pool2d"}
    assert {module for module, _ in kinds(net)} == {"cluster"}
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(0)), quick=True
    )
    assert result.matches_reference
    assert all(0 <= close.bound_used <= 1 for close in result.floats)
    assert max(close.bound_used for close in result.floats) > 0
    for step in net.simulate(record=False).steps:
        if step.module == "cluster":
            assert step.simulated
            assert abs(step.cycles / step.predicted - 1) < 0.3


def test_by_default_floats_are_the_control_cores():
    assert kinds(match.compile(exported_cnn(16, 8), GAP9())) == []
